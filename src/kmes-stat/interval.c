// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* interval.c - sleeps from beat to beat, an eye on who reads. */
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

void beat_start(struct beat *beat, uint64_t interval_ns)
{
	uint64_t now = now_ns();

	beat->interval_ns = interval_ns;
	beat->next_ns = interval_ns > UINT64_MAX - now ? UINT64_MAX : now + interval_ns;
}

void beat_pass(struct beat *beat)
{
	uint64_t now = now_ns();

	if (now >= beat->next_ns)
		beat->next_ns += ((now - beat->next_ns) / beat->interval_ns + 1) *
				 beat->interval_ns;
}

bool beat_wait(struct beat *beat, const struct cli_out *out)
{
	uint64_t now = now_ns();

	while (now < beat->next_ns) {
		uint64_t left = beat->next_ns - now;
		struct timespec step = {
			.tv_nsec = (long)(left < LOOK_NS ? left : LOOK_NS),
		};

		nanosleep(&step, NULL);
		if (cli_stop_signal() || cli_out_reader_is_gone(out))
			return false;
		now = now_ns();
	}
	beat_pass(beat);
	return !cli_stop_signal();
}
