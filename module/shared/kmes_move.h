/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_move.h - moves a ring's events to its successor while the writer continues.
 *
 * Copying a large ring takes tens of milliseconds; the writer cannot be stopped for that
 * long. So most of it is copied in steps while the writer runs, by reading the old ring
 * as a consumer does. The writer is stopped only at the beginning, and at the end to copy
 * what has been written since the last step:
 *
 *	kmes_move_begin()   writer stopped
 *	kmes_move_step()    any number of times, writer running
 *	kmes_move_finish()  writer stopped; if it has been too fast, more steps follow
 *
 * While the writer is stopped, at most KMES_MOVE_REST bytes are copied and at most
 * KMES_RING_WALK_MAX events are stepped over.
 *
 * The old position p becomes p - base. It does not matter if the writer overwrites
 * bytes while they are being copied: in the end, only events at or above the tail are
 * valid, and those have not been overwritten since they were published.
 *
 * The longest suffix of complete events that fits is kept. It starts at position 0
 * unless events at `base` have become invalid meanwhile (overwritten, or no longer
 * fitting). Then the tail is that much higher; but if at most KMES_MOVE_REST bytes are
 * left, these are copied again to start at 0.
 */
#ifndef KMES_MOVE_H
#define KMES_MOVE_H

#include "kmes_ring.h"

/* The most that is copied in a step; contiguous even in the smallest ring. */
#define KMES_MOVE_CHUNK 65536u
/* The most that is copied while the writer is stopped. */
#define KMES_MOVE_REST 262144u

struct kmes_move {
	__u64 base;   /* the old position that becomes 0 */
	__u64 copied; /* valid old bytes below this position have been copied */
};

/* The oldest event that `capacity` bytes can keep; the end if sizes are corrupt. */
static inline struct kmes_mark kmes_move_first(const struct kmes_ring_writer *old,
					       __u64 capacity, bool *sound)
{
	struct kmes_mark first;

	*sound = kmes_ring_find(old, capacity, &first);
	return *sound ? first : kmes_ring_end(old);
}

/* Prepares to move the events of `old` to `capacity` bytes; the writer is stopped. */
static inline void kmes_move_begin(struct kmes_move *m,
				   const struct kmes_ring_writer *old, __u64 capacity)
{
	bool sound;

	m->base = kmes_move_first(old, capacity, &sound).pos;
	m->copied = m->base;
}

/*
 * Copies up to KMES_MOVE_CHUNK bytes to `w`, a new ring, and returns how many bytes are
 * left. Uses only the constant members of `old` and its pages. The pages are not trusted,
 * because other processes can write to a simulator's: no copy leaves the two rings.
 */
static inline __u64 kmes_move_step(struct kmes_move *m, struct kmes_ring_writer *w,
				   const struct kmes_ring_writer *old)
{
	/* Order D, pairs with C. */
	__u64 write_pos = kmes_load_acquire(&old->producer->write_pos);
	/* Order K, pairs with J. */
	__u64 from = kmes_load_acquire(&old->producer->tail_pos);
	__u64 n;

	if (from < m->copied)
		from = m->copied;
	if (write_pos > w->capacity && from < write_pos - w->capacity)
		from = write_pos - w->capacity;
	/* The tail may be ahead of write_pos while a large batch is written. */
	if (from >= write_pos)
		return 0;
	n = write_pos - from;
	if (n > KMES_MOVE_CHUNK)
		n = KMES_MOVE_CHUNK;
	if (n > old->capacity)
		n = old->capacity;
	kmes_copy_shared(w->data + ((from - m->base) & (w->capacity - 1)),
			 old->data + (from & (old->capacity - 1)), n);
	m->copied = from + n;
	return write_pos - m->copied;
}

/* Copies the marks of the events after the first one; strides keep their events. */
static inline void kmes_move_marks(struct kmes_ring_writer *w,
				   const struct kmes_ring_writer *old, __u64 base,
				   __u64 first)
{
	__u64 shift = base + old->mark_phase;
	__u64 stride = (first + old->mark_phase) / KMES_MARK_STRIDE + 1;
	__u64 end = (old->next_mark + old->mark_phase) / KMES_MARK_STRIDE;

	w->mark_phase = shift % KMES_MARK_STRIDE;
	w->next_mark = old->next_mark - base;
	for (; stride < end; stride++) {
		struct kmes_mark *mark =
			kmes_ring_mark_of(w, stride - shift / KMES_MARK_STRIDE);

		*mark = *kmes_ring_mark_of(old, stride);
		mark->pos -= base;
	}
}

/*
 * The last step: `w` continues where `old` ends. The writer of `old` is stopped and must
 * not write again; `w` cannot be attached to yet. At most `keep` bytes are kept, which is
 * at most the new capacity.
 *
 * Returns false and does nothing if more than KMES_MOVE_REST bytes would have to be
 * copied; this never happens if `keep` is no larger than that.
 */
static inline bool kmes_move_finish(struct kmes_move *m, struct kmes_ring_writer *w,
				    const struct kmes_ring_writer *old, __u64 keep)
{
	bool sound;
	struct kmes_mark first = kmes_move_first(old, keep, &sound);
	__u64 from;

	/* Sizes were corrupt at the beginning: nothing below the base has been copied. */
	if (first.pos < m->base) {
		first = kmes_ring_end(old);
		sound = false;
	}
	from = first.pos;
	/* Unless the page showed false positions. */
	if (m->copied > from && m->copied <= old->write_pos)
		from = m->copied;
	if (old->write_pos - from > KMES_MOVE_REST)
		return false;
	if (first.pos != m->base && old->write_pos - first.pos <= KMES_MOVE_REST) {
		m->base = first.pos;
		from = first.pos;
	}
	kmes_copy_shared(w->data + ((from - m->base) & (w->capacity - 1)),
			 old->data + (from & (old->capacity - 1)), old->write_pos - from);

	w->tail_pos = first.pos - m->base;
	w->write_pos = old->write_pos - m->base;
	w->sequence = old->sequence;
	w->counts = old->counts;
	w->counts.overwritten_events = first.index;
	w->counts.corrupt_resyncs += !sound;
	if (w->tail_pos != w->write_pos)
		kmes_move_marks(w, old, m->base, first.pos);
	/* Order J and C, for the readers of the new ring, once it can be attached to. */
	kmes_store_release(&w->producer->tail_pos, w->tail_pos);
	kmes_store_release(&w->producer->write_pos, w->write_pos);
	return true;
}

/* Moves everything at once, for a writer that may be stopped for any time. */
static inline void kmes_move_all(struct kmes_ring_writer *w,
				 const struct kmes_ring_writer *old)
{
	struct kmes_move m;

	kmes_move_begin(&m, old, w->capacity);
	while (kmes_move_step(&m, w, old))
		;
	if (!kmes_move_finish(&m, w, old, w->capacity))
		kmes_move_finish(&m, w, old, KMES_MOVE_REST);
}

#endif
