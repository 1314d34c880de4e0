// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A walk over a mapped ring visits each event once, even while a writer is active. */
#include <errno.h>
#include <unistd.h>

#include "ring_walk.h"
#include "testring.h"
#include "unit.h"

static struct testring *ring;
static struct kmes_ring_walk walk;
static struct kmes_event event;

static void begin(uint64_t capacity)
{
	struct kmes_ring_view view;

	alarm(30); /* an endless loop ends the program */
	ring = testring_new(capacity, 0, 1);
	view = testring_view(ring);
	kmesp_ring_walk_start(&walk, &view);
}

static void end(void)
{
	kmesp_ring_walk_free(&walk);
	testring_free(ring);
}
EACH_TEST(NULL, end);

static int next(void)
{
	return kmesp_ring_walk_next(&walk, ring->w.write_pos, &event);
}

TEST(ring_walk_visits_each_event_once_and_resumes_later)
{
	uint64_t seq;

	begin(4096);
	assert_int_equal(next(), 0);
	for (int round = 0; round < 100; round++) {
		testring_emit_size(ring, 100);
		seq = testring_emit_size(ring, 300);
		assert_int_equal(next(), 1);
		assert_int_equal(event.seq, seq - 1);
		assert_int_equal(next(), 1);
		assert_int_equal(event.seq, seq);
		assert_int_equal(event.size, 300);
		assert_int_equal(next(), 0);
	}
	assert_int_equal(walk.pos, ring->w.write_pos);
}

TEST(ring_walk_stops_at_the_given_end)
{
	uint64_t stop;

	begin(4096);
	testring_emit_size(ring, 100);
	stop = ring->w.write_pos;
	testring_emit_size(ring, 100);
	assert_int_equal(kmesp_ring_walk_next(&walk, stop, &event), 1);
	assert_int_equal(kmesp_ring_walk_next(&walk, stop, &event), 0);
	assert_int_equal(walk.pos, stop);
	assert_int_equal(next(), 1);
	assert_int_equal(event.seq, 2);
}

TEST(ring_walk_has_room_for_an_event_larger_than_a_span)
{
	begin(1u << 20);
	testring_emit_size(ring, 100);
	testring_emit_size(ring, KMES_SPAN_SIZE + 4096);
	testring_emit_size(ring, 100);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		assert_int_equal(next(), 1);
		assert_int_equal(event.seq, seq);
	}
	assert_int_equal(next(), 0);
}

TEST(ring_walk_reports_a_lap_and_resumes_at_the_oldest_event)
{
	begin(4096);
	testring_emit_size(ring, 100);
	assert_int_equal(next(), 1);
	for (int i = 0; i < 100; i++)
		testring_emit_size(ring, 1000);
	assert_int_equal(next(), -EAGAIN);
	assert_int_equal(walk.pos, ring->w.tail_pos);
	for (uint64_t seq = 98; seq <= 101; seq++) {
		assert_int_equal(next(), 1);
		assert_int_equal(event.seq, seq);
	}
	assert_int_equal(next(), 0);
}

TEST(ring_walk_of_positions_going_backwards_ends)
{
	uint64_t stop;

	begin(4096);
	testring_emit_size(ring, 100);
	testring_emit_size(ring, 100);
	stop = ring->w.write_pos;
	testring_set_positions(ring, 100, 0);
	assert_int_equal(kmesp_ring_walk_next(&walk, stop, &event), 1);
	assert_int_equal(kmesp_ring_walk_next(&walk, stop, &event), -EBADMSG);
}

TEST(ring_walk_of_an_event_that_reaches_past_the_end_is_an_error)
{
	begin(4096);
	testring_emit_size(ring, 200);
	for (uint64_t stop = 1; stop < 200; stop++)
		assert_int_equal(kmesp_ring_walk_next(&walk, stop, &event), -EBADMSG);
}
