// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Option values: numbers, times, sizes, rates, CPU lists, and escaping. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "unit.h"

struct value_case {
	const char *text;
	int result;
	uint64_t value;
};

typedef int (*parse_fn)(uint64_t *value, const char *text);

static void check_values(parse_fn parse, const struct value_case *cases, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t value = 77;
		int result = parse(&value, cases[i].text);

		if (result != cases[i].result || (!result && value != cases[i].value))
			fail_msg("'%s': result %d, value %llu", cases[i].text, result,
				 (unsigned long long)value);
	}
}

#define NO 0 /* no value */

TEST(cli_number_is_exact_or_refused)
{
	static const struct value_case cases[] = {
		{ "0", 0, 0 },
		{ "7", 0, 7 },
		{ "010", 0, 10 },
		{ "0000000000000000000000000000000000000000000001", 0, 1 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, NO },
		{ "99999999999999999999999999", -ERANGE, NO },
		{ "99999999999999999999999999x", -EINVAL, NO },
		{ "", -EINVAL, NO },
		{ " 1", -EINVAL, NO },
		{ "1 ", -EINVAL, NO },
		{ "+1", -EINVAL, NO },
		{ "-1", -EINVAL, NO },
		{ "0x10", -EINVAL, NO },
		{ "1e3", -EINVAL, NO },
		{ "1.0", -EINVAL, NO },
		{ "none", -EINVAL, NO },
		{ "\xd9\xa3", -EINVAL, NO }, /* an Arabic-Indic three */
		{ "1\n", -EINVAL, NO },
	};

	check_values(cli_parse_number, cases, COUNT(cases));
}

TEST(cli_time_is_exact_or_refused)
{
	static const struct value_case cases[] = {
		{ "0", 0, 0 },
		{ "0.000", 0, 0 },
		{ "10", 0, 10000000000 },
		{ "010s", 0, 10000000000 },
		{ "1.5s", 0, 1500000000 },
		{ "20ms", 0, 20000000 },
		{ "1.000001ms", 0, 1000001 },
		{ "5m", 0, 300000000000 },
		{ "0.5m", 0, 30000000000 },
		{ "2h", 0, 7200000000000 },
		{ "1d", 0, 86400000000000 },
		{ "0.0001", 0, 100000 },
		{ "0.123456789", 0, 123456789 },
		/* never less than typed, and never rounded to 0 */
		{ "0.0000000001", 0, 1 },
		{ "1.0000000000", 0, 1000000000 },
		{ "1.0000000001", 0, 1000000001 },
		{ "0.00000000000000000000000000000000000000001d", 0, 1 },
		{ "0.50000000000000000000000000000000000000000", 0, 500000000 },
		{ "0.3333333333333333333333h", 0, 1200000000000 },
		{ "9223372036", 0, 9223372036000000000 },
		{ "9223372036.854775808", 0, UINT64_C(1) << 63 },
		{ "9223372036.854775809", -ERANGE, NO },
		{ "9223372036854.775808ms", 0, UINT64_C(1) << 63 },
		{ "106751d", 0, 9223286400000000000 },
		{ "106752d", -ERANGE, NO },
		{ "18446744073709551616", -ERANGE, NO },
		{ "18446744074", -ERANGE, NO },
		{ "213504d", -ERANGE, NO },
		{ "1e20", -EINVAL, NO },
		{ "inf", -EINVAL, NO },
		{ "infinity", -EINVAL, NO },
		{ "nan", -EINVAL, NO },
		{ "none", -EINVAL, NO },
		{ "-1", -EINVAL, NO },
		{ "+1", -EINVAL, NO },
		{ "5x", -EINVAL, NO },
		{ "", -EINVAL, NO },
		{ "s", -EINVAL, NO },
		{ ".5", -EINVAL, NO },
		{ "5.", -EINVAL, NO },
		{ "5.s", -EINVAL, NO },
		{ "1,5", -EINVAL, NO },
		{ "1.5.5", -EINVAL, NO },
		{ "1S", -EINVAL, NO },
		{ "1M", -EINVAL, NO },
		{ "1us", -EINVAL, NO },
		{ "1ns", -EINVAL, NO },
		{ "1min", -EINVAL, NO },
		{ "1 s", -EINVAL, NO },
		{ "1s ", -EINVAL, NO },
		{ "1h30m", -EINVAL, NO },
		{ "0x10", -EINVAL, NO },
	};

	check_values(cli_parse_time, cases, COUNT(cases));
}

TEST(cli_size_is_exact_or_refused)
{
	static const struct value_case cases[] = {
		{ "4M", 0, 4194304 },
		{ "4MiB", 0, 4194304 },
		{ "4096K", 0, 4194304 },
		{ "4m", 0, 4194304 },
		{ "4mIb", 0, 4194304 },
		{ "1g", 0, 1073741824 },
		{ "1GIB", 0, 1073741824 },
		{ "64kib", 0, 65536 },
		{ "65535", 0, 65535 },
		{ "65536", 0, 65536 },
		{ "268435456", 0, 268435456 },
		{ "268435457", 0, 268435457 },
		{ "010", 0, 10 },
		{ "0", 0, 0 },
		{ "0K", 0, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "17179869183G", 0, UINT64_C(17179869183) << 30 },
		{ "17179869184G", -ERANGE, NO },
		{ "17179869185G", -ERANGE, NO },
		{ "18446744073709551616", -ERANGE, NO },
		{ "1.5M", -EINVAL, NO },
		{ "-1", -EINVAL, NO },
		{ "+4M", -EINVAL, NO },
		{ "0x10000", -EINVAL, NO },
		{ "1e6", -EINVAL, NO },
		{ "", -EINVAL, NO },
		{ "M", -EINVAL, NO },
		{ "4kb", -EINVAL, NO },
		{ "4KB", -EINVAL, NO },
		{ "4Ki", -EINVAL, NO },
		{ "4KiBs", -EINVAL, NO },
		{ "4T", -EINVAL, NO },
		{ "4B", -EINVAL, NO },
		{ "4 M", -EINVAL, NO },
		{ "4M ", -EINVAL, NO },
		{ "64K,", -EINVAL, NO },
		{ "4\x0b", -EINVAL, NO }, /* 'K' without the bit that makes letters */
		{ "none", -EINVAL, NO },
		{ "inf", -EINVAL, NO },
	};

	check_values(cli_parse_size, cases, COUNT(cases));
}

TEST(cli_rate_is_exact_or_refused)
{
	static const struct value_case cases[] = {
		{ "100", 0, 100 },
		{ "100/s", 0, 100 },
		{ "0", 0, 0 },
		{ "18446744073709551615/s", 0, UINT64_MAX },
		{ "1/m", -EINVAL, NO },
		{ "1/", -EINVAL, NO },
		{ "/s", -EINVAL, NO },
		{ "1/s/s", -EINVAL, NO },
		{ "1.5/s", -EINVAL, NO },
		{ "-1", -EINVAL, NO },
		{ "", -EINVAL, NO },
		{ "18446744073709551616/s", -ERANGE, NO },
	};

	check_values(cli_parse_rate, cases, COUNT(cases));
}

TEST(cli_cpus_contain_what_was_listed)
{
	static const uint16_t in[] = { 0, 2, 3, 4, 5, 64, 65535 };
	struct cli_cpus *cpus = calloc(1, sizeof(*cpus));
	unsigned int cpu, found = 0;

	assert_non_null(cpus);
	assert_int_equal(cli_parse_cpus(cpus, "0,2-5,4"), 0);
	assert_int_equal(
		cli_parse_cpus(cpus, "64-64,00000000000000000000000000000000065535"), 0);
	assert_int_equal(cpus->count, 5);
	assert_int_equal(cpus->ranges[1].first, 2);
	assert_int_equal(cpus->ranges[1].last, 5);
	assert_int_equal(cpus->ranges[3].first, 64);
	assert_int_equal(cpus->ranges[3].last, 64);
	for (cpu = 0; cpu <= UINT16_MAX; cpu++)
		if (kmes_cpus_has(&cpus->set, (uint16_t)cpu)) {
			assert_true(found < COUNT(in));
			assert_int_equal(cpu, in[found++]);
		}
	assert_int_equal(found, COUNT(in));
	cli_cpus_fini(cpus);
	free(cpus);
}

TEST(cli_cpus_malformed_are_refused)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{ "", -EINVAL },
		{ ",", -EINVAL },
		{ "1,", -EINVAL },
		{ ",1", -EINVAL },
		{ "1,,2", -EINVAL },
		{ "-", -EINVAL },
		{ "-1", -EINVAL },
		{ "1-", -EINVAL },
		{ "5-2", -EINVAL },
		{ "1-2-3", -EINVAL },
		{ "3x", -EINVAL },
		{ "0x1", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "1, 2", -EINVAL },
		{ "1-+2", -EINVAL },
		{ "all", -EINVAL },
		{ "none", -EINVAL },
		{ "1--2", -EINVAL },
		{ "65536", -ERANGE },
		{ "0-65536", -ERANGE },
		{ "1.0", -EINVAL },
		{ "1;2", -EINVAL },
		{ "18446744073709551617", -ERANGE },
		{ "99999999999999999999999999999999999999999999", -ERANGE },
		{ "9999999999999999999999999999999999999999999x", -EINVAL },
	};
	struct cli_cpus *cpus = calloc(1, sizeof(*cpus));
	size_t i;

	assert_non_null(cpus);
	for (i = 0; i < COUNT(cases); i++) {
		int result = cli_parse_cpus(cpus, cases[i].text);

		if (result != cases[i].result)
			fail_msg("'%s': %d", cases[i].text, result);
		cli_cpus_fini(cpus);
	}
	free(cpus);
}

static void escape_is(const char *text, size_t len, const char *expected)
{
	char buf[256];

	assert_true(cli_escape(buf, sizeof(buf), text, len));
	assert_string_equal(buf, expected);
}

#define ESCAPE(literal, expected) escape_is(literal, sizeof(literal) - 1, expected)

TEST(cli_escape_leaves_no_terminal_control)
{
	ESCAPE("plain 'text' \\ of \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	       "plain 'text' \\ of \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	ESCAPE("\x1b[31m\a\b\0\n\r\t\x7f",
	       "\\x1b[31m\\x07\\x08\\x00\\x0a\\x0d\\x09\\x7f");
	ESCAPE("\xff\xc3(\xe2\x82", "\\xff\\xc3(\\xe2\\x82");
	ESCAPE("\xc2\x9b"
	       "1m",
	       "\\u009b1m"); /* CSI as one code point */
	ESCAPE("\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf\xd8\x9c\xe2\x80\x8b",
	       "\\u202e\\u2066\\ufeff\\u061c\\u200b");
	ESCAPE("\xf3\xa0\x81\x81", "\\U000e0041");
	ESCAPE("\xc2\xa0\xe2\x80\x8a\xe2\x80\x90", "\xc2\xa0\xe2\x80\x8a\xe2\x80\x90");
}

TEST(cli_escape_truncates_between_characters)
{
	char buf[8];

	assert_false(cli_escape(buf, 8, "abcd\x1bxyz", 8));
	assert_string_equal(buf, "abcd");
	assert_false(cli_escape(buf, 3, "\xe2\x82\xac", 3));
	assert_string_equal(buf, "");
	assert_true(cli_escape(buf, 4, "\xe2\x82\xac", 3));
	assert_string_equal(buf, "\xe2\x82\xac");
	assert_true(cli_escape(buf, 1, "", 0));
	assert_string_equal(buf, "");
}

TEST(cli_status_max_ranks_2_over_1_over_3_over_0)
{
	static const int cases[][3] = {
		{ 0, 0, 0 }, { 0, 3, 3 }, { 3, 1, 1 }, { 1, 2, 2 },	{ 2, 3, 2 },
		{ 0, 1, 1 }, { 0, 2, 2 }, { 3, 3, 3 }, { 0, 124, 124 },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		assert_int_equal(cli_status_max(cases[i][0], cases[i][1]), cases[i][2]);
		assert_int_equal(cli_status_max(cases[i][1], cases[i][0]), cases[i][2]);
	}
}
