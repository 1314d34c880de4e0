// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ring_mapped.c - copies spans out of a mapped KMES ring: laps, corruption, replacement
 * (doc/protocol.md, Reading and Replacement).
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "ring.h"

/* A tail that is ahead of write_pos for longer than this is worth a note. */
#define STUCK_NS KMES_NS_PER_S

static void ring_note(struct kmes_ring *ring, const char *what, uint64_t pos)
{
	kmes_error_set(&ring->err, 0,
		       "cpu%u: %s at position %llu; continuing at the newest", ring->cpu,
		       what, (unsigned long long)pos);
	ring->has_note = true;
}

/* Discards the private bytes and continues at `pos`. */
static void ring_seek(struct kmes_ring *ring, uint64_t pos)
{
	ring->pos = pos;
	ring->off = 0;
	ring->len = 0;
}

/* Never backwards: a ring that stays corrupt must not hold the reader in a loop. */
static void ring_give_up(struct kmes_ring *ring, const char *what)
{
	uint64_t pos = kmesp_ring_position(ring);
	/* Order D, pairs with C. */
	uint64_t write_pos =
		kmes_load_acquire(&ring->mapped.map.view.producer->write_pos);

	ring_note(ring, what, pos);
	ring_seek(ring, write_pos > pos ? write_pos : pos);
	ring->known = ring->pos;
}

/* Lapped if the tail is past this position, otherwise corrupt (Reading, step 8). */
static void mapped_recover(struct kmes_ring *ring)
{
	/* Order B, pairs with A: the tail is loaded after the bytes that were parsed. */
	uint64_t tail_pos;

	kmes_fence_acquire();
	tail_pos = kmes_load_acquire(&ring->mapped.map.view.producer->tail_pos);
	if (tail_pos > kmesp_ring_position(ring))
		ring_seek(ring, tail_pos);
	else
		ring_give_up(ring, "not an event");
}

/* A tail ahead of write_pos is a batch being written, unless neither moves for long. */
static void ring_watch_tail(struct kmes_ring *ring, const struct kmes_ring_span *span)
{
	uint64_t now = kmesp_clock_ns(CLOCK_MONOTONIC);

	if (span->tail_pos != ring->mapped.stuck_tail ||
	    span->write_pos != ring->mapped.stuck_write) {
		ring->mapped.stuck_tail = span->tail_pos;
		ring->mapped.stuck_write = span->write_pos;
		ring->mapped.stuck_since_ns = now;
		ring->mapped.stuck_noted = false;
	} else if (!ring->mapped.stuck_noted &&
		   now - ring->mapped.stuck_since_ns >= STUCK_NS) {
		kmes_error_set(
			&ring->err, 0,
			"cpu%u: tail position %llu stays ahead of write position %llu",
			ring->cpu, (unsigned long long)span->tail_pos,
			(unsigned long long)span->write_pos);
		ring->has_note = true;
		ring->mapped.stuck_noted = true;
	}
}

/* Notes the replacement for the reader; several in a row are reported as one. */
static void ring_note_resize(struct kmes_ring *ring, const struct kmes_mapping *next)
{
	if (!ring->has_resize) {
		ring->resize.cpu = ring->cpu;
		ring->resize.old_capacity = ring->mapped.map.view.capacity;
		ring->resize.old_generation = ring->mapped.map.generation;
	}
	ring->resize.new_capacity = next->view.capacity;
	ring->resize.new_generation = next->generation;
	ring->has_resize = true;
}

/* The page shows a replacement, but attaching gives the same ring again. */
static void ring_doubt(struct kmes_ring *ring, uint64_t generation)
{
	if (ring->mapped.odd_generation == generation)
		return;
	kmes_error_set(
		&ring->err, 0,
		"cpu%u: generation %llu at position %llu, but there is no such ring",
		ring->cpu, (unsigned long long)generation,
		(unsigned long long)kmesp_ring_position(ring));
	ring->has_note = true;
	ring->mapped.odd_generation = generation;
}

/*
 * The ring was replaced and is drained: continues at the oldest event of the new one.
 * Positions do not carry over; ring_accept() finds the place by sequence [R3 R4 R5 R6].
 * Returns 1, 0 if there is no new ring or the source has ended, or -errno.
 */
static int ring_follow(struct kmes_ring *ring, uint64_t generation)
{
	struct kmes_mapping next;
	int rc = kmes_mapping_open(&next, ring->src, ring->cpu, &ring->err);

	if (rc < 0) {
		ring->ended = !kmes_source_alive(ring->src);
		return ring->ended ? 0 : rc;
	}
	if (next.generation == ring->mapped.map.generation) {
		kmes_mapping_close(&next);
		ring_doubt(ring, generation);
		return 0;
	}
	ring_note_resize(ring, &next);
	kmes_mapping_close(&ring->mapped.map);
	ring->mapped.map = next;
	ring->mapped.is_armed = false;
	ring->skip_until = 0;
	/* Order K, pairs with J. */
	ring_seek(ring, kmes_load_acquire(&next.view.producer->tail_pos));
	return 1;
}

/* Uses the copied span as the private bytes, but not past the end of a snapshot. */
static void ring_take_span(struct kmes_ring *ring, const struct kmes_ring_span *span)
{
	/* Lapped before the start was found: some of the lost events may precede it. */
	if (span->lapped && kmesp_ring_position(ring) < ring->skip_until)
		ring->has_last = false;
	/* An event of a snapshot does not reach past its end. */
	ring->known = span->write_pos < ring->mapped.stop_pos ? span->write_pos
							      : ring->mapped.stop_pos;
	ring->pos = span->pos - span->skip;
	ring->off = span->skip;
	ring->len = span->skip + span->len;
	if (span->pos >= ring->mapped.stop_pos)
		ring->len = ring->off;
	else if (span->len > ring->mapped.stop_pos - span->pos)
		ring->len = span->skip + (uint32_t)(ring->mapped.stop_pos - span->pos);
}

static int mapped_fill(struct kmes_ring *ring)
{
	for (;;) {
		struct kmes_ring_span span;
		/*
		 * Order H, pairs with G: if this shows the replacement, the write_pos
		 * that is loaded after it is final [R0 R2].
		 */
		uint64_t generation =
			kmes_load_acquire(&ring->mapped.map.view.producer->generation);
		int rc;

		if (kmesp_ring_position(ring) >= ring->mapped.stop_pos)
			return 0;
		rc = kmes_ring_copy(&ring->mapped.map.view, kmesp_ring_position(ring),
				    ring->buf, ring->size, &span);
		if (rc < 0) {
			ring_give_up(ring, "impossible positions");
			return 0;
		}
		ring_take_span(ring, &span);
		if (ring->off < ring->len) {
			kmesp_ring_disarm(ring);
			return 1;
		}
		if (span.write_pos > span.pos && span.pos < ring->mapped.stop_pos &&
		    ring->mapped.stop_pos != UINT64_MAX)
			continue; /* a snapshot is read to its end */
		if (span.write_pos > span.pos)
			return 0; /* lapped repeatedly: other rings first */
		if (span.tail_pos > span.write_pos)
			ring_watch_tail(ring, &span);
		if (generation == ring->mapped.map.generation || ring->ended)
			return 0;
		if (ring->mapped.stop_pos != UINT64_MAX)
			return 0;
		rc = ring_follow(ring, generation);
		if (rc <= 0)
			return rc;
	}
}

static uint64_t mapped_newest(const struct kmes_ring *ring)
{
	/* Order D, pairs with C. */
	return kmes_load_acquire(&ring->mapped.map.view.producer->write_pos);
}

/* Order F: called after need_wake = 1 and the full fence. */
static bool mapped_has_news(const struct kmes_ring *ring)
{
	const struct kmes_producer_page *page = ring->mapped.map.view.producer;
	uint64_t generation;

	if (kmes_load_acquire(&page->write_pos) > kmesp_ring_position(ring))
		return true;
	generation = kmes_load_acquire(&page->generation);
	return !ring->ended && generation != ring->mapped.map.generation &&
	       generation != ring->mapped.odd_generation;
}

static void mapped_close(struct kmes_ring *ring)
{
	kmes_mapping_close(&ring->mapped.map);
}

static const struct kmes_ring_ops mapped_ops = {
	.fill = mapped_fill,
	.recover = mapped_recover,
	.newest = mapped_newest,
	.has_news = mapped_has_news,
	.close = mapped_close,
};

int kmesp_ring_open_mapped(struct kmes_ring *ring,
			   const struct kmes_reader_options *options,
			   struct kmes_error *err)
{
	int rc = kmes_mapping_open(&ring->mapped.map, ring->src, ring->cpu, err);
	uint64_t write_pos;

	if (rc < 0)
		return rc;
	ring->ops = &mapped_ops;
	ring->mapped.stop_pos = UINT64_MAX;
	/* Order K, pairs with J: the oldest surviving event [D0]. */
	ring->pos = kmes_load_acquire(&ring->mapped.map.view.producer->tail_pos);
	/* Order D, pairs with C. */
	write_pos = kmes_load_acquire(&ring->mapped.map.view.producer->write_pos);
	ring->known = write_pos;
	/* A CPU's first ring, and empty: the next event must have sequence 1. */
	ring->has_last = write_pos == 0 && ring->mapped.map.generation == 1;
	if (options->only_new)
		ring->skip_until = write_pos;
	if (options->snapshot)
		ring->mapped.stop_pos = write_pos;
	return 0;
}
