// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_write.c - the write phase, which every emission ends in. */
#include "kmes_module.h"

/*
 * Writes the records in one publication and wakes whoever waits for it. Interrupts are
 * off and have been since the stamp was taken and @b was looked up, so nothing may fault
 * here: type and payload are in kernel memory that is resident. Returns what
 * kmes_ring_write_batch does; nothing is written unless every record is acceptable to
 * this ring. @from_call says that this is a system call, and not kernel code of which
 * nothing is known.
 */
int kmes_write(struct kmes_buffer *b, const struct kmes_record *records, u32 count,
	       const struct kmes_stamp *stamp, bool from_call)
{
	bool wake;
	int err;

	/* Most are alone, and the sums of a batch cost as much as the write. */
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
