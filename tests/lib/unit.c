// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * main() of each unit test program: runs the registered tests in the order of their
 * lines.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

static struct unit_test *tests;
static size_t test_count;

struct unit_fixture unit_each, unit_all;

/* The compiler may reorder constructors. */
void unit_add(struct unit_test *test)
{
	struct unit_test **at = &tests;

	while (*at && (*at)->line < test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
	test_count++;
}

/* cmocka's form of a fixture. */
#define CALLER(which, when)                                                              \
	static int which##_##when(void **state)                                          \
	{                                                                                \
		(void)state;                                                             \
		which.when();                                                            \
		return 0;                                                                \
	}
CALLER(unit_each, before)
CALLER(unit_each, after)
CALLER(unit_all, before)
CALLER(unit_all, after)

int main(int argc, char **argv)
{
	struct CMUnitTest list[test_count ? test_count : 1];
	struct CMUnitTest *next = list;

	if (!test_count) {
		puts("1..0 # SKIP this build has none of these tests");
		return 0;
	}
	for (const struct unit_test *test = tests; test; test = test->next)
		*next++ = (struct CMUnitTest){
			.name = test->name,
			.test_func = test->run,
			.setup_func = unit_each.before ? unit_each_before : NULL,
			.teardown_func = unit_each.after ? unit_each_after : NULL,
		};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name(program_invocation_short_name, list,
					   unit_all.before ? unit_all_before : NULL,
					   unit_all.after ? unit_all_after : NULL);
}
