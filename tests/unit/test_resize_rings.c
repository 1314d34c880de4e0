/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Counting in rings that no sound writer leaves behind ends, with an error. */
#include <errno.h>
#include <unistd.h>

#include "src/kmes-resize/resize.h"
#include "testsource.h"
#include "unit.h"

#define K64 65536

static struct testsource *ts;
static struct resize_rings rings;
static struct kmes_error err;

static int setup(void **state)
{
	(void)state;
	alarm(30); /* an endless loop ends the program */
	ts = testsource_new(1, K64);
	assert_int_equal(resize_attach(&rings, &ts->src, &err), 0);
	testring_emit(ts->rings[0], 1, "t", "\x80", 1);
	testring_emit(ts->rings[0], 2, "t", "\x80", 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	resize_detach(&rings);
	testsource_free(ts);
	return 0;
}

static void resize_rings_counts_what_fits(void **state)
{
	(void)state;
	assert_int_equal(resize_count(&rings, 100, &err), 0);
	assert_int_equal(rings.ring[0].before, 2);
	assert_int_equal(rings.ring[0].kept, 1);
}

static void resize_rings_too_few_bytes_for_an_event_are_an_error(void **state)
{
	uint64_t end = ts->rings[0]->producer->write_pos;
	uint64_t left;

	(void)state;
	for (left = 1; left < 77; left++) {
		testring_set_positions(ts->rings[0], end, end - left);
		assert_int_equal(resize_count(&rings, K64, &err), -EPROTO);
		assert_string_equal(err.text, "cpu0: holds something that is no event");
	}
}

int main(void)
{
#define RINGS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		RINGS_TEST(resize_rings_counts_what_fits),
		RINGS_TEST(resize_rings_too_few_bytes_for_an_event_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
