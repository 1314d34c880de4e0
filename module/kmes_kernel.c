// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_kernel.c - events from kernel code, in any context but NMI. */
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "kmes_module.h"

/* Events of a batch that are written in one publication. */
#define RUN_MAX 16

/*
 * Interrupts are off. The fast clock can be read in any context: the ordinary one retries
 * until a timekeeping update ends, which may be what this interrupted, and must not be
 * read during suspend.
 *
 * The emitting process is known in task context only, and not once the task has been
 * released: its process may be gone. The idle task is not a process; it also runs, while
 * it polls, functions that other CPUs get called by an interrupt.
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

/* 0, or the error of an event that can never be written to this ring. */
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
 * Writes the events before the first invalid one, at most RUN_MAX, in one publication,
 * and returns their number. The invalid one takes a sequence, and its error is `*err`.
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

/* Emits an event of the module itself. */
void kmes_emit_pack(u8 origin_class, const char *type, const struct kmes_pack *p)
{
	struct kmes_kernel_event event = {
		.type = type,
		.type_len = strlen(type),
		.payload = p->buf,
		.payload_len = p->len,
	};

	/* Never a truncated map: the caller provides a large enough buffer. */
	if (!WARN_ON_ONCE(!kmes_pack_is_whole(p)))
		kmes_emit_kernel(origin_class, &event);
}
