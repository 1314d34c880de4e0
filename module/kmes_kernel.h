/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_kernel.h - how other kernel code emits events.
 *
 * Kernel emitters are trusted: neither is their rate bounded nor their payload looked
 * into, and it may be empty. They may emit in any context but NMI, never block, and never
 * fail because a ring is full. The texts are copied before the call returns.
 *
 * An event that can never be stored (no type, one of more than 65535 bytes, more than half
 * the ring) is dropped: it spends its sequence number, so that consumers see a gap, and
 * counts as dropped.
 */
#ifndef KMES_KERNEL_H
#define KMES_KERNEL_H

#include <linux/types.h>

struct kmes_kernel_event {
	const void *type; /* UTF-8 */
	const void *payload;
	size_t type_len;
	size_t payload_len;
};

/*
 * Emits one event on this CPU. Returns 0; -EINVAL or -ENOSPC for one that was dropped;
 * -EPERM in an NMI, where nothing is written or counted.
 */
int kmes_emit_kernel(u8 origin_class, const struct kmes_kernel_event *event);

/*
 * Emits events with one time stamp and sequence numbers in a row, on one CPU. Goes on past
 * those that have to be dropped. Returns how many were stored, or -EPERM in an NMI.
 * Interrupts are off throughout, so keep it short.
 */
int kmes_emit_kernel_batch(u8 origin_class, const struct kmes_kernel_event *events,
			   u32 count);

#endif
