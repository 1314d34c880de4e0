/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* interval.h - the interval, kept against the monotonic clock. */
#ifndef STAT_INTERVAL_H
#define STAT_INTERVAL_H

#include "cli/cli.h"

struct beat {
	uint64_t interval_ns;
	uint64_t next_ns; /* CLOCK_MONOTONIC */
};

void beat_start(struct beat *beat, uint64_t interval_ns);

/* The next beat is one that is still to come. */
void beat_pass(struct beat *beat);

/*
 * Sleeps to the next beat; other signals than those to stop change nothing. Beats that
 * are over already are left out. False: a stop was asked for, or the reader of `out` is
 * gone.
 */
bool beat_wait(struct beat *beat, const struct cli_out *out);

#endif
