/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_kernel.h - the interface for other kernel code that emits events.
 *
 * Kernel emitters are trusted: their rate is not limited, and the payload is not checked
 * and may be empty. They may emit in any context but NMI. Emitting never blocks and never
 * fails because a ring is full. Type and payload are copied before the call returns.
 *
 * An event that can never be written (no type, a type of more than 65535 bytes, more than
 * half the ring) is dropped: it takes a sequence number, so that consumers see a gap, and
 * is counted in dropped_events.
 */
#ifndef KMES_KERNEL_H
#define KMES_KERNEL_H

#include <linux/types.h>

/**
 * struct kmes_kernel_event - an event to emit
 * @type: the type, in UTF-8
 * @payload: the payload, a MessagePack value
 * @type_len: length of the type in bytes
 * @payload_len: length of the payload in bytes
 */
struct kmes_kernel_event {
	const void *type;
	const void *payload;
	size_t type_len;
	size_t payload_len;
};

/**
 * kmes_emit_kernel - emit one event on this CPU
 * @origin_class: one of &enum kmes_origin (kmes_abi.h)
 * @event: the event
 *
 * Context: Any but NMI. Interrupts are off while the event is copied.
 * Return: 0; -EINVAL or -ENOSPC if the event was dropped; -EPERM in an NMI, with nothing
 * written or counted.
 */
int kmes_emit_kernel(u8 origin_class, const struct kmes_kernel_event *event);

/**
 * kmes_emit_kernel_batch - emit several events with one timestamp on this CPU
 * @origin_class: one of &enum kmes_origin (kmes_abi.h)
 * @events: the events
 * @count: number of events
 *
 * Their sequence numbers are consecutive. A dropped event does not end the batch.
 *
 * Context: Any but NMI. Interrupts are off for the whole batch, so keep it short.
 * Return: the number of events written, or -EPERM in an NMI.
 */
int kmes_emit_kernel_batch(u8 origin_class, const struct kmes_kernel_event *events,
			   u32 count);

#endif
