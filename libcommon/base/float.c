// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * float.c - floating-point numbers as the shortest decimal that round-trips.
 *
 * Exact arithmetic after Steele and White: all real numbers in an interval around v read
 * back as v. Digits of v are generated until the remainder is smaller than the distance
 * to one end of the interval; the last digit is then the one nearer to v. All quantities
 * are in units of a fraction of v's last bit:
 *
 *	rest	the part of v that has not been printed
 *	one	the value of 1 at the current digit
 *	low	half the gap to the number below v; a quarter of the unit where v is the
 *		first with its exponent, since numbers below it are denser
 *	high	half the gap to the number above v
 *
 * Numbers from 1e-20 to 2^53 fit into 128 bits with a power of two for `one`; the others
 * need long integers.
 */
#include "base/float.h"

#include <string.h>

#include "base/outbuf.h"

__extension__ typedef unsigned __int128 u128;

/* m * 2^e, not zero. */
struct binary {
	uint64_t m;
	int e;
	bool is_first; /* of its exponent: the gap below is half the gap above */
};

/* 0.DIGITS * 10^point */
struct decimal {
	int point;
	unsigned int count;
	char digits[24];
};

/* The interval's ends belong to it when m is even: reading rounds halves to even. */
static bool is_under(int rest_to_low, const struct binary *b)
{
	return rest_to_low < 0 || (rest_to_low == 0 && !(b->m & 1));
}

/* Stores the last digit; `rest_to_half` compares the remainder with half a digit. */
static void end_digits(struct decimal *d, unsigned int digit, bool under, bool over,
		       int rest_to_half)
{
	if (over && (!under || rest_to_half > 0 || (rest_to_half == 0 && (digit & 1))))
		digit++;
	d->digits[d->count++] = '0' + digit;
}

static int compare(u128 a, u128 b)
{
	return (a > b) - (a < b);
}

/* For 2^-70 < v < 2^53 with fractional bits: e from -122 to -1. */
static void digits_short(struct decimal *d, const struct binary *b)
{
	int shift = 2 - b->e;
	u128 one = (u128)1 << shift;
	u128 rest = (u128)b->m << 2;
	u128 high = 2;
	u128 low = b->is_first ? 1 : 2;
	uint64_t whole = rest >> shift;

	/* Each integer has an interval of its own, so all of its digits are needed. */
	d->count = whole ? kmesp_put_u64(d->digits, whole) - d->digits : 0;
	d->point = d->count;
	rest &= one - 1;
	while (rest) {
		unsigned int digit;
		bool under, over;

		rest *= 10;
		high *= 10;
		low *= 10;
		digit = rest >> shift;
		rest &= one - 1;
		under = is_under(compare(rest, low), b);
		over = is_under(compare(one - rest, high), b);
		if (under || over) {
			end_digits(d, digit, under, over, compare(2 * rest, one));
			return;
		}
		if (digit || d->count)
			d->digits[d->count++] = '0' + digit;
		else
			d->point--;
	}
}

/* ---- long integers: up to 2^1153, the least significant limb first ---- */

#define LIMBS 19

struct big {
	uint64_t limb[LIMBS];
};

static void big_set(struct big *a, uint64_t v, unsigned int shift)
{
	memset(a, 0, sizeof(*a));
	a->limb[shift / 64] = v << shift % 64;
	if (shift % 64)
		a->limb[shift / 64 + 1] = v >> (64 - shift % 64);
}

static void big_multiply(struct big *a, uint64_t factor)
{
	uint64_t carry = 0;

	for (int i = 0; i < LIMBS; i++) {
		u128 product = (u128)a->limb[i] * factor + carry;

		a->limb[i] = product;
		carry = product >> 64;
	}
}

static void big_multiply_ten_to(struct big *a, unsigned int power)
{
	uint64_t factor = 1;

	for (; power >= 19; power -= 19)
		big_multiply(a, 10000000000000000000u);
	while (power--)
		factor *= 10;
	big_multiply(a, factor);
}

static int big_compare(const struct big *a, const struct big *b)
{
	for (int i = LIMBS - 1; i >= 0; i--)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

/* a -= factor * b, which is not larger. */
static void big_subtract(struct big *a, const struct big *b, uint64_t factor)
{
	uint64_t borrow = 0;

	for (int i = 0; i < LIMBS; i++) {
		u128 product = (u128)b->limb[i] * factor + borrow;

		borrow = (uint64_t)(product >> 64) + (a->limb[i] < (uint64_t)product);
		a->limb[i] -= (uint64_t)product;
	}
}

/* a / b, which is below 10; the remainder stays in a. Limb `top` is b's highest. */
static unsigned int big_divide(struct big *a, const struct big *b, int top)
{
	uint64_t quotient = a->limb[top] / (b->limb[top] + 1);

	big_subtract(a, b, quotient);
	while (big_compare(a, b) >= 0) {
		big_subtract(a, b, 1);
		quotient++;
	}
	return quotient;
}

/* The sign of b - a - c. */
static int big_compare_sum(const struct big *b, const struct big *a, const struct big *c)
{
	struct big left = *b;

	if (big_compare(&left, a) < 0)
		return -1;
	big_subtract(&left, a, 1);
	return big_compare(&left, c);
}

/* floor(n * log10(2)) for |n| up to 1100. */
static int log10_of_2_to(int n)
{
	int product = n * 78913; /* log10(2) * 2^18 */

	return (product < 0 ? product - 262143 : product) / 262144;
}

/* Multiply all by a power of two, so that 10 * one fills its highest limb, `top`. */
static int normalize(struct big *one, struct big *rest, struct big *low, struct big *high)
{
	int top = LIMBS - 1;
	int shift;

	while (!one->limb[top])
		top--;
	shift = __builtin_clzll(one->limb[top]) - 4;
	if (shift < 0) { /* ten times it would not fit: start in the next limb */
		shift += 64;
		top++;
	}
	for (; shift; shift -= shift > 32 ? 32 : shift) {
		uint64_t factor = 1ull << (shift > 32 ? 32 : shift);

		big_multiply(one, factor);
		big_multiply(rest, factor);
		big_multiply(low, factor);
		big_multiply(high, factor);
	}
	return top;
}

static void digits_long(struct decimal *d, const struct binary *b)
{
	struct big rest, one, low, high;
	int bits = 63 - __builtin_clzll(b->m) + b->e; /* 2^bits <= v */
	int up = b->e > 0 ? b->e : 0;
	int top;

	big_set(&rest, b->m, up + 2);
	big_set(&one, 1, 2 + up - b->e);
	big_set(&high, 2, up);
	big_set(&low, b->is_first ? 1 : 2, up);
	d->count = 0;
	d->point = log10_of_2_to(bits) + 1; /* or one more, see below */
	if (d->point > 0) {
		big_multiply_ten_to(&one, d->point);
	} else {
		big_multiply_ten_to(&rest, -d->point);
		big_multiply_ten_to(&low, -d->point);
		big_multiply_ten_to(&high, -d->point);
	}
	if (is_under(big_compare_sum(&one, &rest, &high), b)) {
		d->point++;
		big_multiply(&one, 10);
	}
	top = normalize(&one, &rest, &low, &high);
	for (;;) {
		unsigned int digit;
		bool under, over;

		big_multiply(&rest, 10);
		big_multiply(&low, 10);
		big_multiply(&high, 10);
		digit = big_divide(&rest, &one, top);
		under = is_under(big_compare(&rest, &low), b);
		over = is_under(big_compare_sum(&one, &rest, &high), b);
		if (under || over) {
			end_digits(d, digit, under, over,
				   -big_compare_sum(&one, &rest, &rest));
			return;
		}
		d->digits[d->count++] = '0' + digit;
	}
}

/* ---- as text ---- */

static char *put_zeros(char *p, int count)
{
	for (; count > 0; count--)
		*p++ = '0';
	return p;
}

/* Plain from 0.0001 up to 16 digits before the point, with an exponent beyond. */
static char *put_decimal(char *p, const struct decimal *d)
{
	int count = d->count;

	if (d->point < -3 || d->point > 16) {
		p = kmesp_put_char(p, d->digits[0]);
		if (count > 1) {
			p = kmesp_put_char(p, '.');
			p = kmesp_put_bytes(p, d->digits + 1, count - 1);
		}
		p = kmesp_put_char(p, 'e');
		return kmesp_put_i64(p, d->point - 1);
	}
	if (d->point <= 0) {
		p = kmesp_put_lit(p, "0.");
		p = put_zeros(p, -d->point);
		return kmesp_put_bytes(p, d->digits, count);
	}
	if (d->point >= count) {
		p = kmesp_put_bytes(p, d->digits, count);
		p = put_zeros(p, d->point - count);
		return kmesp_put_lit(p, ".0");
	}
	p = kmesp_put_bytes(p, d->digits, d->point);
	p = kmesp_put_char(p, '.');
	return kmesp_put_bytes(p, d->digits + d->point, count - d->point);
}

/* A number of `fraction_bits` and `exponent_bits`, the sign above them. */
static char *put_float(char *p, uint64_t bits, int fraction_bits, int exponent_bits)
{
	uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
	int exponent_max = (1 << exponent_bits) - 1;
	int exponent = bits >> fraction_bits & exponent_max;
	bool negative = bits >> (fraction_bits + exponent_bits) & 1;
	struct binary b = {
		.m = exponent ? fraction | 1ull << fraction_bits : fraction,
		.e = (exponent ? exponent : 1) - exponent_max / 2 - fraction_bits,
		.is_first = !fraction && exponent > 1,
	};
	struct decimal d;

	if (exponent == exponent_max && fraction)
		return kmesp_put_lit(p, "nan");
	if (negative)
		p = kmesp_put_char(p, '-');
	if (exponent == exponent_max)
		return kmesp_put_lit(p, "inf");
	if (!b.m)
		return kmesp_put_lit(p, "0.0");
	if (b.e < 0 && b.e >= -122)
		digits_short(&d, &b);
	else
		digits_long(&d, &b);
	return put_decimal(p, &d);
}

char *kmesp_put_float64(char *p, uint64_t bits)
{
	return put_float(p, bits, 52, 11);
}

char *kmesp_put_float32(char *p, uint32_t bits)
{
	return put_float(p, bits, 23, 8);
}

uint64_t kmesp_float_widen(uint32_t bits)
{
	float narrow;
	double wide;
	uint64_t wide_bits;

	memcpy(&narrow, &bits, sizeof(narrow));
	wide = narrow;
	memcpy(&wide_bits, &wide, sizeof(wide_bits));
	return wide_bits;
}
