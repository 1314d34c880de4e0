/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_self.h - the events that a producer emits about itself (origin 1): types and
 * payloads. They report changes; starting with valid values emits none.
 *
 *	kmes.config.applied		a value has been changed
 *	kmes.config.value.rejected	a value was rejected, the old one is kept
 *	kmes.buffer.swap.failed		replacing the rings failed, the old ones are kept
 *
 * Each function writes one map to `p`; KMES_SELF_SIZE bytes are enough for each of them,
 * because strings from outside are truncated to KMES_SELF_TEXT bytes.
 */
#ifndef KMES_SELF_H
#define KMES_SELF_H

#include "kmes_pack.h"

#define KMES_SELF_APPLIED "kmes.config.applied"
#define KMES_SELF_REJECTED "kmes.config.value.rejected"
#define KMES_SELF_SWAP_FAILED "kmes.buffer.swap.failed"

#define KMES_SELF_SIZE 512
#define KMES_SELF_TEXT 128

/* The names of the values in these events. */
#define KMES_SELF_CAPACITY "BufferCapacity"
#define KMES_SELF_EVENT_SIZE "MaxEventSize"
#define KMES_SELF_DEPTH "MaxNestingDepth"
#define KMES_SELF_RATE "MaxEmitRatePerProcess"

/* {config: {name, value}, buffer: {capacity}} */
static inline void kmes_self_applied(struct kmes_pack *p, const char *name, __u64 value,
				     __u64 capacity)
{
	kmes_pack_map(p, 2);
	kmes_pack_text(p, "config");
	kmes_pack_map(p, 2);
	kmes_pack_text(p, "name");
	kmes_pack_text(p, name);
	kmes_pack_text(p, "value");
	kmes_pack_uint(p, value);
	kmes_pack_text(p, "buffer");
	kmes_pack_map(p, 1);
	kmes_pack_text(p, "capacity");
	kmes_pack_uint(p, capacity);
}

/* A value and its range, as in the events about a rejection. */
struct kmes_self_value {
	const char *name;
	__u64 min, max;
	__u64 current_value;
};

/* {config: {name, expected: {min, max}, received: {kind, value: */
static inline void kmes_self_rejected_head(struct kmes_pack *p,
					   const struct kmes_self_value *v,
					   const char *kind)
{
	kmes_pack_map(p, 1);
	kmes_pack_text(p, "config");
	kmes_pack_map(p, 4);
	kmes_pack_text(p, "name");
	kmes_pack_text(p, v->name);
	kmes_pack_text(p, "expected");
	kmes_pack_map(p, 2);
	kmes_pack_text(p, "min");
	kmes_pack_uint(p, v->min);
	kmes_pack_text(p, "max");
	kmes_pack_uint(p, v->max);
	kmes_pack_text(p, "received");
	kmes_pack_map(p, 2);
	kmes_pack_text(p, "kind");
	kmes_pack_text(p, kind);
	kmes_pack_text(p, "value");
}

/* }, value}} */
static inline void kmes_self_rejected_tail(struct kmes_pack *p,
					   const struct kmes_self_value *v)
{
	kmes_pack_text(p, "value");
	kmes_pack_uint(p, v->current_value);
}

/* A number that is out of range, or not a power of two where it must be. */
static inline void kmes_self_out_of_range(struct kmes_pack *p,
					  const struct kmes_self_value *v, __u64 received)
{
	kmes_self_rejected_head(p, v, "out-of-range");
	kmes_pack_uint(p, received);
	kmes_self_rejected_tail(p, v);
}

/* A string that is not a number. */
static inline void kmes_self_wrong_type(struct kmes_pack *p,
					const struct kmes_self_value *v,
					const char *received, __u32 len)
{
	kmes_self_rejected_head(p, v, "wrong-type");
	kmes_pack_str(p, received, len < KMES_SELF_TEXT ? len : KMES_SELF_TEXT);
	kmes_self_rejected_tail(p, v);
}

/* {buffer: {capacity-requested, capacity}, outcome: {errno}}; `error` is negative. */
static inline void kmes_self_swap_failed(struct kmes_pack *p, __u64 requested,
					 __u64 capacity, int error)
{
	kmes_pack_map(p, 2);
	kmes_pack_text(p, "buffer");
	kmes_pack_map(p, 2);
	kmes_pack_text(p, "capacity-requested");
	kmes_pack_uint(p, requested);
	kmes_pack_text(p, "capacity");
	kmes_pack_uint(p, capacity);
	kmes_pack_text(p, "outcome");
	kmes_pack_map(p, 1);
	kmes_pack_text(p, "errno");
	kmes_pack_int(p, error);
}

#endif
