// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The latency from an event to the sleeper that reads it: the distribution. */
#include <stdio.h>

#include "wakerun.h"

#define EVENTS 50000

static void print_run(int followers, bool asleep, const char *name)
{
	struct wakerun run = wakerun(EVENTS, followers, asleep);
	uint64_t sum = 0;

	printf("wake, %s:", name);
	for (int i = 0; i < WAKERUN_BUCKETS; i++) {
		sum += run.buckets[i];
		if (run.buckets[i])
			printf(" %.3f%% < %llu us,",
			       100.0 * (double)sum / EVENTS / followers, 1ull << i);
	}
	printf(" worst %.2f ms\n", (double)run.worst_ns / 1e6);
}

int main(void)
{
	print_run(1, true, "one follower asleep");
	print_run(1, false, "one follower, in pairs");
	print_run(2, true, "two followers asleep");
	return 0;
}
