// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_kernel.c - events that kernel code emits, in any context but NMI. */
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "kmes.h"

/* Events of a batch that are handed to the ring together. */
#define RUN_MAX 16

/*
 * Interrupts are off. The time is the one that can be had everywhere: the ordinary clock
 * waits for its own update to end, which this may be called from, and stands in suspend.
 *
 * Who emits is known in task context alone, and no more when the task has been released:
 * then its process may be gone.
 */
static void stamp_self(struct kmes_stamp *stamp, u8 origin_class)
{
	struct kmes_subject s;

	memset(stamp, 0, sizeof(*stamp));
	stamp->timestamp = ktime_get_real_fast_ns();
	stamp->origin_class = origin_class;
	if (in_task() && pid_alive(current)) {
		kmes_subject_self(&s);
		kmes_subject_guid(&s, stamp->process_guid);
	}
}

static struct kmes_record record_of(const struct kmes_kernel_event *e)
{
	struct kmes_record r = {
		.type = e->type,
		.type_len = e->type_len,
		.payload = e->payload,
		.payload_len = e->payload_len,
	};

	return r;
}

/* Interrupts are off. What cannot be stored spends its sequence. */
static int write_event(struct kmes_buffer *b, const struct kmes_kernel_event *e,
		       const struct kmes_stamp *stamp)
{
	struct kmes_record r = record_of(e);
	int err = kmes_emit_check_trusted(b->w.capacity, e->type_len, e->payload_len);

	if (!err)
		return kmes_write(b, &r, 1, stamp);
	kmes_ring_drop(&b->w);
	return err;
}

int kmes_emit_kernel(u8 origin_class, const struct kmes_kernel_event *event)
{
	struct kmes_stamp stamp;
	unsigned long flags;
	int err;

	if (in_nmi())
		return -EPERM;
	local_irq_save(flags);
	stamp_self(&stamp, origin_class);
	err = write_event(kmes_this_buffer(), event, &stamp);
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_GPL(kmes_emit_kernel);

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

/* The run of good events at the start, up to RUN_MAX of them, in one publication. */
static u32 write_run(struct kmes_buffer *b, const struct kmes_kernel_event *events,
		     u32 count, const struct kmes_stamp *stamp)
{
	struct kmes_record run[RUN_MAX];
	u32 n;

	for (n = 0; n < count && n < RUN_MAX; n++) {
		if (kmes_emit_check_trusted(b->w.capacity, events[n].type_len,
					    events[n].payload_len))
			break;
		run[n] = record_of(&events[n]);
	}
	return kmes_write(b, run, n, stamp) ? 0 : n;
}

int kmes_emit_kernel_batch(u8 origin_class, const struct kmes_kernel_event *events,
			   u32 count)
{
	struct kmes_buffer *b;
	struct kmes_stamp stamp;
	unsigned long flags;
	u32 done = 0, stored = 0;

	if (in_nmi())
		return -EPERM;
	local_irq_save(flags);
	b = kmes_this_buffer();
	stamp_self(&stamp, origin_class);
	while (done < count) {
		u32 n = write_run(b, events + done, count - done, &stamp);

		stored += n;
		done += n;
		if (!n) {
			kmes_ring_drop(&b->w);
			done++;
		}
	}
	local_irq_restore(flags);
	return stored;
}
EXPORT_SYMBOL_GPL(kmes_emit_kernel_batch);
