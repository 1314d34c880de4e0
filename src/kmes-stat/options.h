/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* options.h - what a run of kmes-stat was asked to do. */
#ifndef STAT_OPTIONS_H
#define STAT_OPTIONS_H
#include "cli/cli.h"
#include "print.h"

struct stat_opts {
	uint64_t interval_ns; /* 0: once */
	uint64_t count;	      /* 0: until a signal */
	const struct stat_format *format;
	const char *textfile;
	const char *capture;
	bool types;
	bool watch;
};

/* Parses and validates; a usage error exits 2. */
void stat_options_parse(struct stat_opts *opts, struct cli *cli, int argc, char **argv);

#endif
