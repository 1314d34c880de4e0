/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_move.h - moves a ring's events into its successor while the writer goes on.
 *
 * kmes_ring_migrate() needs the writer to stand still for the whole copy: tens of
 * milliseconds for a large ring. Here the bulk is copied in steps by somebody who reads
 * the old ring as a consumer does, and the writer stands still only for the last step,
 * which copies what has come since:
 *
 *	kmes_move_begin   from a snapshot of the old writer
 *	kmes_move_step    any number of times, writer running
 *	kmes_move_finish  writer standing still
 *
 * An old position p becomes position p - base. Bytes that the writer overwrites while
 * they are copied do no harm: at the end only events at or above the tail count, and
 * those were never overwritten since they were published, hence copied whole. Numbers of
 * events are kept by index, the count of events ever emitted before a position, which at
 * the tail is the writer's overwritten_events.
 *
 * What is kept is what kmes_ring_migrate() keeps: the longest suffix of whole events that
 * fits. It starts at position 0, unless events at `base` had to go meanwhile (overwritten
 * by a flood, or not fitting any more); then the tail starts that much later, except that
 * up to KMES_MOVE_SMALL bytes are copied anew to start at 0.
 */
#ifndef KMES_MOVE_H
#define KMES_MOVE_H

#include "kmes_ring.h"

/* Copied at once; any part of a ring of the least capacity is contiguous. */
#define KMES_MOVE_CHUNK 65536u
/* With so few bytes there is no need for steps. */
#define KMES_MOVE_SMALL 262144u

struct kmes_move {
	__u64 base;   /* the old position that becomes 0 */
	__u64 pos;    /* the first event to be kept, an old position */
	__u64 index;  /* events emitted before pos */
	__u64 copied; /* the old bytes below are copied, as far as they matter */
	bool stepped;
};

/* `snapshot` is a copy of the old ring's writer, consistent in itself. */
static inline void kmes_move_begin(struct kmes_move *m,
				   const struct kmes_ring_writer *snapshot)
{
	m->base = snapshot->tail_pos;
	m->pos = snapshot->tail_pos;
	m->copied = snapshot->tail_pos;
	m->index = snapshot->counts.overwritten_events;
	m->stepped = false;
}

/*
 * Walks pos forward over events that cannot be kept, beside a running writer. Returns
 * false when the writer has overtaken: a new snapshot is needed, or kmes_move_finish.
 */
static inline bool kmes_move_walk(struct kmes_move *m, const struct kmes_ring_view *old,
				  __u64 write_pos, __u64 capacity)
{
	while (write_pos - m->pos > capacity) {
		__u32 size = kmes_ring_size_at(old->data, old->capacity, m->pos);

		/* Order B, pairs with A: the size was read before the tail passed it. */
		kmes_fence_acquire();
		if (kmes_load_acquire(&old->producer->tail_pos) > m->pos || !size ||
		    size > write_pos - m->pos)
			return false;
		m->pos += size;
		m->index++;
	}
	return true;
}

/*
 * Copies up to KMES_MOVE_CHUNK bytes into `w`, a fresh ring, and returns how many there
 * are still to copy; 0 also when the writer has overtaken the walk.
 */
static inline __u64 kmes_move_step(struct kmes_move *m, struct kmes_ring_writer *w,
				   const struct kmes_ring_view *old)
{
	/* Order D, pairs with C. */
	__u64 write_pos = kmes_load_acquire(&old->producer->write_pos);
	/* Order K, pairs with J. */
	__u64 from = kmes_load_acquire(&old->producer->tail_pos);
	__u64 n;

	if (!m->stepped) {
		if (!kmes_move_walk(m, old, write_pos, w->capacity))
			return 0;
		m->base = m->pos;
		m->copied = m->pos;
		m->stepped = true;
	}
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
	kmes_copy_shared(w->data + ((from - m->base) & (w->capacity - 1)),
			 old->data + (from & (old->capacity - 1)), n);
	m->copied = from + n;
	return write_pos - m->copied;
}

/* The first event to be kept, now that the old ring stands still. */
static inline void kmes_move_settle(struct kmes_move *m, struct kmes_ring_writer *w,
				    const struct kmes_ring_writer *old)
{
	if (m->pos < old->tail_pos) {
		m->pos = old->tail_pos;
		m->index = old->counts.overwritten_events;
	}
	while (old->write_pos - m->pos > w->capacity) {
		__u64 live = old->write_pos - m->pos;
		__u32 size = kmes_ring_size_at(old->data, old->capacity, m->pos);

		if (!size || size > live) {
			m->pos = old->write_pos;
			m->index = old->counts.emitted_events;
			w->counts.corrupt_resyncs++;
			return;
		}
		m->pos += size;
		m->index++;
	}
}

/*
 * The last step: afterwards `w` goes on where `old` stopped. The writer of `old` stands
 * still and must not write any more; `w` cannot be attached to yet.
 */
static inline void kmes_move_finish(struct kmes_move *m, struct kmes_ring_writer *w,
				    const struct kmes_ring_writer *old)
{
	__u64 from;

	w->counts = old->counts;
	kmes_move_settle(m, w, old);
	if (!m->stepped ||
	    (m->pos != m->base && old->write_pos - m->pos <= KMES_MOVE_SMALL)) {
		m->base = m->pos;
		m->copied = m->pos;
	}
	from = m->copied > m->pos ? m->copied : m->pos;
	kmes_copy_shared(w->data + ((from - m->base) & (w->capacity - 1)),
			 old->data + (from & (old->capacity - 1)), old->write_pos - from);

	w->tail_pos = m->pos - m->base;
	w->write_pos = old->write_pos - m->base;
	w->sequence = old->sequence;
	w->counts.overwritten_events = m->index;
	w->live_events = old->counts.emitted_events - m->index;
	/* Nobody sees the new ring before it is handed out: J and C for its readers. */
	kmes_store_release(&w->producer->tail_pos, w->tail_pos);
	kmes_store_release(&w->producer->write_pos, w->write_pos);
}

#endif
