/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_rate.h - the token bucket that limits how fast a process emits.
 *
 * A bucket belongs to a process and holds at most `rate` tokens; as many are added per
 * second. An emitter reserves a token for each event before any other check, and refunds
 * those it did not use. Times are of any monotonic clock, in nanoseconds.
 *
 * There is no locking: the caller serializes accesses to a bucket. A bucket that has been
 * idle for a second is full, like a new one, so it may be freed (kmes_rate_is_idle()).
 *
 * A token is 10^9 units, so the refill is elapsed ns times rate, without a division or
 * a remainder. A full bucket at the highest rate has 10^15 units, and the largest
 * reservation is 2^32 tokens; neither overflows 64 bits.
 */
#ifndef KMES_RATE_H
#define KMES_RATE_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdbool.h>
#endif

#define KMES_RATE_TOKEN 1000000000ull  /* units of one token */
#define KMES_RATE_SECOND 1000000000ull /* ns */

struct kmes_rate_bucket {
	__u64 units;
	__u64 filled_ns; /* time of the last refill */
};

/* The size of a bucket at `rate` tokens per second, in units. */
static inline __u64 kmes_rate_burst(__u32 rate)
{
	return rate * KMES_RATE_TOKEN;
}

/* A new bucket is full. */
static inline void kmes_rate_init(struct kmes_rate_bucket *b, __u32 rate, __u64 now_ns)
{
	b->units = kmes_rate_burst(rate);
	b->filled_ns = now_ns;
}

/* Time since the last refill; 0 if that was made with the newer clock of another CPU. */
static inline __u64 kmes_rate_idle_ns(const struct kmes_rate_bucket *b, __u64 now_ns)
{
	return now_ns > b->filled_ns ? now_ns - b->filled_ns : 0;
}

static inline void kmes_rate_clamp(struct kmes_rate_bucket *b, __u32 rate)
{
	if (b->units > kmes_rate_burst(rate))
		b->units = kmes_rate_burst(rate);
}

/* Adds the tokens since the last refill. */
static inline void kmes_rate_fill(struct kmes_rate_bucket *b, __u32 rate, __u64 now_ns)
{
	__u64 idle = kmes_rate_idle_ns(b, now_ns);

	if (idle >= KMES_RATE_SECOND)
		b->units = kmes_rate_burst(rate);
	else
		b->units += idle * rate;
	kmes_rate_clamp(b, rate);
	b->filled_ns += idle;
}

/*
 * Takes `count` tokens, all or none. More than `rate` are never available: a larger batch
 * is refused no matter how long its sender waits.
 */
static inline bool kmes_rate_reserve(struct kmes_rate_bucket *b, __u32 rate, __u32 count,
				     __u64 now_ns)
{
	__u64 wanted = count * KMES_RATE_TOKEN;

	kmes_rate_fill(b, rate, now_ns);
	if (b->units < wanted)
		return false;
	b->units -= wanted;
	return true;
}

/* Returns reserved tokens that were not used; never overfills the bucket. */
static inline void kmes_rate_refund(struct kmes_rate_bucket *b, __u32 rate, __u32 count)
{
	b->units += count * KMES_RATE_TOKEN;
	kmes_rate_clamp(b, rate);
}

/*
 * Called for each existing bucket when the rate changes: refills it at the old rate up to
 * now, and clamps it to the new one.
 */
static inline void kmes_rate_change(struct kmes_rate_bucket *b, __u32 old_rate,
				    __u32 new_rate, __u64 now_ns)
{
	kmes_rate_fill(b, old_rate, now_ns);
	kmes_rate_clamp(b, new_rate);
}

/* Whether the bucket is full, like a new one. */
static inline bool kmes_rate_is_idle(const struct kmes_rate_bucket *b, __u64 now_ns)
{
	return kmes_rate_idle_ns(b, now_ns) >= KMES_RATE_SECOND;
}

#endif
