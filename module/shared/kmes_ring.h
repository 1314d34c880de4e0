/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_ring.h - the ring itself over plain memory: its one writer.
 *
 * Compiled into kmes.ko, kmes-sim, the tests and the benchmarks. It neither allocates
 * nor locks nor calls out. The caller of a writing function guarantees that nobody else
 * writes this ring meanwhile, not even an interrupt on the same CPU, takes the stamps
 * within that guarantee, and wakes the futex when told to.
 *
 * In the kernel that guarantee is disabled interrupts, so the work is bounded: a write
 * copies what it was given, at most the ring's capacity, and steps over at most
 * KMES_RING_WALK_MAX old events to make room for it. Where more of them have to go the
 * writer does not walk: it keeps, in private memory, the position of an event every
 * KMES_MARK_STRIDE bytes.
 */
#ifndef KMES_RING_H
#define KMES_RING_H

#include "kmes_abi.h"
#include "kmes_order.h"
#include "kmes_types.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/prefetch.h>
#include <linux/string.h>
#include <linux/types.h>
#define kmes_prefetch_write(p) prefetchw(p)
#else
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define kmes_prefetch_write(p) __builtin_prefetch((p), 1)
#endif

/* What the writer's side knows about the emitter, taken at the write. */
struct kmes_stamp {
	__u64 timestamp; /* ns since the epoch */
	__u8 origin_class;
	__u8 effective_token_guid[16];
	__u8 true_token_guid[16];
	__u8 process_guid[16];
};

/* Bytes of the ring for each mark, and what can lie between one and the place sought. */
#define KMES_MARK_STRIDE 16384u
#define KMES_RING_WALK_MAX (KMES_MARK_STRIDE / (KMES_HEADER_SIZE + 1) + 1)

/* Where an event starts. */
struct kmes_mark {
	__u64 pos;
	__u64 index; /* events emitted before it; at the tail: overwritten_events */
};

/*
 * A ring as its writer holds it. The positions here are the true ones; the producer page
 * only tells them to others, and nothing that a consumer can write is ever read back,
 * but for need_wake.
 */
struct kmes_ring_writer {
	struct kmes_producer_page *producer;
	const struct kmes_consumer_page *consumer;
	__u8 *data; /* capacity bytes, mapped twice in a row */
	__u64 capacity;
	__u64 write_pos;
	__u64 tail_pos;
	__u64 sequence;	 /* of the last event, 0: none yet */
	__u64 next_mark; /* the event that is written at or behind it gets a mark */
	struct kmes_mark *marks;
	__u64 mark_phase; /* strides start where position + phase is a multiple */
	__u64 generation;
	struct kmes_ring_counts counts;
	__u16 cpu_id;
};

/* How many marks a ring has. */
static inline __u64 kmes_ring_mark_count(__u64 capacity)
{
	return capacity > KMES_MARK_STRIDE ? capacity / KMES_MARK_STRIDE : 1;
}

/* The mark of the stride with this number; it may be of an earlier lap. */
static inline struct kmes_mark *kmes_ring_mark_of(const struct kmes_ring_writer *w,
						  __u64 stride)
{
	return &w->marks[stride & (kmes_ring_mark_count(w->capacity) - 1)];
}

/* Events in [tail_pos, write_pos). */
static inline __u64 kmes_ring_live(const struct kmes_ring_writer *w)
{
	return w->counts.emitted_events - w->counts.overwritten_events;
}

/* Reads the event_size at a position of the ring's own data. */
static inline __u32 kmes_ring_size_at(const struct kmes_ring_writer *w, __u64 pos)
{
	__u32 size;

	kmes_copy_shared(&size, w->data + (pos & (w->capacity - 1)), sizeof(size));
	return size;
}

/*
 * Makes `w` an empty ring over zeroed memory and fills in the producer page. There are
 * kmes_ring_mark_count() marks. `w` keeps the pointers; the memory outlives it.
 */
static inline void kmes_ring_init(struct kmes_ring_writer *w,
				  struct kmes_producer_page *producer,
				  const struct kmes_consumer_page *consumer, void *data,
				  struct kmes_mark *marks, __u64 capacity, __u16 cpu_id,
				  __u64 generation)
{
	memset(w, 0, sizeof(*w));
	w->producer = producer;
	w->consumer = consumer;
	w->data = data;
	w->marks = marks;
	w->capacity = capacity;
	w->generation = generation;
	w->cpu_id = cpu_id;

	producer->version = KMES_RING_VERSION;
	producer->cpu_id = cpu_id;
	producer->capacity = capacity;
	producer->data_offset = KMES_DATA_OFFSET;
	kmes_store_relaxed(&producer->generation, generation);
	memcpy(producer->magic, KMES_MAGIC, KMES_MAGIC_SIZE);
}

/* Behind the newest event. */
static inline struct kmes_mark kmes_ring_end(const struct kmes_ring_writer *w)
{
	const struct kmes_mark end = { w->write_pos, w->counts.emitted_events };

	return end;
}

/*
 * Marks the event that is about to be written for the stride that it starts in, and for
 * those before it, which a larger event covers: each mark is of the first event that
 * starts in its stride or behind it. The event has its sequence.
 */
static inline void kmes_ring_mark(struct kmes_ring_writer *w)
{
	const struct kmes_mark mark = {
		.pos = w->write_pos,
		.index = w->sequence - w->counts.dropped_events - 1,
	};

	do {
		*kmes_ring_mark_of(w, (w->next_mark + w->mark_phase) / KMES_MARK_STRIDE) =
			mark;
		w->next_mark += KMES_MARK_STRIDE;
	} while (w->next_mark <= w->write_pos);
}

/* The mark of the stride of `pos`, or the end if no event starts in it or behind it. */
static inline struct kmes_mark kmes_ring_marked(const struct kmes_ring_writer *w,
						__u64 pos)
{
	__u64 stride = (pos + w->mark_phase) / KMES_MARK_STRIDE;
	const struct kmes_mark *mark = kmes_ring_mark_of(w, stride);

	if (mark->pos < stride * KMES_MARK_STRIDE - w->mark_phase)
		return kmes_ring_end(w);
	return *mark;
}

/*
 * Finds the oldest event from which on at most `limit` bytes are live. False for sizes
 * that cannot be believed: one that no event of ours has, or that does not agree with
 * the number of events.
 */
static inline bool kmes_ring_find(const struct kmes_ring_writer *w, __u64 limit,
				  struct kmes_mark *at)
{
	at->pos = w->tail_pos;
	at->index = w->counts.overwritten_events;
	if (w->write_pos - at->pos > limit + KMES_MARK_STRIDE)
		*at = kmes_ring_marked(w, w->write_pos - limit);
	while (w->write_pos - at->pos > limit) {
		__u64 live = w->write_pos - at->pos;
		__u32 size = kmes_ring_size_at(w, at->pos);

		if (size <= KMES_HEADER_SIZE || size > live ||
		    (size == live) != (at->index + 1 == w->counts.emitted_events))
			return false;
		at->pos += size;
		at->index++;
	}
	return true;
}

/* Others look at the counts at any time: each is stored in one piece. */
static inline void kmes_ring_count(__u64 *count, __u64 more)
{
	kmes_store_relaxed(count, *count + more);
}

/* Drops the oldest events until at most `limit` bytes are live; all, if corrupt. */
static inline void kmes_ring_trim(struct kmes_ring_writer *w, __u64 limit)
{
	struct kmes_mark at;

	if (!kmes_ring_find(w, limit, &at)) {
		at = kmes_ring_end(w);
		kmes_ring_count(&w->counts.corrupt_resyncs, 1);
	}
	w->tail_pos = at.pos;
	kmes_store_relaxed(&w->counts.overwritten_events, at.index);
}

/*
 * Tells consumers how far the old events are gone. Order A: the fence keeps the data
 * stores that follow behind the tail (pairs with B, a reader's second look at it). The
 * release is J, for readers that start at the tail.
 */
static inline void kmes_ring_publish_tail(struct kmes_ring_writer *w)
{
	kmes_store_release(&w->producer->tail_pos, w->tail_pos);
	kmes_fence_release();
}

/*
 * After a publication of write_pos or generation: does anybody need a wake? Counts the
 * wake and moves the futex word if so; the caller then wakes all waiters on it.
 * Order E or I: the fence pairs with F, a consumer's fence behind need_wake = 1.
 */
static inline bool kmes_ring_check_wake(struct kmes_ring_writer *w)
{
	__u32 *word = &w->producer->futex_counter;

	kmes_fence_full();
	if (!kmes_load_relaxed(&w->consumer->need_wake))
		return false;
	/* Order L, pairs with M: one writer, so the plain sum loses nothing. */
	kmes_store_release(word, kmes_load_relaxed(word) + 1);
	kmes_ring_count(&w->counts.wakes, 1);
	return true;
}

/*
 * Order C, pairs with D: every byte below write_pos is written.
 *
 * What the next events will overwrite, and the tail of a full ring with it, is fetched
 * while the fence waits for this event's stores: else each event waits for its lines, a
 * third of its time. (Not in a function of its own: gcc drops one that only prefetches.)
 */
static inline bool kmes_ring_publish(struct kmes_ring_writer *w)
{
	const __u8 *next = w->data + (w->write_pos & (w->capacity - 1));

	kmes_prefetch_write(next + 192);
	kmes_prefetch_write(next + 256);
	kmes_prefetch_write(next + 320);
	kmes_prefetch_write(next + 384);
	kmes_store_release(&w->producer->write_pos, w->write_pos);
	return kmes_ring_check_wake(w);
}

/* Writes one event's bytes at write_pos; the room is there and the tail published. */
static inline void kmes_ring_put(struct kmes_ring_writer *w, const struct kmes_record *r,
				 const struct kmes_stamp *stamp, __u32 size)
{
	__u8 *at = w->data + (w->write_pos & (w->capacity - 1));
#ifdef KMES_TSAN
	struct kmes_event_header copy, *h = &copy;
#else
	/* In place: with A and C around them, plain stores are as good as a copy. */
	struct kmes_event_header *h = (struct kmes_event_header *)at;
#endif

	if (w->write_pos >= w->next_mark)
		kmes_ring_mark(w);
	h->event_size = size;
	h->header_size = KMES_HEADER_SIZE + r->type_len;
	h->timestamp = stamp->timestamp;
	h->sequence = w->sequence;
	h->cpu_id = w->cpu_id;
	h->origin_class = stamp->origin_class;
	memcpy(h->effective_token_guid, stamp->effective_token_guid,
	       sizeof(h->effective_token_guid));
	memcpy(h->true_token_guid, stamp->true_token_guid, sizeof(h->true_token_guid));
	memcpy(h->process_guid, stamp->process_guid, sizeof(h->process_guid));
	h->type_len = r->type_len;
#ifdef KMES_TSAN
	kmes_copy_shared(at, h, sizeof(*h));
#endif
	at += KMES_HEADER_SIZE;
	if (r->payload == (const __u8 *)r->type + r->type_len) {
		kmes_copy_shared(at, r->type, size - KMES_HEADER_SIZE);
	} else {
		kmes_copy_shared(at, r->type, r->type_len);
		if (r->payload_len)
			kmes_copy_shared(at + r->type_len, r->payload, r->payload_len);
	}
	w->write_pos += size;
}

/* Spends a sequence on an event that cannot be written: consumers see a gap. */
static inline void kmes_ring_drop(struct kmes_ring_writer *w)
{
	w->sequence++;
	kmes_ring_count(&w->counts.dropped_events, 1);
}

/*
 * Writes one event and publishes it. `*wake` says whether the futex must be woken.
 * Returns 0, -EINVAL for an event without a type or of a size past u32, or -ENOSPC for
 * one over half the capacity; then nothing is written, counted or numbered.
 */
static inline int kmes_ring_write(struct kmes_ring_writer *w, const struct kmes_record *r,
				  const struct kmes_stamp *stamp, bool *wake)
{
	__u32 size = kmes_record_size(r->type_len, r->payload_len);

	*wake = false;
	if (!r->type_len || !size)
		return -EINVAL;
	if (size > w->capacity / 2)
		return -ENOSPC;

	if (w->write_pos - w->tail_pos + size > w->capacity) {
		kmes_ring_trim(w, w->capacity - size);
		kmes_ring_publish_tail(w);
	}
	w->sequence++;
	kmes_ring_put(w, r, stamp, size);
	kmes_ring_count(&w->counts.emitted_events, 1);
	kmes_ring_count(&w->counts.emitted_bytes, size);
	*wake = kmes_ring_publish(w);
	return 0;
}

/*
 * Sums up a batch from its end: how many of its newest events fit into the ring
 * (`*kept`), and the bytes of all of them (`*total`) and of those (`*kept_bytes`).
 */
static inline void kmes_ring_batch_fit(const struct kmes_ring_writer *w,
				       const struct kmes_record *r, __u32 count,
				       __u32 *kept, __u64 *total, __u64 *kept_bytes)
{
	__u32 i;

	*kept = 0;
	*total = 0;
	*kept_bytes = 0;
	for (i = count; i-- > 0;) {
		*total += kmes_record_size(r[i].type_len, r[i].payload_len);
		if (*total <= w->capacity) {
			*kept = count - i;
			*kept_bytes = *total;
		}
	}
}

/*
 * Writes `count` events, each of them acceptable to kmes_ring_write, with one stamp,
 * consecutive sequences and one publication. Of a batch larger than the ring the newest
 * events that fit survive, whole and contiguous; the others take their sequences and
 * positions and count as emitted and overwritten. Returns 0, or what kmes_ring_write
 * would say of the first event that is not acceptable, with nothing written.
 */
static inline int kmes_ring_write_batch(struct kmes_ring_writer *w,
					const struct kmes_record *r, __u32 count,
					const struct kmes_stamp *stamp, bool *wake)
{
	__u32 i, kept;
	__u64 total, kept_bytes;

	*wake = false;
	for (i = 0; i < count; i++) {
		__u32 size = kmes_record_size(r[i].type_len, r[i].payload_len);

		if (!r[i].type_len || !size)
			return -EINVAL;
		if (size > w->capacity / 2)
			return -ENOSPC;
	}
	if (!count)
		return 0;

	kmes_ring_batch_fit(w, r, count, &kept, &total, &kept_bytes);
	if (kept < count) {
		/*
		 * All old events and the batch's own first ones go. The walk is not by
		 * sizes found in the ring: past the old write_pos stand bytes of an
		 * earlier lap.
		 */
		kmes_store_relaxed(&w->counts.overwritten_events,
				   w->counts.emitted_events + count - kept);
		w->write_pos += total - kept_bytes;
		w->sequence += count - kept;
		w->tail_pos = w->write_pos;
		/* No marks for what is not written. */
		if (w->next_mark < w->tail_pos)
			w->next_mark += (w->tail_pos - w->next_mark) &
					~(__u64)(KMES_MARK_STRIDE - 1);
		kmes_ring_publish_tail(w);
	} else if (w->write_pos - w->tail_pos + total > w->capacity) {
		kmes_ring_trim(w, w->capacity - total);
		kmes_ring_publish_tail(w);
	}

	for (i = count - kept; i < count; i++) {
		w->sequence++;
		kmes_ring_put(w, &r[i], stamp,
			      kmes_record_size(r[i].type_len, r[i].payload_len));
	}
	kmes_ring_count(&w->counts.emitted_events, count);
	kmes_ring_count(&w->counts.emitted_bytes, total);
	*wake = kmes_ring_publish(w);
	return 0;
}

/*
 * Tells consumers of `old` that `w` has taken its place: `w` can already be attached to.
 * Returns whether the old ring's futex must be woken; the wake counts with `w`.
 * Order G, pairs with H: after the old ring's last write_pos.
 */
static inline bool kmes_ring_retire(struct kmes_ring_writer *old,
				    struct kmes_ring_writer *w)
{
	bool wake;

	kmes_store_release(&old->producer->generation, w->generation);
	wake = kmes_ring_check_wake(old);
	kmes_ring_count(&w->counts.wakes, wake);
	return wake;
}

/*
 * Shows the consumers of a replaced ring another generation, for those that had their
 * first look at it too late to see a change. Returns whether its futex must be woken.
 * Order G and I as above; since it was replaced nobody else writes its page.
 */
static inline bool kmes_ring_retire_again(struct kmes_ring_writer *old)
{
	__u64 *generation = &old->producer->generation;

	kmes_store_release(generation, kmes_load_relaxed(generation) + 1);
	return kmes_ring_check_wake(old);
}

#endif
