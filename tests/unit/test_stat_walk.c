// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A walk over corrupt rings: an error that names the CPU. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/kmes-stat/walk.h"
#include "testsource.h"
#include "unit.h"

#define K64 65536

static struct testsource *ts;
static struct stat_walk walk;
static struct stat_ring_state state_now;
static struct kmes_error err;

static void setup(void)
{
	alarm(30); /* an endless loop ends the program */
	ts = testsource_new(1, K64);
	ts->tells_birth = true;
	assert_int_equal(stat_walk_open(&walk, &ts->src, 0, &err), 0);
}

static void teardown(void)
{
	stat_walk_close(&walk);
	testsource_free(ts);
}
EACH_TEST(setup, teardown);

static void put(uint64_t seq)
{
	struct testring_event event = { .seq = seq, .type = "t", .ts_ns = 1 };
	uint8_t buf[256];

	testring_put(ts->rings[0], buf, testring_build(&event, buf, sizeof(buf)));
}

static int walk_on(void)
{
	return stat_walk_on(&walk, &ts->src, NULL, &state_now, &err);
}

TEST(stat_walk_sequences_up_to_the_last_one_are_counted)
{
	put(UINT64_MAX - 3);
	put(UINT64_MAX);
	assert_int_equal(walk_on(), 0);
	assert_true(state_now.counted);
	assert_int_equal(state_now.events, 2);
	assert_int_equal(state_now.holes, 2);
	assert_int_equal(state_now.last_seq, UINT64_MAX);
}

TEST(stat_walk_sequence_that_falls_is_an_error)
{
	put(5);
	put(2);
	assert_int_equal(walk_on(), -EBADMSG);
	assert_string_equal(err.text, "cpu0: not an event at position 78");
	assert_false(state_now.counted);
	assert_int_equal(state_now.capacity, K64);
}

TEST(stat_walk_continues_once_a_corrupt_event_has_left_the_ring)
{
	struct testring *ring;

	put(5);
	put(2);
	assert_int_equal(walk_on(), -EBADMSG);
	ring = ts->rings[0];
	put(6);
	testring_set_positions(ring, ring->w.write_pos, 2 * 78);
	assert_int_equal(walk_on(), 0);
	assert_true(state_now.counted);
	assert_int_equal(state_now.events, 1);
	assert_int_equal(state_now.last_seq, 6);
}

TEST(stat_walk_sequence_that_falls_later_is_an_error)
{
	put(5);
	assert_int_equal(walk_on(), 0);
	put(5);
	assert_int_equal(walk_on(), -EBADMSG);
}

TEST(stat_walk_generation_without_a_ring_is_an_error)
{
	put(1);
	assert_int_equal(walk_on(), 0);
	ts->rings[0]->producer->generation = 7;
	assert_int_equal(walk_on(), -EPROTO);
	assert_string_equal(
		err.text, "cpu0: shows that it was replaced, but there is no other ring");
}
