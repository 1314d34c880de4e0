/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* wait.h - the wait, and the reasons for its end. */
#ifndef WAIT_WAIT_H
#define WAIT_WAIT_H
#include "command.h"
#include "options.h"

enum wait_end {
	WAIT_END_MET, /* a condition holds; it was printed */
	WAIT_END_TIMEOUT,
	WAIT_END_COMMAND, /* the command ended unsuccessfully first */
	WAIT_END_SIGNAL,
	WAIT_END_OUTPUT, /* the output cannot be written; the printer reports it */
	WAIT_END_FAILED, /* reported */
};

/* Waits. `printer` is not used with -q. */
enum wait_end wait_run(const struct wait_opts *opts, struct kmes_reader *reader,
		       struct wait_command *command, struct cli_printer *printer);

#endif
