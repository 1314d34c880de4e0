/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* run.h - the loop from the reader to the printer, and when it ends. */
#ifndef DUMP_RUN_H
#define DUMP_RUN_H
#include "cli/cli_print.h"
#include "options.h"
#include "record.h"
#include "tally.h"

/* Why a run ended. */
enum dump_end {
	DUMP_END_DONE,	  /* complete */
	DUMP_END_STOPPED, /* by a signal */
	DUMP_END_OUTPUT,  /* output failed, or its reader is gone; the printer knows */
	DUMP_END_FAILED,  /* the input failed, after a message */
};

/* `recorder`: NULL when no capture is written. */
enum dump_end dump_run(struct dump_opts *opts, struct dump_input *input,
		       struct cli_printer *printer, struct dump_recorder *recorder,
		       struct dump_tally *tally);

#endif
