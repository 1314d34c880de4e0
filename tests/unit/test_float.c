// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Floating-point numbers as text: literals, and the C library as reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/float.h"
#include "base/outbuf.h"
#include "unit.h"

static const char *text64(uint64_t bits)
{
	static char text[KMES_FLOAT_TEXT_MAX + 1];

	*kmesp_put_float64(text, bits) = 0;
	return text;
}

static const char *text_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return text64(bits);
}

static const char *text32(uint32_t bits)
{
	static char text[KMES_FLOAT_TEXT_MAX + 1];

	*kmesp_put_float32(text, bits) = 0;
	return text;
}

static const char *text_of_float(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return text32(bits);
}

TEST(float64_prints_the_fewest_digits)
{
	assert_string_equal(text_of(0.0), "0.0");
	assert_string_equal(text_of(-0.0), "-0.0");
	assert_string_equal(text_of(1.0), "1.0");
	assert_string_equal(text_of(-1.5), "-1.5");
	assert_string_equal(text_of(0.1), "0.1");
	assert_string_equal(text_of(0.3), "0.3");
	assert_string_equal(text_of(0.1 + 0.2), "0.30000000000000004");
	assert_string_equal(text_of(1.0 / 3), "0.3333333333333333");
	assert_string_equal(text_of(2.0 / 3), "0.6666666666666666");
	assert_string_equal(text_of(100.0), "100.0");
	assert_string_equal(text_of(123456.789), "123456.789");
	assert_string_equal(text_of(0.0001), "0.0001");
	assert_string_equal(text_of(0.00012345), "0.00012345");
	assert_string_equal(text_of(0.00001), "1e-5");
	assert_string_equal(text_of(1.25e-7), "1.25e-7");
	assert_string_equal(text_of(9007199254740991.0), "9007199254740991.0");
	assert_string_equal(text_of(9007199254740992.0), "9007199254740992.0");
	assert_string_equal(text_of(9007199254740993.0), "9007199254740992.0");
	assert_string_equal(text_of(1e15), "1000000000000000.0");
	assert_string_equal(text_of(1e16), "1e16");
	assert_string_equal(text_of(123456789012345680.0), "1.2345678901234568e17");
	assert_string_equal(text_of(1e22), "1e22");
	assert_string_equal(text_of(1e23), "1e23");
	assert_string_equal(text_of(9.5367431640625e-7),
			    "9.5367431640625e-7"); /* 2^-20 */
}

TEST(float64_prints_the_extremes)
{
	assert_string_equal(text64(0x0000000000000001), "5e-324");
	assert_string_equal(text64(0x000fffffffffffff), "2.225073858507201e-308");
	assert_string_equal(text64(0x0010000000000000), "2.2250738585072014e-308");
	assert_string_equal(text64(0x7fefffffffffffff), "1.7976931348623157e308");
	assert_string_equal(text64(0x7fe0000000000000), "8.98846567431158e307");
	assert_string_equal(text64(0x8000000000000001), "-5e-324");
	assert_string_equal(text64(0x7ff0000000000000), "inf");
	assert_string_equal(text64(0xfff0000000000000), "-inf");
	assert_string_equal(text64(0x7ff8000000000000), "nan");
	assert_string_equal(text64(0xfff0000000000001), "nan");
	assert_true(kmesp_float64_is_finite(0x7fefffffffffffff));
	assert_false(kmesp_float64_is_finite(0x7ff0000000000000));
	assert_false(kmesp_float64_is_finite(0xffffffffffffffff));
}

TEST(float32_prints_its_own_fewest_digits)
{
	assert_string_equal(text_of_float(0.1f), "0.1");
	assert_string_equal(text_of_float(3.14f), "3.14");
	assert_string_equal(text_of_float(16777216.0f), "16777216.0");
	assert_string_equal(text_of_float(3.4028235e38f), "3.4028235e38");
	assert_string_equal(text_of_float(1e-45f), "1e-45");
	assert_string_equal(text_of_float(1.1754944e-38f), "1.1754944e-38");
	assert_string_equal(text32(0x7fc00000), "nan");
	assert_string_equal(text32(0xff800000), "-inf");
	assert_string_equal(text32(0x80000000), "-0.0");
	assert_string_equal(text64(kmesp_float_widen(0x3dcccccd)), "0.10000000149011612");
	assert_string_equal(text64(kmesp_float_widen(0x7f800000)), "inf");
}

/* The digits of a text, without leading and trailing zeros, point and exponent. */
static unsigned int digits_in(const char *text)
{
	unsigned int count = 0, zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text == '0' && count)
			zeros++;
		if (*text < '1' || *text > '9')
			continue;
		count += zeros + 1;
		zeros = 0;
	}
	return count;
}

/* Round-trips; no shorter text does; none of this length is nearer. */
static void check64(uint64_t bits)
{
	const char *text = text64(bits);
	char fewer[40], same[40];
	unsigned int digits = digits_in(text);
	double v, back;

	memcpy(&v, &bits, sizeof(v));
	back = strtod(text, NULL);
	assert_memory_equal(&back, &v, sizeof(v));
	assert_between(digits, 1, 17);
	assert_non_null(strpbrk(text, ".e"));
	/* printf rounds to the nearest text of this many digits. */
	snprintf(same, sizeof(same), "%.*e", (int)digits - 1, v);
	if (strtod(same, NULL) == v) {
		long double ours = strtold(text, NULL), theirs = strtold(same, NULL);

		assert_true(ours == theirs);
	}
	if (digits > 1) {
		snprintf(fewer, sizeof(fewer), "%.*e", (int)digits - 2, v);
		assert_false(strtod(fewer, NULL) == v);
	}
}

static void check32(uint32_t bits)
{
	const char *text = text32(bits);
	unsigned int digits = digits_in(text);
	char fewer[40];
	float v, back;

	memcpy(&v, &bits, sizeof(v));
	back = strtof(text, NULL);
	assert_memory_equal(&back, &v, sizeof(v));
	assert_between(digits, 1, 9);
	if (digits > 1) {
		snprintf(fewer, sizeof(fewer), "%.*e", (int)digits - 2, v);
		assert_false(strtof(fewer, NULL) == v);
	}
}

static uint64_t rng(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

TEST(float_every_power_of_two_and_its_neighbours_round_trip)
{
	for (uint64_t exponent = 0; exponent < 2047; exponent++) {
		uint64_t bits = exponent << 52;

		if (bits)
			check64(bits);
		check64(bits + 1);
		check64(bits + 2);
		check64(bits | 0xfffffffffffff);
	}
	for (int bit = 0; bit < 52; bit++)
		check64(1ull << bit);
	for (uint32_t exponent = 0; exponent < 255; exponent++) {
		check32(exponent << 23 | 1);
		check32(exponent << 23 | 0x7fffff);
		if (exponent)
			check32(exponent << 23);
	}
}

TEST(float_random_bits_round_trip)
{
	for (int i = 0; i < 40000; i++) {
		uint64_t bits = rng();

		if (kmesp_float64_is_finite(bits) && bits << 1)
			check64(bits);
		/* and from 2^-100 to 2^100, where most numbers are */
		check64((bits & 0x800fffffffffffff) | (923 + rng() % 200) << 52);
	}
	for (int i = 0; i < 40000; i++) {
		uint32_t bits = rng() >> 32;

		if ((bits >> 23 & 0xff) != 0xff && bits << 1)
			check32(bits);
	}
}

/* At each power of ten and its neighbours, and for any number of bits. */
TEST(float_integers_print_all_digits)
{
	uint64_t power = 1;
	char ours[24], theirs[24];

	for (int i = 0; i < 20; i++, power *= 10) {
		for (int near = -1; near <= 1; near++) {
			*kmesp_put_u64(ours, power + near) = 0;
			snprintf(theirs, sizeof(theirs), "%llu",
				 (unsigned long long)power + near);
			assert_string_equal(ours, theirs);
			*kmesp_put_i64(ours, -(int64_t)(power / 2) - near) = 0;
			snprintf(theirs, sizeof(theirs), "%lld",
				 -(long long)(power / 2) - near);
			assert_string_equal(ours, theirs);
		}
	}
	for (int i = 0; i < 64000; i++) {
		uint64_t v = rng() >> i % 64;

		*kmesp_put_u64(ours, v) = 0;
		snprintf(theirs, sizeof(theirs), "%llu", (unsigned long long)v);
		assert_string_equal(ours, theirs);
	}
	*kmesp_put_i64(ours, INT64_MIN) = 0;
	assert_string_equal(ours, "-9223372036854775808");
}

/* Decimals of up to 15 digits are printed as written. */
TEST(float_short_decimals_print_as_written)
{
	for (int i = 0; i < 40000; i++) {
		char text[40];
		unsigned int decimals = 1 + rng() % 6;
		uint64_t whole = rng() % 1000000;

		snprintf(text, sizeof(text), "%llu.%0*llu", (unsigned long long)whole,
			 (int)decimals, (unsigned long long)rng() % 1000000);
		while (text[strlen(text) - 1] == '0')
			text[strlen(text) - 1] = 0;
		if (text[strlen(text) - 1] == '.')
			strcat(text, "0");
		if (strtod(text, NULL) >= 0.0001 || strcmp(text, "0.0") == 0)
			assert_string_equal(text_of(strtod(text, NULL)), text);
	}
}
