// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_write.c - the write phase of every emission. */
#include "kmes_module.h"

/*
 * Writes the records in one publication and wakes the ring's sleepers. Interrupts have
 * been off since the stamp was taken and @b was looked up, so nothing may fault here:
 * type and payload are in resident kernel memory. Returns what kmes_ring_write_batch()
 * returns; nothing is written unless every record is acceptable to this ring.
 * @from_call: this is a system call, and not kernel code in an unknown context.
 */
int kmes_write(struct kmes_buffer *b, const struct kmes_record *records, u32 count,
	       const struct kmes_stamp *stamp, bool from_call)
{
	bool wake;
	int err;

	/* Most emissions are single, and summing up a batch costs as much as a write. */
	if (count == 1)
		err = kmes_ring_write(&b->w, records, stamp, &wake);
	else
		err = kmes_ring_write_batch(&b->w, records, count, stamp, &wake);
	if (wake && from_call)
		kmes_wake_from_call(b);
	else if (wake)
		kmes_wake(b);
	return err;
}
