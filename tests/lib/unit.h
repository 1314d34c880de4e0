/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * unit.h - self-registering unit tests over cmocka, with the headers that cmocka needs.
 *
 * A program of tests/unit is one file of TEST(name) { ... }, which run in the order of
 * their lines; main() is in unit.c. `PROGRAM PATTERN` runs only the tests whose names
 * match.
 */
#ifndef KMES_TESTS_UNIT_H
#define KMES_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Needs the headers above. */
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Asserts min <= value <= max, all unsigned. cmocka 2 has a new name for it. */
#ifdef assert_uint_in_range
#define assert_between(value, min, max) assert_uint_in_range(value, min, max)
#else
#define assert_between(value, min, max) assert_in_range(value, min, max)
#endif

struct unit_test {
	const char *name;
	void (*run)(void **state);
	int line;
	struct unit_test *next;
};

void unit_add(struct unit_test *test);

#define TEST(name)                                                                       \
	static void name(void **);                                                       \
	static __attribute__((constructor)) void unit_add_##name(void)                   \
	{                                                                                \
		static struct unit_test test = { #name, name, __LINE__, NULL };          \
                                                                                         \
		unit_add(&test);                                                         \
	}                                                                                \
	static void name(__attribute__((unused)) void **unit_state)

/* Run around each test, or once around all tests; either may be NULL. */
struct unit_fixture {
	void (*before)(void);
	void (*after)(void);
};

extern struct unit_fixture unit_each, unit_all;

#define UNIT_FIXTURE(which, before, after)                                               \
	static __attribute__((constructor)) void which##_set(void)                       \
	{                                                                                \
		which = (struct unit_fixture){ before, after };                          \
	}                                                                                \
	static void which##_set(void)

#define EACH_TEST(before, after) UNIT_FIXTURE(unit_each, before, after)
#define ALL_TESTS(before, after) UNIT_FIXTURE(unit_all, before, after)

#endif
