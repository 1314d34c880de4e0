/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_emit.h - what is checked before an event may be written, in the order that counts.
 *
 * An emit is refused by the first check that fails, and a refused emit leaves no trace.
 * Privilege and rate are the caller's and come first. Then:
 *
 *	kmes_emit_check_lengths	 from the lengths alone, no pointer has been followed
 *	the caller copies type and payload to where the sender cannot change them
 *	kmes_emit_check_content	 on that copy
 *
 * and in the write phase kmes_ring_write looks at half the capacity again, as a resize
 * may have come between. A batch does this entry by entry and stops at the first bad one.
 * Trusted emitters of the kernel itself owe only kmes_emit_check_trusted.
 */
#ifndef KMES_EMIT_H
#define KMES_EMIT_H

#include "kmes_abi.h"
#include "kmes_msgpack.h"
#include "kmes_ring.h"

/* What bounds the events of ordinary processes. */
struct kmes_emit_limits {
	__u32 max_event_size; /* bytes, header included */
	__u32 max_nesting_depth;
};

/*
 * 0; -EINVAL: no type, or a size past u32; -ENOSPC: over the limit for an event, or over
 * half of a ring of `capacity` bytes (exactly half is fine).
 */
static inline int kmes_emit_check_lengths(const struct kmes_emit_limits *limits,
					  __u64 capacity, __u16 type_len,
					  __u32 payload_len)
{
	__u32 size = kmes_record_size(type_len, payload_len);

	if (!type_len || !size)
		return -EINVAL;
	if (size > limits->max_event_size || size > capacity / 2)
		return -ENOSPC;
	return 0;
}

/*
 * 0, or -EINVAL: the type is not UTF-8, or the payload not exactly one MessagePack value
 * nested no deeper than the limit. `scratch` is the walker's memory.
 */
static inline int kmes_emit_check_content(const struct kmes_emit_limits *limits,
					  const struct kmes_record *r,
					  struct kmes_mp_scratch *scratch)
{
	if (!kmes_utf8_valid(r->type, r->type_len))
		return -EINVAL;
	return kmes_mp_validate(r->payload, r->payload_len, limits->max_nesting_depth,
				scratch);
}

/*
 * For emitters in the kernel: their payload may be empty and is not looked into. Lengths
 * are wide, so that none is cut before it is checked. 0, -EINVAL or -ENOSPC; a failure
 * drops the event and spends its sequence (kmes_ring_drop).
 */
static inline int kmes_emit_check_trusted(__u64 capacity, __u64 type_len,
					  __u64 payload_len)
{
	__u32 size;

	if (!type_len || type_len > 0xFFFF || payload_len > 0xFFFFFFFF)
		return -EINVAL;
	size = kmes_record_size((__u16)type_len, (__u32)payload_len);
	if (!size)
		return -EINVAL;
	return size > capacity / 2 ? -ENOSPC : 0;
}

#endif
