/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * wakerun.h - sleep and wake: a writer sends single events to followers of one ring, each
 * when they sleep, or just when they are about to.
 */
#ifndef KMES_TESTS_WAKERUN_H
#define KMES_TESTS_WAKERUN_H

#include <stdbool.h>
#include <stdint.h>

#define WAKERUN_FOLLOWERS_MAX 4
#define WAKERUN_BUCKETS 24
/* What a sleep is bounded by, and how long one is that nobody ended before. */
#define WAKERUN_BOUND_NS 100000000ull
#define WAKERUN_LATE_NS 80000000ull
/* An event that came so early in a sleep ought to have ended it. */
#define WAKERUN_EARLY_NS 20000000ull

struct wakerun {
	uint64_t wakes; /* as the ring counts them */
	uint64_t worst_ns;
	uint64_t
		longest_sleep_ns; /* without the time that the follower waited for a CPU */
	uint64_t
		missed; /* sleeps that ran to their bound beside an event at their start */
	uint32_t wrong; /* out of turn, or no event at all */
	/* Latencies below 2^i microseconds, not below 2^(i-1); of all followers. */
	uint32_t buckets[WAKERUN_BUCKETS];
};

/*
 * `asleep`: an event goes out when need_wake was seen set; else at a random moment behind
 * the one before. The next goes out when all followers have seen it.
 */
struct wakerun wakerun(uint32_t events, int followers, bool asleep);

/* The power of two of microseconds within which so much of the latencies lie. */
double wakerun_percentile_us(const struct wakerun *run, double percent);

#endif
