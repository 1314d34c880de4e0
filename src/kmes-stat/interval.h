/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* interval.h - the interval, kept against the monotonic clock. */
#ifndef STAT_INTERVAL_H
#define STAT_INTERVAL_H

#include "cli/cli.h"

struct interval {
	uint64_t interval_ns;
	uint64_t next_ns; /* CLOCK_MONOTONIC */
};

void interval_start(struct interval *interval, uint64_t interval_ns);

/* The next interval is one that is still to come. */
void interval_pass(struct interval *interval);

/*
 * Sleeps to the next interval; other signals than those to stop change nothing. Intervals that
 * are over already are left out. False: a stop was asked for, or the reader of `out` is
 * gone.
 */
bool interval_wait(struct interval *interval, const struct cli_out *out);

#endif
