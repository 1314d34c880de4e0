// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sleep and wake: single events, each sent when the followers have gone to sleep, and
 * again at the worst moment, just before. None is seen later than the bound of a sleep.
 * [N1] [N2] [N3] [N5] [N9] [O4]
 */
#include "kmes_order.h"
#include "tap.h"
#include "wakerun.h"

#ifdef KMES_TSAN
#define EVENTS_SHORT 5000u
#else
#define EVENTS_SHORT 100000u
#endif
#define EVENTS_FULL 1000000u
/* What a busy machine may add before a woken thread runs. */
#define GRACE_NS 900000000ull

static void check(int followers, bool asleep, const char *how)
{
	uint32_t events = tap_is_full_run() ? EVENTS_FULL : EVENTS_SHORT;
	struct wakerun run = wakerun(events, followers, asleep);

	tap_note("%s: 99.9 %% within %.0f us, worst %.1f ms, %llu missed, %llu wakes",
		 how, wakerun_percentile_us(&run, 99.9), (double)run.worst_ns / 1e6,
		 (unsigned long long)run.missed, (unsigned long long)run.wakes);
	tap_ok(!run.wrong, "wake: each of %u events is seen once, %s", events, how);
	tap_ok(run.longest_sleep_ns < WAKERUN_BOUND_NS + GRACE_NS,
	       "wake: no sleep is longer than the bound, %s", how);
	/* A single follower's flag is never cleared by another, so no wake is lost. */
	if (followers == 1)
		tap_ok(run.missed <= 1 + events / 50000,
		       "wake: no sleep runs to its bound, %s", how);
	if (followers == 1 && asleep)
		tap_ok(run.wakes == events, "wake: each event wakes a sleeper, %s", how);
}

int main(void)
{
	check(1, true, "one follower asleep");
	check(1, false, "one follower falling asleep");
	check(2, true, "two followers asleep");
	check(2, false, "two followers falling asleep");
	return tap_done();
}
