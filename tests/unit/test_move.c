// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A ring's events moving into its successor while the writer goes on. */
#include <stdlib.h>
#include <string.h>

#include "kmes_move.h"
#include "testring.h"
#include "unit.h"

#define SMALL 65536u
#define LARGE 1048576u

/* What a move must have come to: all that a migration at the same moment comes to. */
static void assert_moved(const struct testring *old, const struct testring *next)
{
	struct testring *other = testring_successor(old, next->w.capacity);
	struct testring_walk walk = testring_walk(next), wanted = testring_walk(other);
	const struct kmes_ring_counts *c = &next->w.counts;

	assert_true(walk.is_sound);
	assert_true(walk.is_filled);
	assert_int_equal(walk.events, wanted.events);
	assert_int_equal(walk.first_seq, wanted.first_seq);
	assert_int_equal(walk.last_seq, wanted.last_seq);
	assert_int_equal(next->w.live_events, walk.events);
	assert_int_equal(next->w.sequence, old->w.sequence);
	assert_int_equal(c->emitted_events, walk.events + c->overwritten_events);
	assert_memory_equal(c, &other->w.counts, sizeof(*c));
	assert_int_equal(next->producer->write_pos, next->w.write_pos);
	assert_int_equal(next->producer->tail_pos, next->w.tail_pos);
	testring_free(other);
}

static struct testring *fresh(uint64_t capacity)
{
	return testring_new(capacity, 0, 2);
}

static void finish(struct kmes_move *m, struct testring *old, struct testring *next)
{
	kmes_move_finish(m, &next->w, &old->w);
	assert_moved(old, next);
	/* And it goes on from there. */
	assert_int_equal(testring_emit_size(next, 200), old->w.sequence + 1);
	assert_true(testring_walk(next).is_sound);
}

static void fill(struct testring *ring, unsigned int events)
{
	for (unsigned int i = 0; i < events; i++)
		testring_emit_size(ring, 100 + i % 700);
}

/* [R9] [R10] */
static void move_of_a_quiet_ring_starts_at_0(void **state)
{
	static const uint32_t to[] = { SMALL, LARGE / 2, LARGE, 2 * LARGE };

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(to[i]);
		struct kmes_ring_view view = testring_view(old);
		struct kmes_move m;

		fill(old, 5000);
		kmes_move_begin(&m, &old->w);
		while (kmes_move_step(&m, &next->w, &view))
			;
		assert_int_equal(m.copied, old->w.write_pos);
		kmes_move_finish(&m, &next->w, &old->w);
		assert_int_equal(next->w.tail_pos, 0);
		assert_moved(old, next);
		testring_free(old);
		testring_free(next);
	}
}

static void move_without_steps_copies_all_at_the_end(void **state)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(SMALL);
	struct kmes_move m;

	(void)state;
	kmes_move_begin(&m, &old->w);
	fill(old, 5000);
	finish(&m, old, next);
	testring_free(old);
	testring_free(next);
}

static void move_of_an_empty_ring_keeps_its_sequence(void **state)
{
	struct testring *old = testring_new(SMALL, 0, 1), *next = fresh(LARGE);
	struct kmes_ring_view view = testring_view(old);
	struct kmes_move m;

	(void)state;
	kmes_ring_drop(&old->w);
	kmes_move_begin(&m, &old->w);
	assert_int_equal(kmes_move_step(&m, &next->w, &view), 0);
	kmes_move_finish(&m, &next->w, &old->w);
	assert_int_equal(next->w.sequence, 1);
	assert_int_equal(next->w.write_pos, 0);
	assert_int_equal(testring_emit_size(next, 100), 2);
	testring_free(old);
	testring_free(next);
}

/* The old ring's sizes cannot be believed: what the writer would do. [E13] */
static void move_out_of_a_corrupt_ring_gives_up_its_events(void **state)
{
	struct testring *old = testring_new(LARGE, 0, 1), *next = fresh(SMALL);
	struct kmes_ring_view view = testring_view(old);
	struct kmes_move m;

	(void)state;
	fill(old, 500);
	memset(old->data, 0, LARGE);
	kmes_move_begin(&m, &old->w);
	assert_int_equal(kmes_move_step(&m, &next->w, &view), 0);
	kmes_move_finish(&m, &next->w, &old->w);
	assert_int_equal(next->w.live_events, 0);
	assert_int_equal(next->w.tail_pos, next->w.write_pos);
	assert_int_equal(next->w.counts.corrupt_resyncs, 1);
	assert_int_equal(next->w.counts.overwritten_events, 500);
	assert_int_equal(testring_emit_size(next, 100), 501);
	testring_free(old);
	testring_free(next);
}

/* Any mixture of steps and events, up to a writer that laps the whole ring. [R9] [R10] */
static void move_beside_a_writer_keeps_what_a_migration_keeps(void **state)
{
	static const uint32_t sizes[] = { SMALL, LARGE / 4, LARGE };
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct testring *old = testring_new(sizes[rand_r(&seed) % 3], 0, 1);
		struct testring *next = fresh(sizes[rand_r(&seed) % 3]);
		struct kmes_ring_view view = testring_view(old);
		unsigned int steps = (unsigned int)rand_r(&seed) % 30;
		unsigned int pace = (unsigned int)rand_r(&seed) % 400;
		struct kmes_move m;

		fill(old, (unsigned int)rand_r(&seed) % 4000);
		kmes_move_begin(&m, &old->w);
		while (steps--) {
			kmes_move_step(&m, &next->w, &view);
			if (pace)
				fill(old, (unsigned int)rand_r(&seed) % pace);
		}
		finish(&m, old, next);
		testring_free(old);
		testring_free(next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(move_of_a_quiet_ring_starts_at_0),
		cmocka_unit_test(move_without_steps_copies_all_at_the_end),
		cmocka_unit_test(move_of_an_empty_ring_keeps_its_sequence),
		cmocka_unit_test(move_out_of_a_corrupt_ring_gives_up_its_events),
		cmocka_unit_test(move_beside_a_writer_keeps_what_a_migration_keeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
