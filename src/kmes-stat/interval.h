/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* interval.h - periodic timer on the monotonic clock. */
#ifndef STAT_INTERVAL_H
#define STAT_INTERVAL_H

#include "cli/cli.h"

struct interval {
	uint64_t interval_ns;
	uint64_t next_ns; /* CLOCK_MONOTONIC */
};

void interval_start(struct interval *interval, uint64_t interval_ns);

/* Skips intervals that are over. */
void interval_pass(struct interval *interval);

/*
 * Sleeps until the next interval begins; skips intervals that are over. False: a signal
 * asked to stop, or the reader of `out` is gone. Other signals have no effect.
 */
bool interval_wait(struct interval *interval, const struct cli_out *out);

#endif
