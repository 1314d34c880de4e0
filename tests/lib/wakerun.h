/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * wakerun.h - sleep and wake: a writer sends single events to followers of one ring, each
 * while they sleep, or just before.
 */
#ifndef KMES_TESTS_WAKERUN_H
#define KMES_TESTS_WAKERUN_H

#include <stdbool.h>
#include <stdint.h>

#define WAKERUN_FOLLOWERS_MAX 4
#define WAKERUN_BUCKETS 24
/* The bound of a sleep, and the length from which one was not ended by a wake. */
#define WAKERUN_BOUND_NS 100000000ull
#define WAKERUN_LATE_NS 80000000ull
/* An event this early in a sleep should have ended it. */
#define WAKERUN_EARLY_NS 20000000ull

struct wakerun {
	uint64_t wakes; /* as the ring counts them */
	uint64_t worst_ns;
	uint64_t longest_sleep_ns; /* less the time that the follower waited for a CPU */
	uint64_t missed; /* sleeps that timed out although an event preceded them */
	uint32_t wrong;	 /* out of turn, or no event at all */
	/* Latencies below 2^i microseconds, not below 2^(i-1); of all followers. */
	uint32_t buckets[WAKERUN_BUCKETS];
};

/*
 * `asleep`: an event is sent once need_wake is set; else at a random moment after the
 * previous one. The next is sent when all followers have seen it.
 */
struct wakerun wakerun(uint32_t events, int followers, bool asleep);

/* The power of two in microseconds below which this share of the latencies is. */
double wakerun_percentile_us(const struct wakerun *run, double percent);

#endif
