// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* interval.c - periodic timer; stops when the reader of the output goes away. */
#include "interval.h"

#include "base/clock.h"

/* How often the reader of the output is checked. */
#define CHECK_NS 250000000u

void interval_start(struct interval *interval, uint64_t interval_ns)
{
	uint64_t now = kmesp_clock_ns(CLOCK_MONOTONIC);

	interval->interval_ns = interval_ns;
	interval->next_ns = interval_ns > UINT64_MAX - now ? UINT64_MAX
							   : now + interval_ns;
}

void interval_pass(struct interval *interval)
{
	uint64_t now = kmesp_clock_ns(CLOCK_MONOTONIC);

	if (now >= interval->next_ns)
		interval->next_ns +=
			((now - interval->next_ns) / interval->interval_ns + 1) *
			interval->interval_ns;
}

bool interval_wait(struct interval *interval, const struct cli_out *out)
{
	uint64_t now = kmesp_clock_ns(CLOCK_MONOTONIC);

	while (now < interval->next_ns) {
		uint64_t left = interval->next_ns - now;
		struct timespec step = {
			.tv_nsec = (long)(left < CHECK_NS ? left : CHECK_NS),
		};

		nanosleep(&step, NULL);
		if (cli_stop_signal() || cli_out_reader_is_gone(out))
			return false;
		now = kmesp_clock_ns(CLOCK_MONOTONIC);
	}
	interval_pass(interval);
	return !cli_stop_signal();
}
