// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_emit.c - events from user space, one by one and in batches. */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "kmes.h"

/* An event whose texts are no longer than this costs no allocation. */
#define SMALL_TEXTS 512

/* A batch was staged for a ring of another capacity: stage it again. */
#define STALE (-ESTALE)

static u64 this_capacity(void)
{
	unsigned long flags;
	u64 capacity;

	local_irq_save(flags);
	capacity = kmes_this_buffer()->w.capacity;
	local_irq_restore(flags);
	return capacity;
}

static struct kmes_emit_limits current_limits(void)
{
	struct kmes_emit_limits limits = {
		.max_event_size = kmes_config_get(KMES_SET_EVENT_SIZE),
		.max_nesting_depth = kmes_config_get(KMES_SET_DEPTH),
	};

	return limits;
}

static void stamp_for(struct kmes_stamp *stamp, const struct kmes_subject *s)
{
	memset(stamp, 0, sizeof(*stamp));
	stamp->origin_class = KMES_ORIGIN_USERSPACE;
	kmes_subject_guid(s, stamp->process_guid);
}

/* How many of the records this ring can take before one that it cannot. */
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
 * From here on the CPU is ours. `meant_for` is the capacity that the ring must still
 * have, else STALE, or 0: any will do. `*written` tells how many of the records it took:
 * all, or -ENOSPC.
 */
static int write_records(const struct kmes_record *records, u32 count, u64 meant_for,
			 struct kmes_stamp *stamp, u32 *written)
{
	struct kmes_buffer *b;
	unsigned long flags;
	int err = STALE;

	local_irq_save(flags);
	b = kmes_this_buffer();
	if (!meant_for || b->w.capacity == meant_for) {
		*written = acceptable(records, count, b->w.capacity);
		stamp->timestamp = ktime_get_real_ns();
		err = kmes_write(b, records, *written, stamp);
		if (!err && *written < count)
			err = -ENOSPC;
	}
	local_irq_restore(flags);
	return err;
}

/* Copies the texts to `at`, checks the copy and writes it. */
static int emit_copy(const struct kmes_subject *s, const struct kmes_ioc_emit *call,
		     u8 *at)
{
	struct kmes_emit_limits limits = current_limits();
	struct kmes_record r = {
		.type = at,
		.type_len = call->type_len,
		.payload = at + call->type_len,
		.payload_len = call->payload_len,
	};
	struct kmes_mp_scratch scratch;
	struct kmes_stamp stamp;
	u32 written;
	int err;

	if (copy_from_user(at, u64_to_user_ptr(call->type), call->type_len) ||
	    copy_from_user(at + call->type_len, u64_to_user_ptr(call->payload),
			   call->payload_len))
		return -EFAULT;
	err = kmes_emit_check_content(&limits, &r, &scratch);
	if (err)
		return err;
	stamp_for(&stamp, s);
	return write_records(&r, 1, 0, &stamp, &written);
}

/* Most events are small, and those take their copy on the stack. */
static noinline int emit_small(const struct kmes_subject *s,
			       const struct kmes_ioc_emit *call)
{
	u8 texts[SMALL_TEXTS];

	return emit_copy(s, call, texts);
}

static int emit_large(const struct kmes_subject *s, const struct kmes_ioc_emit *call,
		      u32 len)
{
	u8 *texts = kvmalloc(len, GFP_KERNEL_ACCOUNT);
	int err;

	if (!texts)
		return -ENOMEM;
	err = emit_copy(s, call, texts);
	kvfree(texts);
	return err;
}

static int emit_checked(const struct kmes_subject *s, const struct kmes_ioc_emit *call)
{
	struct kmes_emit_limits limits = current_limits();
	int err = kmes_emit_check_lengths(&limits, this_capacity(), call->type_len,
					  call->payload_len);
	u32 len = call->type_len + call->payload_len;

	if (err)
		return err;
	return len <= SMALL_TEXTS ? emit_small(s, call) : emit_large(s, call, len);
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

long kmes_emit(const struct kmes_subject *s, const struct kmes_ioc_emit *call)
{
	u32 taken;
	int err;

	if (!kmes_subject_has(s, CAP_AUDIT_WRITE))
		return -EPERM;
	if (call->reserved)
		return -EINVAL;
	err = reserve(s, 1, &taken);
	if (err)
		return err;
	err = emit_checked(s, call);
	if (err)
		kmes_rate_give_back(s, taken);
	return err;
}

/* One entry into the stage; on failure the stage is as it was. */
static int stage_entry(struct kmes_stage *st, const struct kmes_batch_entry *e,
		       u64 expected)
{
	struct kmes_emit_limits limits = current_limits();
	struct kmes_mp_scratch scratch;
	int err = kmes_emit_check_lengths(&limits, st->capacity, e->event_type_len,
					  e->payload_len);

	if (err)
		return err;
	err = kmes_stage_add(st, e->event_type, e->event_type_len, e->payload,
			     e->payload_len, expected);
	if (err)
		return err;
	err = kmes_emit_check_content(&limits, &st->records[st->count - 1], &scratch);
	if (err)
		st->count--;
	else if (st->live > st->capacity)
		kmes_stage_expire(st);
	return err;
}

/* Stages the good prefix; returns what was wrong with the first entry behind it. */
static int stage_prefix(struct kmes_stage *st, const struct kmes_batch_entry *entries,
			u32 count)
{
	u64 expected = 0;
	u32 i;
	int err = 0;

	for (i = 0; i < count; i++)
		expected += (u64)entries[i].event_type_len + entries[i].payload_len;
	for (i = 0; i < count && !err; i++) {
		err = fatal_signal_pending(current)
			      ? -EINTR
			      : stage_entry(st, &entries[i], expected);
		expected -= (u64)entries[i].event_type_len + entries[i].payload_len;
		cond_resched();
	}
	return err;
}

/* Stages and writes once; STALE if a resize came between and it matters. */
static int emit_entries(const struct kmes_subject *s,
			const struct kmes_batch_entry *entries, u32 count, u32 *written)
{
	struct kmes_stamp stamp;
	struct kmes_stage st;
	int staged, err = kmes_stage_init(&st, count, this_capacity());

	if (err)
		return err;
	staged = stage_prefix(&st, entries, count);
	stamp_for(&stamp, s);
	err = write_records(st.records, st.count, st.gone ? st.capacity : 0, &stamp,
			    written);
	kmes_stage_fini(&st);
	/* What stopped the write stands before what stopped the staging. */
	return err ? err : staged;
}

static int emit_batch_checked(const struct kmes_subject *s,
			      const struct kmes_ioc_batch *call, u32 *written)
{
	u32 __user *out = u64_to_user_ptr(call->emitted_out);
	struct kmes_batch_entry *entries;
	int err = -EFAULT;

	if (put_user(0, out))
		return -EFAULT;
	entries = kvmalloc_array(call->count, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries)
		return -ENOMEM;
	if (!copy_from_user(entries, u64_to_user_ptr(call->entries),
			    call->count * sizeof(*entries)))
		do
			err = emit_entries(s, entries, call->count, written);
		while (err == STALE && !fatal_signal_pending(current));
	kvfree(entries);
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
