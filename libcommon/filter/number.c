// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* number.c - parses numbers in any locale, and compares them without rounding. */
#include "filter/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

static const char *skip_digits(const char *s)
{
	return s + kmesp_count_digits(s, NULL);
}

/* The end of the number at `text`; `*integer`: it is written as an integer. */
static const char *scan(const char *text, bool *integer)
{
	const char *s = text + (*text == '-');
	const char *end = skip_digits(s);

	*integer = true;
	if (end == s)
		return text;
	if (*end == '.') {
		s = end + 1;
		end = skip_digits(s);
		if (end == s)
			return text;
		*integer = false;
	}
	if (*end == 'e' || *end == 'E') {
		s = end + 1;
		s += *s == '+' || *s == '-';
		end = skip_digits(s);
		if (end == s)
			return text;
		*integer = false;
	}
	return end;
}

/* Reads digits, with or without a minus sign; -ERANGE: neither kind can store them. */
static int parse_integer(struct kmes_number *number, const char *text)
{
	bool negative = *text == '-';
	const char *s = text + negative;
	uint64_t v;

	if (kmesp_scan_number(&s, NULL, &v) || (negative && v > 1ull << 63))
		return -ERANGE;
	if (negative && v) {
		number->kind = KMES_NUMBER_NEGATIVE;
		number->i = (int64_t)-v;
	} else {
		number->kind = KMES_NUMBER_UNSIGNED;
		number->u = v;
	}
	return 0;
}

/* The decimal separator of the process's locale may be a comma. */
static int parse_real(struct kmes_number *number, const char *text)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	if (!c_locale)
		return -ENOMEM;
	number->kind = KMES_NUMBER_REAL;
	number->d = strtod_l(text, NULL, c_locale);
	freelocale(c_locale);
	return isinf(number->d) ? -ERANGE : 0;
}

int kmesp_number_parse(struct kmes_number *number, const char *text)
{
	bool integer;
	const char *end = scan(text, &integer);

	if (end == text || *end)
		return -EINVAL;
	if (integer && !parse_integer(number, text))
		return 0;
	return parse_real(number, text);
}

bool kmesp_number_from_token(struct kmes_number *number, const struct kmes_mp_token *tok)
{
	float single;
	uint32_t bits;

	switch (tok->type) {
	case KMES_MP_UINT:
		number->kind = KMES_NUMBER_UNSIGNED;
		number->u = tok->value.u;
		return true;
	case KMES_MP_INT:
		number->kind = KMES_NUMBER_NEGATIVE;
		number->i = tok->value.i;
		return true;
	case KMES_MP_FLOAT32:
		bits = (uint32_t)tok->value.u;
		memcpy(&single, &bits, sizeof(single));
		number->kind = KMES_NUMBER_REAL;
		number->d = (double)single;
		return true;
	case KMES_MP_FLOAT64:
		number->kind = KMES_NUMBER_REAL;
		memcpy(&number->d, &tok->value.u, sizeof(number->d));
		return true;
	default:
		return false;
	}
}

static int compare_unsigned(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_reals(double a, double b)
{
	if (isnan(a) || isnan(b))
		return KMES_NUMBER_UNORDERED;
	return (a > b) - (a < b);
}

/* Converting a double within the range of the integer discards its fraction only. */
static int compare_unsigned_real(uint64_t u, double d)
{
	uint64_t whole;

	if (isnan(d))
		return KMES_NUMBER_UNORDERED;
	if (d < 0)
		return 1;
	if (d >= TWO_TO_64)
		return -1;
	whole = (uint64_t)d;
	if (u != whole)
		return u < whole ? -1 : 1;
	return d > (double)whole ? -1 : 0;
}

static int compare_negative_real(int64_t i, double d)
{
	int64_t whole;

	if (isnan(d))
		return KMES_NUMBER_UNORDERED;
	if (d >= 0)
		return -1;
	if (d < -TWO_TO_63)
		return 1;
	whole = (int64_t)d;
	if (i != whole)
		return i < whole ? -1 : 1;
	return d < (double)whole ? 1 : 0;
}

static int compare_with_real(const struct kmes_number *a, double d)
{
	if (a->kind == KMES_NUMBER_REAL)
		return compare_reals(a->d, d);
	if (a->kind == KMES_NUMBER_UNSIGNED)
		return compare_unsigned_real(a->u, d);
	return compare_negative_real(a->i, d);
}

int kmesp_number_compare(const struct kmes_number *a, const struct kmes_number *b)
{
	int order;

	if (b->kind == KMES_NUMBER_REAL)
		return compare_with_real(a, b->d);
	if (a->kind == KMES_NUMBER_REAL) {
		order = compare_with_real(b, a->d);
		return order == KMES_NUMBER_UNORDERED ? order : -order;
	}
	if (a->kind != b->kind)
		return a->kind == KMES_NUMBER_NEGATIVE ? -1 : 1;
	if (a->kind == KMES_NUMBER_UNSIGNED)
		return compare_unsigned(a->u, b->u);
	return (a->i > b->i) - (a->i < b->i);
}
