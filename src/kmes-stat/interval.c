// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* interval.c - sleeps from interval to interval, an eye on who reads. */
#include "interval.h"

#include <time.h>

/* How often it is looked whether stdout is still read. */
#define LOOK_NS 250000000u

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void interval_start(struct interval *interval, uint64_t interval_ns)
{
	uint64_t now = now_ns();

	interval->interval_ns = interval_ns;
	interval->next_ns = interval_ns > UINT64_MAX - now ? UINT64_MAX
							   : now + interval_ns;
}

void interval_pass(struct interval *interval)
{
	uint64_t now = now_ns();

	if (now >= interval->next_ns)
		interval->next_ns +=
			((now - interval->next_ns) / interval->interval_ns + 1) *
			interval->interval_ns;
}

bool interval_wait(struct interval *interval, const struct cli_out *out)
{
	uint64_t now = now_ns();

	while (now < interval->next_ns) {
		uint64_t left = interval->next_ns - now;
		struct timespec step = {
			.tv_nsec = (long)(left < LOOK_NS ? left : LOOK_NS),
		};

		nanosleep(&step, NULL);
		if (cli_stop_signal() || cli_out_reader_is_gone(out))
			return false;
		now = now_ns();
	}
	interval_pass(interval);
	return !cli_stop_signal();
}
