/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_move.h - moves a ring's events into its successor while the writer goes on.
 *
 * Copying a large ring takes tens of milliseconds, for which its writer cannot stand
 * still. So the bulk is copied in steps beside it, by somebody who reads the old ring
 * as a consumer does, and the writer stands still only at the beginning and at the end,
 * which copies what has come since:
 *
 *	kmes_move_begin   writer standing still
 *	kmes_move_step    any number of times, writer running
 *	kmes_move_finish  writer standing still; if it has been too fast, more steps
 *
 * While the writer stands still at most KMES_MOVE_REST bytes are copied and
 * KMES_RING_WALK_MAX events walked over.
 *
 * An old position p becomes position p - base. Bytes that the writer overwrites while
 * they are copied do no harm: at the end only events at or above the tail count, and
 * those were never overwritten since they were published, hence copied whole.
 *
 * What is kept is the longest suffix of whole events that fits. It starts at position 0,
 * unless events at `base` had to go meanwhile (overwritten by a flood, or not fitting any
 * more); then the tail starts that much later, except that up to KMES_MOVE_REST bytes are
 * copied anew to start at 0.
 */
#ifndef KMES_MOVE_H
#define KMES_MOVE_H

#include "kmes_ring.h"

/* Copied at once; any part of a ring of the least capacity is contiguous. */
#define KMES_MOVE_CHUNK 65536u
/* The most that is copied while the writer stands still. */
#define KMES_MOVE_REST 262144u

struct kmes_move {
	__u64 base;   /* the old position that becomes 0 */
	__u64 copied; /* the old bytes below are copied, as far as they matter */
};

/* The oldest event to be kept in `capacity` bytes; the end if sizes are corrupt. */
static inline struct kmes_mark kmes_move_first(const struct kmes_ring_writer *old,
					       __u64 capacity, bool *sound)
{
	struct kmes_mark first;

	*sound = kmes_ring_find(old, capacity, &first);
	return *sound ? first : kmes_ring_end(old);
}

/* Prepares to move the events of `old`, which stands still, into `capacity` bytes. */
static inline void kmes_move_begin(struct kmes_move *m,
				   const struct kmes_ring_writer *old, __u64 capacity)
{
	bool sound;

	m->base = kmes_move_first(old, capacity, &sound).pos;
	m->copied = m->base;
}

/*
 * Copies up to KMES_MOVE_CHUNK bytes into `w`, a fresh ring, and returns how many there
 * are still to copy. Of `old` only what never changes is looked at, and its pages. They
 * need not be sound, as a simulator's may not be: no copy leaves the two rings.
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
	/* The tail may be ahead of write_pos for a moment. */
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

/* The marks of the events behind the first one; strides lie where they lay. */
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
 * The last step: afterwards `w` goes on where `old` stopped. The writer of `old` stands
 * still and must not write any more; `w` cannot be attached to yet. Not more than `keep`
 * bytes are kept, at most the new capacity.
 *
 * Returns false, with nothing done, if more than KMES_MOVE_REST bytes would have to be
 * copied; with a `keep` of no more than those it never does.
 */
static inline bool kmes_move_finish(struct kmes_move *m, struct kmes_ring_writer *w,
				    const struct kmes_ring_writer *old, __u64 keep)
{
	bool sound;
	struct kmes_mark first = kmes_move_first(old, keep, &sound);
	__u64 from;

	/* Sizes that were corrupt at the beginning: nothing below the base was copied. */
	if (first.pos < m->base) {
		first = kmes_ring_end(old);
		sound = false;
	}
	from = first.pos;
	/* Unless the page showed positions that never were. */
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
	/* Nobody sees the new ring before it is handed out: J and C for its readers. */
	kmes_store_release(&w->producer->tail_pos, w->tail_pos);
	kmes_store_release(&w->producer->write_pos, w->write_pos);
	return true;
}

/* All of it, for a writer that stands still however long it takes. */
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
