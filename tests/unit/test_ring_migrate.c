// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Moving a ring's events to another capacity, and notifying its readers. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kmes_ring.h"
#include "testring.h"
#include "unit.h"

#define SMALL 65536u
#define LARGE 262144u

static void assert_holds(const struct testring *ring, uint64_t first, uint64_t last)
{
	struct testring_walk walk = testring_walk(ring);
	const struct kmes_ring_counts *c = &ring->w.counts;

	assert_true(walk.is_consistent);
	assert_true(walk.is_filled);
	assert_int_equal(walk.events, first <= last ? last - first + 1 : 0);
	if (walk.events) {
		assert_int_equal(walk.first_seq, first);
		assert_int_equal(walk.last_seq, last);
	}
	assert_int_equal(ring->w.sequence, last);
	assert_int_equal(kmes_ring_live(&ring->w), walk.events);
	assert_int_equal(ring->w.sequence, c->emitted_events + c->dropped_events);
	assert_int_equal(c->emitted_events, walk.events + c->overwritten_events);
	assert_int_equal(ring->producer->tail_pos, 0);
	assert_int_equal(ring->producer->write_pos, ring->w.write_pos);
	assert_int_equal(ring->w.tail_pos, 0);
}

/* A migration does not change the old pages. [R8] */
static struct testring *successor(struct testring *old, uint64_t capacity)
{
	struct testring *next;

	mprotect(old->base, old->length, PROT_READ);
	next = testring_successor(old, capacity);
	mprotect(old->base, old->length, PROT_READ | PROT_WRITE);
	return next;
}

/* [R9] [R5] */
TEST(migrate_up_keeps_every_event_from_position_0)
{
	struct testring *old = testring_new(SMALL, 3, 1), *next;

	for (int i = 0; i < 1000; i++)
		testring_emit_size(old, 100 + i % 400);
	next = successor(old, LARGE);
	assert_holds(next, testring_walk(old).first_seq, 1000);
	assert_int_equal(next->w.write_pos, old->w.write_pos - old->w.tail_pos);
	assert_int_equal(next->producer->generation, 2);
	assert_int_equal(next->producer->capacity, LARGE);
	assert_int_equal(next->producer->cpu_id, 3);
	assert_memory_equal(&next->w.counts, &old->w.counts, sizeof(old->w.counts));
	/* The sequence goes on. */
	assert_int_equal(testring_emit_size(next, 100), 1001);
	testring_free(old);
	testring_free(next);
}

/* [R10] */
TEST(migrate_down_drops_the_oldest_and_counts_them)
{
	struct testring *old = testring_new(LARGE, 0, 4), *next;

	for (int i = 0; i < 200; i++)
		testring_emit_size(old, 1000);
	next = successor(old, SMALL);
	assert_holds(next, 136, 200);
	assert_int_equal(next->w.counts.overwritten_events, 135);
	assert_int_equal(next->w.counts.emitted_events, 200);
	assert_int_equal(next->w.counts.emitted_bytes, 200000);
	assert_int_equal(next->producer->generation, 5);
	/* The old ring is unchanged: a reader can still drain it. */
	assert_int_equal(testring_walk(old).events, 200);
	assert_int_equal(old->w.counts.overwritten_events, 0);
	testring_free(old);
	testring_free(next);
}

/* [R10] */
TEST(migrate_down_keeps_an_exact_fit_and_no_more)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next;

	for (int i = 0; i < 512; i++)
		testring_emit_size(old, 512);
	next = successor(old, SMALL);
	assert_holds(next, 385, 512); /* 128 * 512 = 65536 */
	testring_free(next);
	testring_emit_size(old, 513);
	next = successor(old, SMALL);
	assert_holds(next, 387, 513);
	testring_free(next);
	testring_free(old);
}

/* Events over half of the new capacity still move. [R10] [E12] */
TEST(migrate_moves_events_over_half_of_the_new_capacity)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next;
	struct kmes_record record = { "t", NULL, 0, 1 };
	struct kmes_stamp stamp = { 0 };
	uint8_t *payload = calloc(1, SMALL);
	bool wake;

	testring_emit_size(old, 500);
	testring_emit_size(old, 65536);
	next = successor(old, SMALL);
	assert_holds(next, 2, 2);
	assert_int_equal(next->w.write_pos, 65536);
	/* And are overwritten like any other. */
	record.payload = payload;
	record.payload_len = 32768 - 78;
	assert_int_equal(kmes_ring_write(&next->w, &record, &stamp, &wake), 0);
	assert_int_equal(next->producer->tail_pos, 65536);
	assert_int_equal(kmes_ring_live(&next->w), 1);
	record.payload_len++;
	assert_int_equal(kmes_ring_write(&next->w, &record, &stamp, &wake), -ENOSPC);
	assert_int_equal(next->w.sequence, 3);
	free(payload);
	testring_free(next);
	testring_free(old);
}

/* [R10] */
TEST(migrate_of_a_newest_event_that_is_too_large_moves_nothing)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next;

	for (int i = 0; i < 10; i++)
		testring_emit_size(old, 100);
	testring_emit_size(old, 65537);
	next = successor(old, SMALL);
	assert_holds(next, 12, 11);
	assert_int_equal(next->w.counts.overwritten_events, 11);
	assert_int_equal(testring_emit_size(next, 100), 12);
	testring_free(next);
	testring_free(old);
}

TEST(migrate_of_an_empty_ring_continues_the_sequence)
{
	struct testring *old = testring_new(SMALL, 0, 1), *next;

	next = successor(old, LARGE);
	assert_holds(next, 1, 0);
	assert_int_equal(testring_emit_size(next, 100), 1);
	testring_free(next);
	kmes_ring_drop(&old->w);
	next = successor(old, LARGE);
	assert_int_equal(testring_emit_size(next, 100), 2);
	assert_int_equal(next->w.counts.dropped_events, 1);
	testring_free(next);
	testring_free(old);
}

/* Wherever the live span is in the old ring, also across its end. [M7] [R9] */
TEST(migrate_copies_a_span_that_crosses_the_end)
{
	for (uint64_t start = 0; start < SMALL; start += 4095) {
		struct testring *old = testring_new(SMALL, 0, 1), *next;

		testring_start_at(old, 5ull * SMALL + start, 0);
		for (int i = 0; i < 130; i++)
			testring_emit_size(old, 500 + i % 3);
		next = successor(old, SMALL);
		assert_holds(next, 1, 130);
		testring_free(next);
		testring_free(old);
	}
}

/* Migration has the same checks as the overwrite walk. [E13] */
TEST(migrate_of_a_corrupt_ring_moves_nothing_and_is_counted)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next;

	for (int i = 0; i < 200; i++)
		testring_emit_size(old, 1000);
	/* In its search for the first event to keep. */
	memset(old->data + 133000, 0, 4);
	next = testring_successor(old, SMALL);
	assert_holds(next, 201, 200);
	assert_int_equal(next->w.counts.corrupt_resyncs, 1);
	assert_int_equal(next->w.counts.overwritten_events, 200);
	testring_free(next);
	testring_free(old);
}

/* [P3] [R11] [P5] [R8] */
TEST(retire_shows_the_new_generation_and_wakes_a_sleeper)
{
	struct testring *old = testring_new(SMALL, 0, 1), *next;
	struct kmes_ring_writer *w = &old->w;

	testring_emit_size(old, 1000);
	next = testring_successor(old, LARGE);
	assert_int_equal(old->producer->generation, 1);
	assert_false(kmes_ring_retire(w, &next->w));
	assert_int_equal(old->producer->generation, 2);
	assert_int_equal(old->producer->futex_counter, 0);
	assert_int_equal(next->w.counts.wakes, 0);
	old->consumer->need_wake = 1;
	assert_true(kmes_ring_retire(w, &next->w));
	assert_int_equal(old->producer->futex_counter, 1);
	assert_int_equal(next->producer->futex_counter, 0);
	assert_int_equal(next->w.counts.wakes, 1);
	assert_int_equal(old->producer->write_pos, 1000);
	assert_int_equal(next->producer->generation, 2);
	testring_free(old);
	testring_free(next);
}
