// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Digits from bounded and from terminated text, the heap, and conversions of time. */
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/scan.h"
#include "unit.h"

TEST(scan_number_reads_digits_up_to_the_end)
{
	static const struct {
		const char *text;
		int len; /* -1: up to the NUL byte */
		int result;
		uint64_t number;
		int taken;
	} cases[] = {
		{ "12x", -1, 0, 12, 2 },
		{ "1234", 2, 0, 12, 2 },
		{ "", -1, -EINVAL, 0, 0 },
		{ "7", 0, -EINVAL, 0, 0 },
		{ "-1", -1, -EINVAL, 0, 0 },
		{ "18446744073709551615", -1, 0, UINT64_MAX, 20 },
		{ "18446744073709551616,", -1, -ERANGE, 0, 20 },
		{ "99999999999999999999999", -1, -ERANGE, 0, 23 },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		const char *text = cases[i].text, *s = text;
		const char *end = cases[i].len < 0 ? NULL : text + cases[i].len;
		uint64_t number = 0;
		int result = kmesp_scan_number(&s, end, &number);

		if (result != cases[i].result || s - text != cases[i].taken ||
		    (!result && number != cases[i].number))
			fail_msg("'%s': %d, %llu, %d bytes", text, result,
				 (unsigned long long)number, (int)(s - text));
	}
}

TEST(scan_digits_requires_an_exact_count_and_range)
{
	static const struct {
		const char *text;
		int count, min, max, number; /* -1: refused */
	} cases[] = {
		{ "0712", 2, 1, 12, 7 },      { "13", 2, 1, 12, -1 },
		{ "00", 2, 1, 12, -1 },	      { "7", 2, 0, 99, -1 },
		{ "7a", 2, 0, 99, -1 },	      { "12", 2, 1, 12, 12 },
		{ "9999", 4, 0, 9999, 9999 },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		const char *s = cases[i].text;
		int number;
		bool is_read = kmesp_scan_digits(&s, NULL, cases[i].count, cases[i].min,
						 cases[i].max, &number);

		if (is_read != (cases[i].number >= 0) ||
		    (is_read && number != cases[i].number))
			fail_msg("'%s': %d, %d", cases[i].text, is_read, number);
	}
}

TEST(scan_billionths_takes_one_to_nine_digits)
{
	static const struct {
		const char *text;
		size_t count;
		uint32_t billionths;
	} cases[] = {
		{ "5", 1, 500000000 },
		{ "000000001", 9, 1 },
		{ "123456Z", 6, 123456000 },
		{ "1234567890", 0, 0 },
		{ "Z", 0, 0 },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		const char *s = cases[i].text;
		uint32_t billionths = 0;
		size_t count = kmesp_scan_billionths(&s, NULL, &billionths);

		if (count != cases[i].count || (size_t)(s - cases[i].text) != count ||
		    (count && billionths != cases[i].billionths))
			fail_msg("'%s': %zu, %u", cases[i].text, count, billionths);
	}
}

TEST(scan_finds_a_number_at_the_start_of_text)
{
	assert_int_equal(kmesp_leading_number("4096\n"), 4096);
	assert_int_equal(kmesp_leading_number("\t 17 kB"), 17);
	assert_int_equal(kmesp_leading_number("max\n"), 0);
	assert_int_equal(kmesp_leading_number("99999999999999999999"), 0);
}

TEST(hex_digits_are_recognized)
{
	static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";
	int c, found = 0;

	for (c = 0; c < 16; c++) {
		assert_int_equal(kmesp_hex_digit(digits[c]), c);
		assert_int_equal(kmesp_hex_digit(capitals[c]), c);
	}
	for (c = 0; c < 256; c++)
		found += kmesp_hex_digit((char)c) >= 0;
	assert_int_equal(found, 22);
}

TEST(timespec_and_nanoseconds_convert_both_ways)
{
	struct timespec ts = kmesp_timespec(1500000001);

	assert_int_equal(ts.tv_sec, 1);
	assert_int_equal(ts.tv_nsec, 500000001);
	assert_int_equal(kmesp_timespec_ns(&ts), 1500000001);
	assert_true(kmesp_clock_ns(CLOCK_REALTIME) > 1500000000 * KMES_NS_PER_S);
}

/* A small generator: the same numbers in every run. */
static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

TEST(heap_pops_in_order_of_key_and_tie)
{
	struct kmes_heap_entry entries[200], last = { 0 };
	struct kmes_heap heap = { entries, 0 };
	uint32_t seed = 1;
	uint64_t i;

	for (i = 0; i < 100; i++) /* in any order, then one by one */
		entries[heap.len++] =
			(struct kmes_heap_entry){ next_random(&seed) % 16, i, NULL };
	kmesp_heap_build(&heap);
	for (; i < 200; i++)
		kmesp_heap_push(&heap, (struct kmes_heap_entry){ next_random(&seed) % 16,
								 i, NULL });
	for (i = 0; heap.len; i++) {
		struct kmes_heap_entry e = kmesp_heap_pop(&heap);

		if (kmesp_heap_is_before(&e, &last))
			fail_msg("entry %llu: %llu after %llu", (unsigned long long)i,
				 (unsigned long long)e.key, (unsigned long long)last.key);
		last = e;
	}
	assert_int_equal(i, 200);
}

TEST(heap_moves_an_entry_down_after_its_key_grew)
{
	struct kmes_heap_entry entries[50];
	struct kmes_heap heap = { entries, 0 };
	uint64_t i, last = 0;

	for (i = 0; i < 50; i++)
		kmesp_heap_push(&heap, (struct kmes_heap_entry){ i, i, NULL });
	for (i = 0; i < 500; i++) {
		assert_true(entries[0].key >= last);
		last = entries[0].key;
		entries[0].key += 1 + i % 60;
		kmesp_heap_down(&heap, 0);
	}
	assert_int_equal(heap.len, 50);
}
