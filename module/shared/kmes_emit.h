/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_emit.h - the checks before an event may be written; see doc/protocol.md, Emission.
 *
 * An emission is refused by the first check that fails and then leaves no trace. The
 * caller checks privilege and rate first. Then:
 *
 *	kmes_emit_check_lengths()  uses the lengths only, no pointer is followed
 *	the caller copies type and payload to memory that the sender cannot change
 *	kmes_emit_check_content()  checks that copy
 *
 * kmes_ring_write() checks against half the capacity again, because a resize may have
 * come in between. A batch goes through this entry by entry and stops at the first
 * invalid one. For trusted emitters in the kernel there is only
 * kmes_emit_check_trusted().
 */
#ifndef KMES_EMIT_H
#define KMES_EMIT_H

#include "kmes_abi.h"
#include "kmes_msgpack.h"
#include "kmes_ring.h"

/* Limits for the events of processes. */
struct kmes_emit_limits {
	__u32 max_event_size; /* bytes, header included */
	__u32 max_nesting_depth;
};

/*
 * 0; -EINVAL: no type, or a size that exceeds u32; -ENOSPC: larger than max_event_size or
 * than half of `capacity`.
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
 * 0, or -EINVAL: the type is not UTF-8, or the payload is not exactly one MessagePack
 * value within the nesting limit. `scratch` is working memory.
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
 * For emitters in the kernel, whose payload may be empty and is not checked. The lengths
 * are wide, so that none is truncated before it is checked. 0, -EINVAL or -ENOSPC; the
 * caller then drops the event by kmes_ring_drop().
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
