// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_emit.c - events from user space, single and in batches. */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "kmes_module.h"

/* The entries of batches up to this size are copied to the stack. */
#define FEW_EVENTS 8

/* A batch was staged for a ring of another capacity: stage it again. */
#define STALE (-ESTALE)

/*
 * Number of entries before the first one with invalid lengths; that one's error in
 * `*err`.
 */
static u32 check_lengths(const struct kmes_stage *st,
			 const struct kmes_batch_entry *entries, u32 count, int *err)
{
	u32 n;

	for (n = 0; n < count; n++) {
		*err = kmes_emit_check_lengths(&st->limits, st->capacity,
					       entries[n].event_type_len,
					       entries[n].payload_len);
		if (*err)
			break;
	}
	return n;
}

/* Number of records before the first one that is too large for the ring. */
static u32 acceptable(const struct kmes_record *records, u32 count, u64 capacity)
{
	u32 n;

	for (n = 0; n < count; n++)
		if (kmes_record_size(records[n].type_len, records[n].payload_len) >
		    capacity / 2)
			break;
	return n;
}

/*
 * Gets this CPU's ring; on success, interrupts are off. If the ring is closed, because
 * its replacer could not keep up with the events, waits until it has been replaced;
 * -EINTR if the process is being killed.
 */
static int take_ring(struct kmes_buffer **b, unsigned long *flags)
{
	int err;

	for (;;) {
		local_irq_save(*flags);
		*b = kmes_this_buffer();
		if (!(*b)->closed)
			return 0;
		local_irq_restore(*flags);
		err = kmes_slots_wait();
		if (err)
			return err;
	}
}

/*
 * Writes the staged records with interrupts off. `*written` is the number of records
 * written, with -ENOSPC if that is not all. STALE if the stage does not hold everything
 * that a ring of this capacity would keep; st->capacity is then the ring's.
 */
static int write_stage(const struct kmes_subject *s, struct kmes_stage *st,
		       const struct kmes_record *records, u32 *written)
{
	struct kmes_stamp stamp __uninitialized;
	struct kmes_buffer *b;
	unsigned long flags;
	int err = take_ring(&b, &flags);

	if (err)
		return err;
	if (st->wrapped && b->w.capacity != st->capacity) {
		st->capacity = b->w.capacity;
		err = STALE;
	} else {
		*written = acceptable(records, st->count, b->w.capacity);
		kmes_stamp_init(&stamp, KMES_ORIGIN_USERSPACE, s);
		stamp.timestamp = ktime_get_real_ns();
		kmes_write(b, records, *written, &stamp, true);
		if (*written < st->count)
			err = -ENOSPC;
	}
	local_irq_restore(flags);
	return err;
}

/* Stages and writes once; STALE if a resize came in between and it matters. */
static int emit_once(const struct kmes_subject *s, struct kmes_stage *st,
		     const struct kmes_batch_entry *entries, struct kmes_record *records,
		     u32 count, u32 *written)
{
	int err = 0, staged, lengths = 0;

	count = check_lengths(st, entries, count, &lengths);
	if (!count)
		return lengths;
	staged = kmes_stage(st, entries, records, count);
	if (st->count)
		err = write_stage(s, st, records, written);
	kmes_stage_fini(st);
	/* The error of the earliest entry: writing stopped before staging, and so on. */
	return err ?: staged ?: lengths;
}

/* Limits are read once, so that all checks agree. */
static int emit_entries(const struct kmes_subject *s,
			const struct kmes_batch_entry *entries,
			struct kmes_record *records, u32 count, u32 *written)
{
	struct kmes_stage st __uninitialized;
	int err;

	st.limits.max_event_size = kmes_config_get(KMES_SET_EVENT_SIZE);
	st.limits.max_nesting_depth = kmes_config_get(KMES_SET_DEPTH);
	st.capacity = kmes_config_get(KMES_SET_CAPACITY);
	do
		err = emit_once(s, &st, entries, records, count, written);
	while (err == STALE && !fatal_signal_pending(current));
	return err == STALE ? -EINTR : err;
}

/* Takes tokens, unless the subject is exempt: then `*taken` is 0. */
static int reserve(const struct kmes_subject *s, u32 count, u32 *taken)
{
	*taken = 0;
	if (kmes_subject_has_quietly(s, CAP_SYS_ADMIN))
		return 0;
	*taken = count;
	return kmes_rate_take(s, count);
}

/* Like a batch of one entry, without an emitted_out. */
long kmes_emit(const struct kmes_subject *s, const struct kmes_ioc_emit *call)
{
	const struct kmes_batch_entry entry = {
		.event_type = call->type,
		.event_type_len = call->type_len,
		.payload = call->payload,
		.payload_len = call->payload_len,
	};
	struct kmes_record record __uninitialized;
	u32 taken, written;
	int err;

	if (!kmes_subject_has(s, CAP_AUDIT_WRITE))
		return -EPERM;
	if (call->reserved)
		return -EINVAL;
	err = reserve(s, 1, &taken);
	if (err)
		return err;
	err = emit_entries(s, &entry, &record, 1, &written);
	if (err)
		kmes_rate_give_back(s, taken);
	return err;
}

/* `entries` and `records` are arrays of call->count elements. */
static int emit_copied(const struct kmes_subject *s, const struct kmes_ioc_batch *call,
		       struct kmes_batch_entry *entries, struct kmes_record *records,
		       u32 *written)
{
	if (copy_from_user(entries, u64_to_user_ptr(call->entries),
			   call->count * sizeof(*entries)))
		return -EFAULT;
	return emit_entries(s, entries, records, call->count, written);
}

static noinline int emit_few(const struct kmes_subject *s,
			     const struct kmes_ioc_batch *call, u32 *written)
{
	struct kmes_batch_entry entries[FEW_EVENTS] __uninitialized;
	struct kmes_record records[FEW_EVENTS] __uninitialized;

	return emit_copied(s, call, entries, records, written);
}

/* Both arrays together are never larger than a kernel stack. */
static int emit_many(const struct kmes_subject *s, const struct kmes_ioc_batch *call,
		     u32 *written)
{
	struct kmes_batch_entry *entries;
	int err;

	entries = kmalloc(call->count * (sizeof(*entries) + sizeof(struct kmes_record)),
			  KMES_STAGE_GFP);
	if (!entries)
		return -ENOMEM;
	err = emit_copied(s, call, entries, (void *)(entries + call->count), written);
	kfree(entries);
	return err;
}

static int emit_batch_checked(const struct kmes_subject *s,
			      const struct kmes_ioc_batch *call, u32 *written)
{
	u32 __user *out = u64_to_user_ptr(call->emitted_out);
	int err;

	if (put_user(0, out))
		return -EFAULT;
	err = call->count <= FEW_EVENTS ? emit_few(s, call, written)
					: emit_many(s, call, written);
	if (put_user(*written, out) && !err)
		err = -EFAULT;
	return err;
}

long kmes_emit_batch(const struct kmes_subject *s, const struct kmes_ioc_batch *call)
{
	u32 taken, written = 0;
	int err;

	if (!kmes_subject_has(s, CAP_AUDIT_WRITE))
		return -EPERM;
	if (call->reserved || call->count < 1 || call->count > KMES_BATCH_MAX)
		return -EINVAL;
	err = reserve(s, call->count, &taken);
	if (err)
		return err;
	err = emit_batch_checked(s, call, &written);
	if (taken)
		kmes_rate_give_back(s, taken - written);
	return err;
}
