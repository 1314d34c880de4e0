// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Parsing numbers, and comparing integers with floats without rounding. */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "filter/number.h"
#include "unit.h"

static struct kmes_number parsed(const char *text)
{
	struct kmes_number number;

	if (kmesp_number_parse(&number, text))
		fail_msg("'%s' is refused", text);
	return number;
}

static struct kmes_number real(double d)
{
	return (struct kmes_number){ .kind = KMES_NUMBER_REAL, .d = d };
}

TEST(number_kind_follows_from_the_notation)
{
	assert_int_equal(parsed("0").kind, KMES_NUMBER_UNSIGNED);
	assert_int_equal(parsed("-0").kind, KMES_NUMBER_UNSIGNED);
	assert_int_equal(parsed("010").u, 10);
	assert_int_equal(parsed("18446744073709551615").u, UINT64_MAX);
	assert_int_equal(parsed("-1").kind, KMES_NUMBER_NEGATIVE);
	assert_int_equal(parsed("-9223372036854775808").i, INT64_MIN);
	assert_int_equal(parsed("1.0").kind, KMES_NUMBER_REAL);
	assert_int_equal(parsed("1e3").kind, KMES_NUMBER_REAL);
	assert_true(parsed("-2.5e-1").d == -0.25);
	assert_true(parsed("1E+2").d == 100.0);
	/* Beyond both integer types: the nearest double. */
	assert_true(parsed("18446744073709551616").d == 18446744073709551616.0);
	assert_true(parsed("-9223372036854775809").d == -9223372036854775808.0);
}

TEST(number_malformed_is_refused)
{
	static const char *const texts[] = {
		"",    "-",   "+1",  " 1",    "1 ",   "0x10",	  "1.",
		".5",  "1e",  "1e+", "1.e2",  "nan",  "inf",	  "-inf",
		"1,5", "--1", "1_0", "1e1.5", "five", "\xd9\xa1",
	};
	struct kmes_number number;
	size_t i;

	for (i = 0; i < COUNT(texts); i++)
		if (kmesp_number_parse(&number, texts[i]) != -EINVAL)
			fail_msg("'%s' is accepted", texts[i]);
	assert_int_equal(kmesp_number_parse(&number, "1e400"), -ERANGE);
	assert_int_equal(kmesp_number_parse(&number, "-1e400"), -ERANGE);
}

TEST(number_does_not_depend_on_the_locale)
{
	/* If this locale is not installed the test runs in the C locale. */
	setlocale(LC_ALL, "de_DE.UTF-8");
	assert_true(parsed("2.5").d == 2.5);
	setlocale(LC_ALL, "C");
}

/* Ascending; the doubles next to 2^53, 2^63, 2^64 are exact. */
TEST(number_order_is_exact_across_kinds)
{
	const struct kmes_number ladder[] = {
		real(-1e300),
		real(-9223372036854777856.0),
		parsed("-9223372036854775808"),
		parsed("-9223372036854775807"),
		real(-9007199254740994.0),
		parsed("-9007199254740993"),
		real(-9007199254740992.0),
		real(-1.5),
		parsed("-1"),
		real(-0.5),
		parsed("0"),
		real(4.9e-324),
		parsed("1"),
		real(1.5),
		parsed("2"),
		real(9007199254740992.0),
		parsed("9007199254740993"),
		real(9007199254740994.0),
		parsed("9223372036854775807"),
		real(9223372036854775808.0),
		parsed("9223372036854775809"),
		parsed("18446744073709551615"),
		real(18446744073709551616.0),
		real(1e300),
	};
	size_t i, j;

	for (i = 0; i < COUNT(ladder); i++)
		for (j = 0; j < COUNT(ladder); j++)
			if (kmesp_number_compare(&ladder[i], &ladder[j]) !=
			    (i > j) - (i < j))
				fail_msg("rungs %zu and %zu", i, j);
}

TEST(number_equal_values_are_equal_across_kinds)
{
	struct kmes_number u = parsed("9223372036854775808"),
			   r = parsed("9223372036854775808.0");

	assert_int_equal(kmesp_number_compare(&u, &r), 0);
	assert_int_equal(kmesp_number_compare(&r, &u), 0);
	u = parsed("-9223372036854775808");
	r = real(-9223372036854775808.0);
	assert_int_equal(kmesp_number_compare(&u, &r), 0);
	u = parsed("0");
	r = real(-0.0);
	assert_int_equal(kmesp_number_compare(&u, &r), 0);
}

TEST(number_nan_is_unordered)
{
	struct kmes_mp_token tok = { .type = KMES_MP_FLOAT64,
				     .value.u = 0x7ff8000000000000 };
	struct kmes_number others[] = { parsed("1"), parsed("-1"), real(1.0) };
	struct kmes_number nan;
	size_t i;

	assert_true(kmesp_number_from_token(&nan, &tok));
	for (i = 0; i < COUNT(others); i++) {
		assert_int_equal(kmesp_number_compare(&nan, &others[i]),
				 KMES_NUMBER_UNORDERED);
		assert_int_equal(kmesp_number_compare(&others[i], &nan),
				 KMES_NUMBER_UNORDERED);
	}
	assert_int_equal(kmesp_number_compare(&nan, &nan), KMES_NUMBER_UNORDERED);
}

TEST(number_is_read_from_tokens)
{
	struct kmes_mp_token tok = { .type = KMES_MP_FLOAT32, .value.u = 0xbfc00000 };
	struct kmes_number number;

	assert_true(kmesp_number_from_token(&number, &tok));
	assert_true(number.d == -1.5);
	tok = (struct kmes_mp_token){ .type = KMES_MP_INT, .value.i = -7 };
	assert_true(kmesp_number_from_token(&number, &tok));
	assert_int_equal(number.i, -7);
	tok = (struct kmes_mp_token){ .type = KMES_MP_STR,
				      .len = 1,
				      .data = (const __u8 *)"1" };
	assert_false(kmesp_number_from_token(&number, &tok));
	tok = (struct kmes_mp_token){ .type = KMES_MP_BOOL, .value.u = 1 };
	assert_false(kmesp_number_from_token(&number, &tok));
}
