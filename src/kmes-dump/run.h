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
	DUMP_END_DONE,	  /* all that was asked for */
	DUMP_END_STOPPED, /* by a signal */
	DUMP_END_OUTPUT,  /* nobody takes what is printed: the printer knows more */
	DUMP_END_FAILED,  /* the reader cannot go on; a message said why */
};

/* `recorder`: NULL when no capture is written. */
enum dump_end dump_run(struct dump_opts *opts, struct dump_input *input,
		       struct cli_printer *printer, struct dump_recorder *recorder,
		       struct dump_tally *tally);

#endif
