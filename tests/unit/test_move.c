// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Moving a ring's events into its successor while the writer continues. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "copied.h"

/* These use its kmes_copy_shared. */
#include "kmes_move.h"
#include "testring.h"
#include "unit.h"

#define SMALL 65536u
#define LARGE 1048576u

/* Reference: where the longest suffix of complete events in `limit` bytes starts. */
static uint64_t suffix_start(const struct testring *ring, uint64_t limit,
			     uint64_t *events)
{
	uint64_t pos = ring->w.tail_pos;

	*events = 0;
	for (uint64_t at = pos; at < ring->w.write_pos;) {
		uint32_t size;

		memcpy(&size, ring->data + at % ring->w.capacity, 4);
		at += size;
		++*events;
		if (ring->w.write_pos - pos > limit) {
			pos = at;
			*events = 0;
		}
	}
	return pos;
}

static void assert_counts_add_up(const struct testring *ring, uint64_t events)
{
	const struct kmes_ring_counts *c = &ring->w.counts;
	struct testring_walk walk = testring_walk(ring);

	assert_true(walk.is_consistent);
	assert_true(walk.is_filled);
	assert_int_equal(walk.events, events);
	assert_int_equal(c->emitted_events, events + c->overwritten_events);
	assert_int_equal(ring->w.sequence, c->emitted_events + c->dropped_events);
	assert_int_equal(ring->producer->write_pos, ring->w.write_pos);
	assert_int_equal(ring->producer->tail_pos, ring->w.tail_pos);
}

/* The result of a move: the newest events that fit, and nothing else. */
static void assert_moved(const struct testring *old, const struct testring *next)
{
	uint64_t events, start = suffix_start(old, next->w.capacity, &events);
	uint64_t live = old->w.write_pos - start;

	assert_int_equal(next->w.write_pos - next->w.tail_pos, live);
	assert_int_equal(next->w.sequence, old->w.sequence);
	assert_counts_add_up(next, events);
	for (uint64_t i = 0; i < live; i++)
		assert_int_equal(next->data[(next->w.tail_pos + i) % next->w.capacity],
				 old->data[(start + i) % old->w.capacity]);
}

/* Writing continues as usual: each event evicts only as much as it needs. */
static void assert_continues(struct testring *ring)
{
	const uint32_t half = (uint32_t)ring->w.capacity / 2;
	static const uint32_t parts[] = { 300, 3, 1, 400, 2, 2, 5, 90, 1, 1 };

	for (unsigned int i = 0; i < COUNT(parts); i++) {
		uint32_t size = half / parts[i];
		uint64_t events;
		uint64_t start = suffix_start(ring, ring->w.capacity - size, &events);

		testring_emit_size(ring, size);
		assert_int_equal(ring->w.tail_pos, start);
		assert_counts_add_up(ring, events + 1);
	}
}

static struct testring *fresh(uint64_t capacity)
{
	return testring_new(capacity, 0, 2);
}

/* With bounded work. Returns whether the move is complete. */
static bool finish(struct kmes_move *m, struct testring *old, struct testring *next)
{
	bool done;

	copied_reset();
	done = kmes_move_finish(m, &next->w, &old->w, next->w.capacity);
	assert_between(copied.sizes, 0, 211);
	assert_between(copied.bytes, 0, 262144);
	if (!done)
		return false;
	assert_moved(old, next);
	assert_continues(next);
	return true;
}

static void begin(struct kmes_move *m, struct testring *old, struct testring *next)
{
	copied_reset();
	kmes_move_begin(m, &old->w, next->w.capacity);
	assert_between(copied.sizes, 0, 211);
	assert_int_equal(copied.bytes, 0);
}

static void step_to_the_end(struct kmes_move *m, struct testring *old,
			    struct testring *next)
{
	while (kmes_move_step(m, &next->w, &old->w))
		;
}

static void fill(struct testring *ring, unsigned int events)
{
	for (unsigned int i = 0; i < events; i++)
		testring_emit_size(ring, 100 + i % 700);
}

/* [R9] [R10] */
TEST(move_of_a_quiet_ring_starts_at_0)
{
	static const uint32_t to[] = { SMALL, LARGE / 2, LARGE, 2 * LARGE };

	for (unsigned int i = 0; i < 4; i++) {
		struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(to[i]);
		struct kmes_move m;

		fill(old, 5000);
		begin(&m, old, next);
		step_to_the_end(&m, old, next);
		assert_int_equal(m.copied, old->w.write_pos);
		copied.bytes = 0;
		assert_true(kmes_move_finish(&m, &next->w, &old->w, to[i]));
		assert_int_equal(copied.bytes, 0);
		assert_int_equal(next->w.tail_pos, 0);
		assert_moved(old, next);
		assert_continues(next);
		testring_free(old);
		testring_free(next);
	}
}

TEST(move_without_steps_copies_a_little_at_the_end)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(SMALL);
	struct kmes_move m;

	begin(&m, old, next);
	fill(old, 5000);
	assert_true(finish(&m, old, next));
	testring_free(old);
	testring_free(next);
}

/* The caller blocks the writer or keeps less: never is everything copied at once. */
TEST(move_that_falls_behind_asks_for_more_steps)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(LARGE);
	uint64_t events, start;
	struct kmes_move m;

	fill(old, 1000);
	begin(&m, old, next);
	fill(old, 5000);
	assert_false(finish(&m, old, next));
	assert_int_equal(next->w.write_pos, 0);
	assert_int_equal(next->w.sequence, 0);
	assert_int_equal(next->w.counts.emitted_events, 0);
	step_to_the_end(&m, old, next);
	assert_true(finish(&m, old, next));
	testring_free(next);

	next = fresh(LARGE);
	begin(&m, old, next);
	fill(old, 5000);
	assert_false(finish(&m, old, next));
	copied_reset();
	start = suffix_start(old, KMES_MOVE_REST, &events);
	assert_true(kmes_move_finish(&m, &next->w, &old->w, KMES_MOVE_REST));
	assert_between(copied.sizes, 0, 211);
	assert_between(copied.bytes, 0, 262144);
	assert_int_equal(next->w.tail_pos, 0);
	assert_int_equal(next->w.write_pos, old->w.write_pos - start);
	assert_int_equal(next->w.sequence, old->w.sequence);
	assert_counts_add_up(next, events);
	assert_continues(next);
	testring_free(old);
	testring_free(next);
}

TEST(move_of_an_empty_ring_keeps_its_sequence)
{
	struct testring *old = testring_new(SMALL, 0, 1), *next = fresh(LARGE);
	struct kmes_move m;

	kmes_ring_drop(&old->w);
	begin(&m, old, next);
	assert_int_equal(kmes_move_step(&m, &next->w, &old->w), 0);
	assert_true(kmes_move_finish(&m, &next->w, &old->w, LARGE));
	assert_int_equal(next->w.sequence, 1);
	assert_int_equal(next->w.write_pos, 0);
	assert_int_equal(testring_emit_size(next, 100), 2);
	testring_free(old);
	testring_free(next);
}

/* The old ring's sizes are corrupt: the same as the writer would do. [E13] */
TEST(move_out_of_a_corrupt_ring_gives_up_its_events)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(SMALL);
	struct kmes_move m;

	fill(old, 500);
	memset(old->data, 0, LARGE);
	begin(&m, old, next);
	assert_int_equal(kmes_move_step(&m, &next->w, &old->w), 0);
	assert_true(kmes_move_finish(&m, &next->w, &old->w, SMALL));
	assert_int_equal(next->w.tail_pos, next->w.write_pos);
	assert_int_equal(next->w.counts.corrupt_resyncs, 1);
	assert_int_equal(next->w.counts.overwritten_events, 500);
	assert_int_equal(testring_emit_size(next, 100), 501);
	testring_free(old);
	testring_free(next);
}

/* Sizes that were corrupt only at the beginning: what was not copied is not kept. */
TEST(move_begun_in_a_corrupt_ring_keeps_nothing_older)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(SMALL);
	unsigned char *sound = malloc(LARGE);
	struct kmes_move m;

	assert_non_null(sound);
	fill(old, 5000);
	memcpy(sound, old->data, LARGE);
	memset(old->data, 0, LARGE);
	kmes_move_begin(&m, &old->w, SMALL);
	memcpy(old->data, sound, LARGE);
	assert_true(kmes_move_finish(&m, &next->w, &old->w, SMALL));
	assert_int_equal(next->w.tail_pos, next->w.write_pos);
	assert_int_equal(next->w.counts.corrupt_resyncs, 1);
	assert_int_equal(next->w.counts.overwritten_events, 5000);
	assert_int_equal(testring_emit_size(next, 100), 5001);
	free(sound);
	testring_free(old);
	testring_free(next);
}

/* Any mix of steps and events, up to a writer that laps the entire ring. [R9] [R10] */
TEST(move_beside_a_writer_keeps_the_newest_that_fit)
{
	static const uint32_t sizes[] = { SMALL, LARGE / 4, LARGE };
	unsigned int seed = 1, ends = 0, repeats = 0;

	for (int round = 0; round < 400; round++) {
		struct testring *old = testring_new(sizes[rand_r(&seed) % 3], 0, 1);
		struct testring *next = fresh(sizes[rand_r(&seed) % 3]);
		unsigned int steps = (unsigned int)rand_r(&seed) % 30;
		unsigned int pace = (unsigned int)rand_r(&seed) % 1500;
		struct kmes_move m;

		fill(old, (unsigned int)rand_r(&seed) % 4000);
		begin(&m, old, next);
		while (steps--) {
			kmes_move_step(&m, &next->w, &old->w);
			if (pace)
				fill(old, (unsigned int)rand_r(&seed) % pace);
		}
		if (finish(&m, old, next)) {
			ends++;
		} else {
			repeats++;
			step_to_the_end(&m, old, next);
			assert_true(finish(&m, old, next));
		}
		testring_free(old);
		testring_free(next);
	}
	assert_true(ends > 100);
	assert_true(repeats > 20);
}

/* A swap, or several in a row, of a full ring of the smallest events. */
TEST(move_after_move_reads_few_events)
{
	static const uint32_t sizes[] = { LARGE, SMALL, LARGE / 2, 4 * LARGE, LARGE / 8 };
	struct testring *old = fresh(4 * LARGE), *next;
	struct kmes_move m;

	for (unsigned int i = 0; i < 60000; i++)
		testring_emit_size(old, 78 + i % 2);
	for (unsigned int i = 0; i < 5; i++) {
		next = fresh(sizes[i]);
		begin(&m, old, next);
		step_to_the_end(&m, old, next);
		copied_reset();
		assert_true(kmes_move_finish(&m, &next->w, &old->w, sizes[i]));
		assert_between(copied.sizes, 0, 211);
		assert_int_equal(copied.bytes, 0);
		assert_moved(old, next);
		testring_free(old);
		old = next;
		for (unsigned int n = 0; n < 3000; n++)
			testring_emit_size(old, 78 + n % 5);
	}
	assert_continues(old);
	testring_free(old);
}
