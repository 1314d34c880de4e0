/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_rate.h - the token bucket that bounds how fast one process emits.
 *
 * A bucket belongs to a process and holds up to `rate` tokens, which is also what flows
 * in each second: a process may send a second's worth at once and then the rate. An
 * emitter reserves a token an event before anything else is looked at and refunds what it
 * did not use. Time is any monotonic clock in nanoseconds.
 *
 * Nothing here locks: the caller makes sure that one thread at a time is at a bucket. A
 * bucket that nobody asked for a second holds exactly what a fresh one holds, so it may
 * be thrown away (kmes_rate_is_idle).
 *
 * Numbers: a token is 10^9 units, so what flows in is elapsed ns times rate, without a
 * division and without a rest to carry. A full bucket at the highest rate is 10^15 units,
 * the largest reservation 2^32 tokens; both are far below 2^64.
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
	__u64 filled_ns; /* when units was true */
};

/* What a bucket holds at most, at `rate` tokens a second. */
static inline __u64 kmes_rate_burst(__u32 rate)
{
	return rate * KMES_RATE_TOKEN;
}

/* A process that is seen for the first time has a full bucket. */
static inline void kmes_rate_init(struct kmes_rate_bucket *b, __u32 rate, __u64 now_ns)
{
	b->units = kmes_rate_burst(rate);
	b->filled_ns = now_ns;
}

/* How long nobody was here; 0 when another CPU's newer clock has been here already. */
static inline __u64 kmes_rate_idle_ns(const struct kmes_rate_bucket *b, __u64 now_ns)
{
	return now_ns > b->filled_ns ? now_ns - b->filled_ns : 0;
}

static inline void kmes_rate_clamp(struct kmes_rate_bucket *b, __u32 rate)
{
	if (b->units > kmes_rate_burst(rate))
		b->units = kmes_rate_burst(rate);
}

/* Lets in what has come since the last time. */
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
 * Takes `count` tokens, all or none. More than `rate` of them can never be had: a batch
 * larger than a second's worth is refused however long its sender waits.
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

/* Gives back tokens that were reserved and not used; a full bucket stays as it is. */
static inline void kmes_rate_refund(struct kmes_rate_bucket *b, __u32 rate, __u32 count)
{
	b->units += count * KMES_RATE_TOKEN;
	kmes_rate_clamp(b, rate);
}

/*
 * The rate has changed: what came in until now came in at the old one, and a bucket never
 * holds more than the new one allows. For each live bucket, at the time of the change.
 */
static inline void kmes_rate_change(struct kmes_rate_bucket *b, __u32 old_rate,
				    __u32 new_rate, __u64 now_ns)
{
	kmes_rate_fill(b, old_rate, now_ns);
	kmes_rate_clamp(b, new_rate);
}

/* Whether a fresh bucket would be the same as this one. */
static inline bool kmes_rate_is_idle(const struct kmes_rate_bucket *b, __u64 now_ns)
{
	return kmes_rate_idle_ns(b, now_ns) >= KMES_RATE_SECOND;
}

#endif
