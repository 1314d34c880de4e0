/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_ring.h - the writer of a ring; see doc/protocol.md, Writing.
 *
 * Compiled into kmes.ko, kmes-sim, the tests and the benchmarks. It does not allocate,
 * lock, or call out. The caller of a writing function makes sure that nothing else writes
 * to this ring at the same time, not even an interrupt on the same CPU, takes the stamp
 * under the same exclusion, and wakes the futex if the function says so.
 *
 * In the kernel, interrupts are disabled, so the work is bounded: a write copies its
 * events, at most the ring's capacity, and steps over at most KMES_RING_WALK_MAX old
 * events to make room. Where more have to go, it does not walk through all of them: the
 * writer keeps, in private memory, the position of an event for every KMES_MARK_STRIDE
 * bytes.
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

/* Time and identity of the emitter, taken at the write. */
struct kmes_stamp {
	__u64 timestamp; /* ns since the epoch */
	__u8 origin_class;
	__u8 effective_token_guid[16];
	__u8 true_token_guid[16];
	__u8 process_guid[16];
};

/* Bytes of data per mark, and the most events between a mark and a position. */
#define KMES_MARK_STRIDE 16384u
#define KMES_RING_WALK_MAX (KMES_MARK_STRIDE / (KMES_HEADER_SIZE + 1) + 1)

/* Where an event starts. */
struct kmes_mark {
	__u64 pos;
	__u64 index; /* events emitted before it; at the tail: overwritten_events */
};

/*
 * The writer's private state. These positions are the true ones: the producer page only
 * publishes them. Nothing that a consumer can write is ever read, except need_wake.
 */
struct kmes_ring_writer {
	struct kmes_producer_page *producer;
	const struct kmes_consumer_page *consumer;
	__u8 *data; /* capacity bytes, mapped twice in a row */
	__u64 capacity;
	__u64 write_pos;
	__u64 tail_pos;
	__u64 sequence;	 /* of the last event, 0: none yet */
	__u64 next_mark; /* the first event at or after this position gets a mark */
	struct kmes_mark *marks;
	__u64 mark_phase; /* strides start where position + phase is a multiple */
	__u64 generation;
	struct kmes_ring_counts counts;
	__u16 cpu_id;
};

/* The number of marks of a ring. */
static inline __u64 kmes_ring_mark_count(__u64 capacity)
{
	return capacity > KMES_MARK_STRIDE ? capacity / KMES_MARK_STRIDE : 1;
}

/* The mark of a stride, by number; it may still be that of an earlier lap. */
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

/* Reads the event_size at a position of the data. */
static inline __u32 kmes_ring_size_at(const struct kmes_ring_writer *w, __u64 pos)
{
	__u32 size;

	kmes_copy_shared(&size, w->data + (pos & (w->capacity - 1)), sizeof(size));
	return size;
}

/*
 * Initializes `w` as an empty ring in zeroed memory, and the producer page. `marks` has
 * kmes_ring_mark_count() elements. `w` keeps the pointers.
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

/* The end of the newest event. */
static inline struct kmes_mark kmes_ring_end(const struct kmes_ring_writer *w)
{
	const struct kmes_mark end = { w->write_pos, w->counts.emitted_events };

	return end;
}

/*
 * Marks the event that is about to be written for the stride that it starts in, and for
 * earlier strides in which no event starts: a mark is the first event that starts in its
 * stride or later. The sequence has been assigned.
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

/* The mark of the stride of `pos`, or the end if no event starts in it or later. */
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
 * Finds the oldest event such that it and all newer ones take at most `limit` bytes.
 * Returns false if the ring is corrupt: a size that is impossible or in conflict with the
 * number of events.
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

/* Counters can be read at any time, so each is stored in one piece. */
static inline void kmes_ring_count(__u64 *count, __u64 more)
{
	kmes_store_relaxed(count, *count + more);
}

/*
 * Drops the oldest events until at most `limit` bytes are left; all if they are
 * corrupt.
 */
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
 * Publishes the tail. Order A: the fence keeps the data stores that follow after this
 * store (pairs with B, a reader's second load of it). The release is order J, for readers
 * that start at the tail.
 */
static inline void kmes_ring_publish_tail(struct kmes_ring_writer *w)
{
	kmes_store_release(&w->producer->tail_pos, w->tail_pos);
	kmes_fence_release();
}

/*
 * After write_pos or generation has been published: whether need_wake is set. If so,
 * increments futex_counter and counts a wake; the caller then wakes all waiters.
 * Order E or I: the fence pairs with F, a consumer's fence after need_wake = 1.
 */
static inline bool kmes_ring_check_wake(struct kmes_ring_writer *w)
{
	__u32 *word = &w->producer->futex_counter;

	kmes_fence_full();
	if (!kmes_load_relaxed(&w->consumer->need_wake))
		return false;
	/* Order L, pairs with M. There is one writer: no atomic increment is needed. */
	kmes_store_release(word, kmes_load_relaxed(word) + 1);
	kmes_ring_count(&w->counts.wakes, 1);
	return true;
}

/*
 * Publishes write_pos. Order C, pairs with D: all bytes below it are complete.
 *
 * The cache lines of the next events, and with them the tail of a full ring, are
 * prefetched while the fence waits for this event's stores. Otherwise each event waits
 * for its lines, for a third of its time. (Not a separate function: gcc drops one that
 * only prefetches.)
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

/* Writes one event's bytes at write_pos; there is room, and the tail is published. */
static inline void kmes_ring_put(struct kmes_ring_writer *w, const struct kmes_record *r,
				 const struct kmes_stamp *stamp, __u32 size)
{
	__u8 *at = w->data + (w->write_pos & (w->capacity - 1));
#ifdef KMES_TSAN
	struct kmes_event_header copy, *h = &copy;
#else
	/* In place: between A and C, plain stores are as good as a copy. */
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

/* Takes a sequence for an event that cannot be written: consumers see a gap. */
static inline void kmes_ring_drop(struct kmes_ring_writer *w)
{
	w->sequence++;
	kmes_ring_count(&w->counts.dropped_events, 1);
}

/*
 * Writes one event and publishes it. `*wake`: the caller must wake the futex. Returns 0;
 * -EINVAL for an event without a type or with a size that exceeds u32; -ENOSPC for one
 * larger than half the capacity. On failure, nothing is written, counted or numbered.
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
 * Sums up a batch from its end: the number of its newest events that fit into the ring
 * (`*kept`), their size (`*kept_bytes`), and the size of all events (`*total`).
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
 * Writes `count` events with one stamp, consecutive sequences and one publication. Of a
 * batch larger than the ring, the newest events that fit survive; the others take
 * sequences and positions and are counted as emitted and overwritten. Returns 0, or, with
 * nothing written, the error that kmes_ring_write() has for the first invalid event.
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
		 * All old events and the first ones of the batch are overwritten. Do not
		 * walk over the latter by sizes in the ring: after the old write_pos,
		 * there are bytes of an earlier lap.
		 */
		kmes_store_relaxed(&w->counts.overwritten_events,
				   w->counts.emitted_events + count - kept);
		w->write_pos += total - kept_bytes;
		w->sequence += count - kept;
		w->tail_pos = w->write_pos;
		/* No marks for events that are not written. */
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
 * Announces to consumers of `old` that `w`, which can already be attached to, has
 * replaced it. Returns whether the old ring's futex must be woken; this wake is counted
 * in `w`. Order G, pairs with H: after the old ring's last write_pos.
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
 * Increments the generation in a replaced ring's page, for consumers that first loaded it
 * too late to see a change. Returns whether the ring's futex must be woken. Order G and I
 * as above; nothing else writes the page of a replaced ring.
 */
static inline bool kmes_ring_retire_again(struct kmes_ring_writer *old)
{
	__u64 *generation = &old->producer->generation;

	kmes_store_release(generation, kmes_load_relaxed(generation) + 1);
	return kmes_ring_check_wake(old);
}

#endif
