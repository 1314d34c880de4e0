/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* clock.h - nanoseconds of a clock, and to and from struct timespec. */
#ifndef KMES_CLOCK_H
#define KMES_CLOCK_H
#include <stdint.h>
#include <time.h>

#define KMES_NS_PER_S UINT64_C(1000000000)
#define KMES_NS_PER_MS UINT64_C(1000000)

static inline uint64_t kmesp_timespec_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * KMES_NS_PER_S + (uint64_t)ts->tv_nsec;
}

static inline struct timespec kmesp_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / KMES_NS_PER_S),
				  .tv_nsec = (long)(ns % KMES_NS_PER_S) };
}

/* The present time of `clock`, CLOCK_MONOTONIC or CLOCK_REALTIME, in ns. */
static inline uint64_t kmesp_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return kmesp_timespec_ns(&now);
}

#endif
