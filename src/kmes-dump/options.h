/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* options.h - what a run of kmes-dump was asked to do. */
#ifndef DUMP_OPTIONS_H
#define DUMP_OPTIONS_H
#include "cli/cli_events.h"
#include "cli/when.h"

struct dump_record_opts {
	const char *file;     /* NULL: no capture is written; "-" is standard output */
	int gzip_level;	      /* 0: plain */
	uint64_t rotate_size; /* bytes, 0: not by size */
	uint64_t rotate_ns;   /* 0: not by time */
	uint64_t keep;	      /* files, 0: all */
};

struct dump_opts {
	/* what to read */
	char **captures; /* NULL: rings */
	bool follow_capture;
	bool snapshot;
	bool only_new;
	enum kmes_reader_order order;
	bool has_order; /* --order was given */

	/* which events are printed, in which form, and until when */
	struct cli_events events;
	struct kmes_when since, until;
	bool has_since, has_until;
	uint64_t until_ns;    /* UINT64_MAX: no end */
	uint64_t count;	      /* UINT64_MAX: all */
	uint64_t duration_ns; /* UINT64_MAX: no end */

	struct cli_print_options print;
	bool prints; /* else only a capture is written */
	struct dump_record_opts record;

	bool fail_on_loss;
	bool quiet;
};

/* Parses everything; a usage error exits 2. */
void dump_options_parse(struct dump_opts *opts, struct cli *cli, int argc, char **argv);
void dump_options_fini(struct dump_opts *opts);

/* The flag for --order in the header of a capture: KMES_CAPTURE_BY_..., or 0. */
uint32_t dump_options_order_flag(const struct dump_opts *opts);

/*
 * Sets the filter's --since and --until. A time of day means the latest one before now,
 * or for captures the first one at or after `first_ns`, the time of their first event.
 */
void dump_options_set_times(struct dump_opts *opts, uint64_t first_ns);

#endif
