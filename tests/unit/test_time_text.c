// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Dates of the Gregorian calendar, printed and read, for every day of years 0 to 9999. */
#include <string.h>

#include "print/time_text.h"
#include "unit.h"

#define DAY 86400

static bool is_date(const char *text, bool is_basic)
{
	const char *s = text;
	struct kmes_date date;

	return kmesp_scan_date(&s, NULL, is_basic, &date) && !*s;
}

TEST(time_text_reads_each_day_that_it_prints)
{
	int64_t day;

	for (day = KMES_ISO_SECOND_MIN / DAY; day <= KMES_ISO_SECOND_MAX / DAY; day++) {
		char text[40];
		const char *s = text, *end = text + 10;
		struct kmes_date date;

		*kmesp_put_time_iso(text, day * DAY, 0) = '\0';
		if (!kmesp_scan_date(&s, end, false, &date) || s != end ||
		    kmesp_date_days(&date) != day)
			fail_msg("day %lld: %s", (long long)day, text);
	}
}

TEST(time_text_counts_days_from_1970)
{
	static const struct {
		struct kmes_date date;
		int64_t days;
	} cases[] = {
		{ { 1970, 1, 1 }, 0 },	       { { 1969, 12, 31 }, -1 },
		{ { 2000, 2, 29 }, 11016 },    { { 2000, 3, 1 }, 11017 },
		{ { 2026, 11, 29 }, 20786 },   { { 0, 1, 1 }, -719528 },
		{ { 9999, 12, 31 }, 2932896 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(kmesp_date_days(&cases[i].date), cases[i].days);
}

TEST(time_text_refuses_days_that_do_not_exist)
{
	assert_true(is_date("2024-02-29", false));
	assert_true(is_date("20240229", true));
	assert_true(is_date("0000-02-29", false));
	assert_false(is_date("2023-02-29", false));
	assert_false(is_date("1900-02-29", false));
	assert_false(is_date("2024-04-31", false));
	assert_false(is_date("2024-00-10", false));
	assert_false(is_date("2024-13-10", false));
	assert_false(is_date("2024-12-00", false));
	assert_false(is_date("2024-12-32", false));
	assert_false(is_date("2024-1-01", false));
	assert_false(is_date("2024-0101", false));
	assert_false(is_date("2024-01-01", true));
}
