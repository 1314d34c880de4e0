// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_kernel.c - events that kernel code emits, in any context but NMI. */
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "kmes_module.h"

/* Events of a batch that are handed to the ring together. */
#define RUN_MAX 16

/*
 * Interrupts are off. The time is the one that can be had everywhere: the ordinary clock
 * waits for its own update to end, which this may be called from, and stands in suspend.
 *
 * Who emits is known in task context alone, and no more when the task has been released:
 * then its process may be gone. An idle task is no process; a CPU that polls while it is
 * idle calls there what others get called by an interrupt.
 */
static void stamp_self(struct kmes_stamp *stamp, u8 origin_class)
{
	struct kmes_subject self __uninitialized;
	bool is_known = in_task() && !is_idle_task(current) && pid_alive(current);

	if (is_known)
		kmes_subject_self(&self);
	kmes_stamp_init(stamp, origin_class, is_known ? &self : NULL);
	stamp->timestamp = ktime_get_real_fast_ns();
}

/* 0, or what is wrong with an event, which this ring then never takes. */
static int to_record(struct kmes_record *r, const struct kmes_buffer *b,
		     const struct kmes_kernel_event *e)
{
	int err = kmes_emit_check_trusted(b->w.capacity, e->type_len, e->payload_len);

	r->type = e->type;
	r->type_len = e->type_len;
	r->payload = e->payload;
	r->payload_len = e->payload_len;
	return err;
}

int kmes_emit_kernel(u8 origin_class, const struct kmes_kernel_event *event)
{
	struct kmes_stamp stamp __uninitialized;
	struct kmes_record r __uninitialized;
	struct kmes_buffer *b;
	unsigned long flags;
	int err;

	if (in_nmi())
		return -EPERM;
	local_irq_save(flags);
	stamp_self(&stamp, origin_class);
	b = kmes_this_buffer();
	err = to_record(&r, b, event);
	if (err)
		kmes_ring_drop(&b->w);
	else
		kmes_write(b, &r, 1, &stamp, false);
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_GPL(kmes_emit_kernel);

/*
 * Writes the events before the first bad one, up to RUN_MAX of them, in one publication,
 * and returns how many. The bad one spends its sequence, and `*err` is what is wrong
 * with it.
 */
static u32 write_run(struct kmes_buffer *b, const struct kmes_kernel_event *events,
		     u32 count, const struct kmes_stamp *stamp, int *err)
{
	struct kmes_record run[RUN_MAX] __uninitialized;
	u32 n;

	*err = 0;
	for (n = 0; n < min_t(u32, count, RUN_MAX); n++) {
		*err = to_record(&run[n], b, &events[n]);
		if (*err)
			break;
	}
	kmes_write(b, run, n, stamp, false);
	if (*err)
		kmes_ring_drop(&b->w);
	return n;
}

int kmes_emit_kernel_batch(u8 origin_class, const struct kmes_kernel_event *events,
			   u32 count)
{
	struct kmes_stamp stamp __uninitialized;
	u32 done = 0, stored = 0;
	unsigned long flags;
	int err;

	if (in_nmi())
		return -EPERM;
	local_irq_save(flags);
	stamp_self(&stamp, origin_class);
	while (done < count) {
		u32 n = write_run(kmes_this_buffer(), events + done, count - done, &stamp,
				  &err);

		stored += n;
		done += n + !!err;
	}
	local_irq_restore(flags);
	return stored;
}
EXPORT_SYMBOL_GPL(kmes_emit_kernel_batch);

/* An event of the module's own. */
void kmes_emit_pack(u8 origin_class, const char *type, const struct kmes_pack *p)
{
	struct kmes_kernel_event event = {
		.type = type,
		.type_len = strlen(type),
		.payload = p->buf,
		.payload_len = p->len,
	};

	/* A truncated map would be worse than none: whoever packs it knows its size. */
	if (!WARN_ON_ONCE(!kmes_pack_is_whole(p)))
		kmes_emit_kernel(origin_class, &event);
}
