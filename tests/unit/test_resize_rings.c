// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Counting events in corrupt rings ends, with an error. */
#include <errno.h>
#include <unistd.h>

#include "src/kmes-resize/resize.h"
#include "testsource.h"
#include "unit.h"

#define K64 65536

static struct testsource *ts;
static struct resize_rings rings;
static struct kmes_error err;

static void setup(void)
{
	alarm(30); /* an endless loop ends the program */
	ts = testsource_new(1, K64);
	assert_int_equal(resize_attach(&rings, &ts->src, &err), 0);
	testring_emit(ts->rings[0], 1, "t", "\x80", 1);
	testring_emit(ts->rings[0], 2, "t", "\x80", 1);
}

static void teardown(void)
{
	resize_detach(&rings);
	testsource_free(ts);
}
EACH_TEST(setup, teardown);

TEST(resize_rings_counts_what_fits)
{
	assert_int_equal(resize_count(&rings, 100, &err), 0);
	assert_int_equal(rings.ring[0].before, 2);
	assert_int_equal(rings.ring[0].kept, 1);
}

TEST(resize_rings_too_few_bytes_for_an_event_are_an_error)
{
	uint64_t end = ts->rings[0]->producer->write_pos;
	uint64_t left;

	for (left = 1; left < 77; left++) {
		testring_set_positions(ts->rings[0], end, end - left);
		assert_int_equal(resize_count(&rings, K64, &err), -EBADMSG);
		assert_memory_equal(err.text, "cpu0: not an event at position ", 31);
	}
}
