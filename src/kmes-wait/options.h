/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* options.h - the command line of kmes-wait, parsed. */
#ifndef WAIT_OPTIONS_H
#define WAIT_OPTIONS_H

#include "cli/cli_events.h"

struct wait_opts {
	struct cli_events events;
	struct cli_print_options print;

	/* The conditions; the first one to hold ends the wait. */
	bool on_events;
	uint64_t count; /* of events */
	bool on_resize;
	bool on_loss;
	bool on_idle;
	uint64_t idle_ns;

	bool surviving; /* events that are already in the rings count, too */
	bool quiet;
	uint64_t timeout_ns; /* UINT64_MAX: none */
	char **command;	     /* NULL: none */
};

/* Parses the whole command line. Reports a usage error and exits with status 2. */
void wait_options_parse(struct wait_opts *opts, struct cli *cli, int argc, char **argv);
void wait_options_fini(struct wait_opts *opts);

#endif
