// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Times for --since and --until: each form, bounds, time zones, resolving the date. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cli/when.h"
#include "unit.h"

#define SECOND 1000000000ull

/* 2026-11-29T20:21:22.123456789Z */
#define NOW 1795983682123456789ull

/* UTC+1, in summer UTC+2, without the system's files. */
#define TZ_BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static struct kmes_when parsed(const char *text, bool local)
{
	struct kmes_when when;
	const char *why;

	if (kmesp_when_parse(&when, text, NOW, local, &why))
		fail_msg("'%s' is refused: %s", text, why);
	return when;
}

static uint64_t absolute(const char *text)
{
	struct kmes_when when = parsed(text, false);

	assert_int_equal(when.kind, KMES_WHEN_ABSOLUTE);
	return when.ns;
}

TEST(when_iso_forms_mean_the_same_instant)
{
	static const char *const texts[] = {
		"2026-11-29T20:21:22.123456789Z",   "2026-11-29 20:21:22.123456789",
		"2026-11-29T20:21:22,123456789",    "2026-11-29t21:21:22.123456789+01:00",
		"2026-11-29T21:21:22.123456789+01", "2026-11-29T14:51:22.123456789-0530",
		"20261129T202122.123456789z",
	};
	size_t i;

	for (i = 0; i < COUNT(texts); i++)
		assert_int_equal(absolute(texts[i]), NOW);
}

TEST(when_omitted_parts_are_zero)
{
	assert_int_equal(absolute("2026-11-29T20:21:22Z"), 1795983682 * SECOND);
	assert_int_equal(absolute("2026-11-29T20:21Z"), 1795983660 * SECOND);
	assert_int_equal(absolute("20261129T2021"), 1795983660 * SECOND);
	assert_int_equal(absolute("2026-11-29"), 1795910400 * SECOND);
	assert_int_equal(absolute("2026-11-29T20:21:22.5"),
			 1795983682 * SECOND + SECOND / 2);
	assert_int_equal(absolute("1970-01-01"), 0);
	assert_int_equal(absolute("2024-02-29"), 1709164800 * SECOND);
}

TEST(when_epoch_and_nanoseconds_are_exact)
{
	assert_int_equal(absolute("@1795983682.123456789"), NOW);
	assert_int_equal(absolute("1795983682.123456789"), NOW);
	assert_int_equal(absolute("1795983682123456789"), NOW);
	assert_int_equal(absolute("@0"), 0);
	assert_int_equal(absolute("0.000000010"), 10);
	assert_int_equal(absolute("@1.5"), 1500000000);
	/* The last representable timestamp. */
	assert_int_equal(absolute("@18446744073.709551615"), UINT64_MAX);
	assert_int_equal(absolute("18446744073709551615"), UINT64_MAX);
	assert_int_equal(absolute("2554-07-21T23:34:33.709551615Z"), UINT64_MAX);
}

TEST(when_age_counts_back_from_now)
{
	assert_int_equal(absolute("10m"), NOW - 600 * SECOND);
	assert_int_equal(absolute("1.5s"), NOW - 1500000000);
	assert_int_equal(absolute("20ms"), NOW - 20000000);
	assert_int_equal(absolute("2d"), NOW - 172800 * SECOND);
	assert_int_equal(absolute("30"), NOW - 30 * SECOND);
	assert_int_equal(absolute("0s"), NOW);
	/* Before the epoch: unbounded. */
	assert_int_equal(absolute("100000d"), 0);
}

TEST(when_malformed_is_refused)
{
	static const char *const texts[] = {
		"",
		" ",
		"now",
		"none",
		"inf",
		"-1",
		"+5m",
		"10x",
		"1e3",
		"0x10",
		"@",
		"@-1",
		"@1.",
		"@1.1234567890",
		"@99999999999",
		"@123456789012",
		"24:00",
		"23:60",
		"23:59:60",
		"1:00",
		"001:00",
		"12:00:00.",
		"12:00:00.1234567890",
		"12:00 ",
		"12:00+",
		"12:00+1",
		"12:00+01:0",
		"12:00+01:60",
		"2026-13-01",
		"2026-00-01",
		"2026-02-29",
		"2026-04-31",
		"2026-11-29T",
		"2026-11-29T1",
		"2026-11-29T25:00",
		"2026-11-29x",
		"2026-11-29T10:00Zz",
		"1969-12-31",
		"2555-01-01",
		"2554-07-21T23:34:33.709551616Z",
		"2554-07-21T23:34:33.709551Z", /* the entire microsecond */
		"@18446744073.709551616",
		"@18446744074",
		"26-11-29",
		"2026-11-29T10:00:00+24:00",
		"1795983682",
		"20261129",
		"99999999999999999999",
		"1795983682.12345678",
		"20261129T",
		"20261129T20:21",
		"2026-11-29T2021",
	};
	struct kmes_when when;
	const char *why;
	size_t i;

	for (i = 0; i < COUNT(texts); i++) {
		why = NULL;
		if (kmesp_when_parse(&when, texts[i], NOW, false, &why) != -EINVAL)
			fail_msg("'%s' is accepted", texts[i]);
		assert_non_null(why);
	}
}

TEST(when_clock_is_the_latest_not_after_now)
{
	struct kmes_when when = parsed("20:21:22.123456", false);

	assert_int_equal(when.kind, KMES_WHEN_CLOCK);
	assert_int_equal(kmesp_when_before(&when, NOW), NOW - 789);
	when = parsed("20:21:22.123457", false);
	assert_int_equal(kmesp_when_before(&when, NOW), NOW - 789 + 1000 - KMES_DAY_NS);
	when = parsed("00:00", false);
	assert_int_equal(kmesp_when_before(&when, NOW), 1795910400 * SECOND);
	when = parsed("20:22", false);
	assert_int_equal(kmesp_when_before(&when, NOW), (1795983720 - 86400) * SECOND);
	/* 22:21 at UTC+2 is 20:21 UTC; 01:00 there is the evening before. */
	when = parsed("22:21+02:00", false);
	assert_int_equal(kmesp_when_before(&when, NOW), 1795983660 * SECOND);
	when = parsed("01:00+02:00", false);
	assert_int_equal(kmesp_when_before(&when, NOW), (1795910400 - 3600) * SECOND);
}

TEST(when_clock_is_the_first_after_the_start)
{
	struct kmes_when when = parsed("20:22", false);

	assert_int_equal(kmesp_when_after(&when, NOW), 1795983720 * SECOND);
	when = parsed("20:21", false);
	assert_int_equal(kmesp_when_after(&when, NOW), (1795983660 + 86400) * SECOND);
	assert_int_equal(kmesp_when_after(&when, 1795983660 * SECOND),
			 1795983660 * SECOND);
	/* The first event's own time as printed, truncated to microseconds. */
	when = parsed("20:21:22.123456", false);
	assert_int_equal(kmesp_when_after(&when, NOW), NOW - 789);
	assert_int_equal(when.unit_ns, 1000);
	when = parsed("20:21:22.123455", false);
	assert_int_equal(kmesp_when_after(&when, NOW), NOW - 1789 + KMES_DAY_NS);
}

TEST(when_local_times_follow_the_zone)
{
	struct kmes_when when;

	set_zone(TZ_BERLIN);
	assert_int_equal(parsed("2026-11-29T21:21:22", true).ns, 1795983682 * SECOND);
	assert_int_equal(parsed("2026-07-01T12:00", true).ns, 1782900000 * SECOND);
	/* Times with a zone are not shifted, nor is anything without `local`. */
	assert_int_equal(parsed("2026-11-29T20:21:22Z", true).ns, 1795983682 * SECOND);
	assert_int_equal(parsed("2026-11-29T20:21:22", false).ns, 1795983682 * SECOND);
	assert_int_equal(parsed("@1795983682", true).ns, 1795983682 * SECOND);

	when = parsed("21:21", true);
	assert_int_equal(kmesp_when_before(&when, NOW), 1795983660 * SECOND);
	when = parsed("21:22", true);
	assert_int_equal(kmesp_when_before(&when, NOW), (1795983720 - 86400) * SECOND);
	assert_int_equal(kmesp_when_after(&when, NOW), 1795983720 * SECOND);
	/* Midnight there is 23:00 UTC of the day before. */
	when = parsed("00:00", true);
	assert_int_equal(kmesp_when_before(&when, NOW), (1795910400 - 3600) * SECOND);
	assert_int_equal(kmesp_when_after(&when, NOW), (1795996800 - 3600) * SECOND);
	set_zone("UTC0");
}

TEST(when_local_day_of_a_clock_change_is_found)
{
	/* 2026-10-25T12:00 CET; clocks went back at 03:00 CEST. */
	uint64_t noon = 1792926000 * SECOND;
	struct kmes_when when;

	set_zone(TZ_BERLIN);
	when = parsed("12:00", true);
	assert_int_equal(kmesp_when_before(&when, noon), noon);
	assert_int_equal(kmesp_when_before(&when, noon - 1), noon - 25 * 3600 * SECOND);
	assert_int_equal(kmesp_when_after(&when, noon - 24 * 3600 * SECOND), noon);
	set_zone("UTC0");
}
