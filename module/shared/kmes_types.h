/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* kmes_types.h - structures that the writer of a ring and users of the library share. */
#ifndef KMES_TYPES_H
#define KMES_TYPES_H

#include "kmes_abi.h"

/* An event to be written; type and payload belong to the caller. */
struct kmes_record {
	const void *type;
	const void *payload;
	__u32 payload_len;
	__u16 type_len;
};

/* The size of an event with a type and payload of these lengths; 0 if it exceeds u32. */
static inline __u32 kmes_record_size(__u16 type_len, __u32 payload_len)
{
	__u64 size = (__u64)KMES_HEADER_SIZE + type_len + payload_len;

	return size <= 0xFFFFFFFFu ? (__u32)size : 0;
}

/* Counters of a CPU since its first ring: they continue when the ring is replaced. */
struct kmes_ring_counts {
	__u64 emitted_events; /* written, without drops */
	__u64 emitted_bytes;
	__u64 overwritten_events; /* written once and no longer in the ring */
	__u64 dropped_events;	  /* took a sequence without being written */
	__u64 corrupt_resyncs;
	__u64 wakes;
};

#endif
