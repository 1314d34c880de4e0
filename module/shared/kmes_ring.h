/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_ring.h - the ring itself over plain memory: the one writer, and copying out.
 *
 * Compiled into kmes.ko, kmes-sim, the library, the tests and the benchmarks. It neither
 * allocates nor locks nor calls out. The caller of a writing function guarantees that
 * nobody else writes this ring meanwhile, not even an interrupt on the same CPU, takes
 * the stamps within that guarantee, and wakes the futex when told to.
 */
#ifndef KMES_RING_H
#define KMES_RING_H

#include "kmes_abi.h"
#include "kmes_order.h"

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

/* One event to be written; the texts belong to the caller. */
struct kmes_record {
	const void *type;
	const void *payload;
	__u32 payload_len;
	__u16 type_len;
};

/* What the writer's side knows about the emitter, taken at the write. */
struct kmes_stamp {
	__u64 timestamp; /* ns since the epoch */
	__u8 origin_class;
	__u8 effective_token_guid[16];
	__u8 true_token_guid[16];
	__u8 process_guid[16];
};

/* Per-CPU counts since the first ring; see kmes_ring_migrate for what travels. */
struct kmes_ring_counts {
	__u64 emitted_events; /* written, without drops */
	__u64 emitted_bytes;
	__u64 overwritten_events; /* written once and no longer in the ring */
	__u64 dropped_events;	  /* spent a sequence without being written */
	__u64 corrupt_resyncs;
	__u64 wakes;
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
	__u64 sequence;	   /* of the last event, 0: none yet */
	__u64 live_events; /* in [tail_pos, write_pos) */
	__u64 generation;
	struct kmes_ring_counts counts;
	__u16 cpu_id;
};

/* Reads the event_size at a position of the ring's own data. */
static inline __u32 kmes_ring_size_at(const __u8 *data, __u64 capacity, __u64 pos)
{
	__u32 size;

	kmes_copy_shared(&size, data + (pos & (capacity - 1)), sizeof(size));
	return size;
}

/*
 * Makes `w` an empty ring over zeroed memory and fills in the producer page. `w` keeps
 * the pointers; the memory outlives it.
 */
static inline void kmes_ring_init(struct kmes_ring_writer *w,
				  struct kmes_producer_page *producer,
				  const struct kmes_consumer_page *consumer, void *data,
				  __u64 capacity, __u16 cpu_id, __u64 generation)
{
	memset(w, 0, sizeof(*w));
	w->producer = producer;
	w->consumer = consumer;
	w->data = data;
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

/*
 * The size of an event with these texts, or 0 when it does not fit into u32. Looks at
 * the lengths alone.
 */
static inline __u32 kmes_record_size(__u16 type_len, __u32 payload_len)
{
	__u64 size = (__u64)KMES_HEADER_SIZE + type_len + payload_len;

	return size <= 0xFFFFFFFFu ? (__u32)size : 0;
}

/* Gives up every event in the ring: its sizes cannot be trusted any more. */
static inline void kmes_ring_resync(struct kmes_ring_writer *w)
{
	w->counts.overwritten_events += w->live_events;
	w->counts.corrupt_resyncs++;
	w->live_events = 0;
	w->tail_pos = w->write_pos;
}

/*
 * Drops the oldest events until at most `limit` bytes are live. A size that no event of
 * ours has, or that does not agree with the number of live events, is corruption.
 */
static inline void kmes_ring_trim(struct kmes_ring_writer *w, __u64 limit)
{
	while (w->write_pos - w->tail_pos > limit) {
		__u64 live = w->write_pos - w->tail_pos;
		__u32 size = kmes_ring_size_at(w->data, w->capacity, w->tail_pos);

		if (size <= KMES_HEADER_SIZE || size > live ||
		    (size == live) != (w->live_events == 1)) {
			kmes_ring_resync(w);
			return;
		}
		w->tail_pos += size;
		w->live_events--;
		w->counts.overwritten_events++;
	}
}

/*
 * Tells consumers how far the old events are gone. Order A: the fence keeps the data
 * stores that follow behind the tail (pairs with B in kmes_ring_copy). The release is
 * J, for readers that start at the tail.
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
	w->counts.wakes++;
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
	kmes_copy_shared(at + KMES_HEADER_SIZE, r->type, r->type_len);
	if (r->payload_len)
		kmes_copy_shared(at + KMES_HEADER_SIZE + r->type_len, r->payload,
				 r->payload_len);
	w->write_pos += size;
}

/* Spends a sequence on an event that cannot be written: consumers see a gap. */
static inline void kmes_ring_drop(struct kmes_ring_writer *w)
{
	w->sequence++;
	w->counts.dropped_events++;
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
	w->live_events++;
	w->counts.emitted_events++;
	w->counts.emitted_bytes += size;
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
		w->counts.overwritten_events += w->live_events + (count - kept);
		w->live_events = 0;
		w->write_pos += total - kept_bytes;
		w->sequence += count - kept;
		w->tail_pos = w->write_pos;
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
	w->live_events += kept;
	w->counts.emitted_events += count;
	w->counts.emitted_bytes += total;
	*wake = kmes_ring_publish(w);
	return 0;
}

/*
 * Moves what fits from `old` into the fresh ring `w` (from kmes_ring_init, of any
 * capacity): the longest suffix of whole events, from position 0. Sequence and counts go
 * on. `old` is only read; its writer must not write any more.
 */
static inline void kmes_ring_migrate(struct kmes_ring_writer *w,
				     const struct kmes_ring_writer *old)
{
	struct kmes_ring_writer rest = *old;
	__u64 live;

	kmes_ring_trim(&rest, w->capacity);
	live = rest.write_pos - rest.tail_pos;
	kmes_copy_shared(w->data, old->data + (rest.tail_pos & (old->capacity - 1)),
			 live);
	w->write_pos = live;
	w->sequence = rest.sequence;
	w->live_events = rest.live_events;
	w->counts = rest.counts;
	kmes_store_release(&w->producer->write_pos, w->write_pos);
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
	w->counts.wakes += wake;
	return wake;
}

/* A ring as a reader sees it. */
struct kmes_ring_view {
	const struct kmes_producer_page *producer;
	const __u8 *data;
	__u64 capacity;
};

/* What kmes_ring_copy found. */
struct kmes_ring_span {
	__u64 pos;	 /* where the copied bytes start; moves forward when lapped */
	__u64 write_pos; /* the one that bounded the copy */
	__u64 tail_pos;	 /* as seen last; may be ahead of write_pos for a while */
	__u32 skip;	 /* the copy's first byte of value stands at buf + skip */
	__u32 len;	 /* valid bytes from there; 0: empty for now */
	bool lapped;	 /* pos had to move */
};

/*
 * Copies up to `size` bytes of [pos, write_pos) into `buf` and throws away what the
 * writer overtook meanwhile, so that what is left is whole and private (2.4.1). Starts
 * at an event, may end within one. Never blocks; tries again while it is lapped, which
 * a reader slower than the writer over `tries` rounds ends with len 0 and pos at the
 * tail. Positions that no sound writer publishes (more than capacity between tail and
 * write_pos) give -EINVAL.
 */
static inline int kmes_ring_copy(const struct kmes_ring_view *v, __u64 pos, void *buf,
				 __u32 size, struct kmes_ring_span *span)
{
	int tries = 8;

	span->lapped = false;
	span->skip = 0;
	span->len = 0;
	do {
		/* Order D, pairs with C. */
		__u64 write_pos = kmes_load_acquire(&v->producer->write_pos);
		/* Order K, pairs with J. */
		__u64 tail_pos = kmes_load_acquire(&v->producer->tail_pos);
		__u64 n;

		if (pos < tail_pos && pos < write_pos) {
			pos = tail_pos;
			span->lapped = true;
			write_pos = kmes_load_acquire(&v->producer->write_pos);
		}
		span->pos = pos;
		span->write_pos = write_pos;
		span->tail_pos = tail_pos;
		if (write_pos <= pos)
			return 0;
		n = write_pos - pos;
		if (n > v->capacity) {
			/* The writer may have gone on between the two loads. */
			tail_pos = kmes_load_acquire(&v->producer->tail_pos);
			if (tail_pos <= pos)
				return -EINVAL;
			continue;
		}
		if (n > size)
			n = size;
		kmes_copy_shared(buf, v->data + (pos & (v->capacity - 1)), n);
		/*
		 * Order B, pairs with A: the copy is done before the tail is looked at.
		 */
		kmes_fence_acquire();
		tail_pos = kmes_load_acquire(&v->producer->tail_pos);
		span->tail_pos = tail_pos;
		if (tail_pos <= pos) {
			span->len = (__u32)n;
			return 0;
		}
		span->lapped = true;
		if (tail_pos - pos < n) {
			span->skip = (__u32)(tail_pos - pos);
			span->len = (__u32)n - span->skip;
			span->pos = tail_pos;
			return 0;
		}
		pos = tail_pos;
		span->pos = pos;
	} while (--tries);
	return 0;
}

#endif
