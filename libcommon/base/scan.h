/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * scan.h - digits and single characters read from a cursor, in any locale.
 *
 * The cursor `*s` is advanced past what was read. Text ends at `end`, or, where that is
 * NULL, at a NUL byte.
 */
#ifndef KMES_SCAN_H
#define KMES_SCAN_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool kmesp_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a hex digit, or -1. */
static inline int kmesp_hex_digit(char c)
{
	if (kmesp_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline size_t kmesp_count_digits(const char *s, const char *end)
{
	size_t n = 0;

	while (s + n != end && kmesp_is_digit(s[n]))
		n++;
	return n;
}

static inline bool kmesp_scan_char(const char **s, const char *end, char c)
{
	if (*s == end || **s != c)
		return false;
	(*s)++;
	return true;
}

/*
 * All digits, as one number. -EINVAL: there is none, the cursor stays; -ERANGE: the
 * number exceeds 64 bits, the cursor is past its digits all the same, so that a caller
 * can report malformed text before a number that is too large.
 */
static inline int kmesp_scan_number(const char **s, const char *end, uint64_t *number)
{
	const char *p = *s;
	int rc = 0;

	if (p == end || !kmesp_is_digit(*p))
		return -EINVAL;
	for (*number = 0; p != end && kmesp_is_digit(*p); p++)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (unsigned int)(*p - '0'), number))
			rc = -ERANGE;
	*s = p;
	return rc;
}

/* Exactly `count` digits, 9 at most, as a number from `min` to `max`. */
static inline bool kmesp_scan_digits(const char **s, const char *end, int count, int min,
				     int max, int *number)
{
	for (*number = 0; count; count--) {
		if (*s == end || !kmesp_is_digit(**s))
			return false;
		*number = 10 * *number + (*(*s)++ - '0');
	}
	return *number >= min && *number <= max;
}

/* One to nine digits after a decimal point, as billionths; returns how many, or 0. */
static inline size_t kmesp_scan_billionths(const char **s, const char *end,
					   uint32_t *billionths)
{
	size_t n = kmesp_count_digits(*s, end), i;

	if (n > 9)
		return 0;
	*billionths = 0;
	for (i = 0; i < 9; i++)
		*billionths = 10 * *billionths + (i < n ? (uint32_t)(*(*s)++ - '0') : 0);
	return n;
}

/* The number at the start of a text, after blanks, as in files of /proc; 0 if none. */
static inline uint64_t kmesp_leading_number(const char *text)
{
	uint64_t number = 0;

	while (*text == ' ' || *text == '\t')
		text++;
	return kmesp_scan_number(&text, NULL, &number) ? 0 : number;
}

#endif
