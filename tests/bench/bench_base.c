// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_base.c - what the hand-tuned code of libcommon/base gains over the plain way.
 *
 * Each row converts the same thousand values both ways; the best round of many counts.
 * The headers of libcommon/base quote these values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/float.h"
#include "base/pack_fast.h"
#include "kmes_pack.h"
#include "print/time_text.h"
#include "tap.h"

#define VALUES 1000
#define ROUNDS 2000

static uint64_t numbers[VALUES]; /* of 6 digits */
static uint64_t stamps[VALUES];	 /* of 19 digits */
static uint64_t small[VALUES];	 /* below 10000 */
static uint64_t reals[VALUES];	 /* bits of random doubles from 1e-9 to 1e9 */
static uint64_t mixed[VALUES];	 /* of 1 to 64 bits */
static uint64_t prices[VALUES];	 /* bits of doubles with two digits after the point */
static char strings[VALUES][32];
static char memory[1 << 16];
static struct kmes_outbuf out = { .data = memory, .size = sizeof(memory) };
static volatile char sink;

typedef char *put_fn(char *p, unsigned int i);

static void bench(const char *name, put_fn *plain, put_fn *tuned)
{
	put_fn *const fns[2] = { plain, tuned };
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX };

	for (int round = 0; round < 2 * ROUNDS; round++) {
		uint64_t begun_ns = kmesp_clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;
		char *p = memory;

		for (unsigned int i = 0; i < VALUES; i++)
			p = fns[round % 2](p, i);
		sink = p[-1];
		took_ns = kmesp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
		if (took_ns < best[round % 2])
			best[round % 2] = took_ns;
	}
	tap_note("%-38s %6.1f ns  this %6.1f ns", name, (double)best[0] / VALUES,
		 (double)best[1] / VALUES);
}

/* ---- digits ---- */

static char *digits_loop(char *p, uint64_t v)
{
	char text[20];
	unsigned int n = 0;

	do
		text[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = text[--n];
	return p;
}

static char *loop_number(char *p, unsigned int i)
{
	return digits_loop(p, numbers[i]);
}

static char *tuned_number(char *p, unsigned int i)
{
	return kmesp_put_u64(p, numbers[i]);
}

static char *loop_stamp(char *p, unsigned int i)
{
	return digits_loop(p, stamps[i]);
}

static char *tuned_stamp(char *p, unsigned int i)
{
	return kmesp_put_u64(p, stamps[i]);
}

static char *loop_small(char *p, unsigned int i)
{
	return digits_loop(p, small[i]);
}

static char *tuned_small(char *p, unsigned int i)
{
	return kmesp_put_u64(p, small[i]);
}

static char *printf_number(char *p, unsigned int i)
{
	return p + sprintf(p, "%llu", (unsigned long long)numbers[i]);
}

/* ---- floating point ---- */

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static char *printf_real(char *p, unsigned int i)
{
	return p + sprintf(p, "%.17g", double_of(reals[i]));
}

static char *tuned_real(char *p, unsigned int i)
{
	return kmesp_put_float64(p, reals[i]);
}

static char *printf_price(char *p, unsigned int i)
{
	return p + sprintf(p, "%.17g", double_of(prices[i]));
}

static char *tuned_price(char *p, unsigned int i)
{
	return kmesp_put_float64(p, prices[i]);
}

/* The shortest text by trial: the precision grows until it reads back. */
static char *trial_price(char *p, unsigned int i)
{
	double d = double_of(prices[i]);
	int len, precision = 1;

	do
		len = sprintf(p, "%.*g", precision, d);
	while (strtod(p, NULL) != d && precision++ < 17);
	return p + len;
}

/* ---- bytes ---- */

static char *loop_hex(char *p, unsigned int i)
{
	const uint8_t *s = (const uint8_t *)strings[i];

	for (unsigned int n = 0; n < 16; n++) {
		*p++ = kmesp_hex_digits[s[n] >> 4];
		*p++ = kmesp_hex_digits[s[n] & 15];
	}
	return p;
}

static char *tuned_hex(char *p, unsigned int i)
{
	return kmesp_put_hex(p, (const uint8_t *)strings[i], 16);
}

static uint32_t string_len(unsigned int i)
{
	return 8 + i % 24;
}

static char *loop_escaped(char *p, unsigned int i)
{
	uint32_t len = string_len(i);

	for (uint32_t n = 0; n < len; n++) {
		uint8_t c = (uint8_t)strings[i][n];

		if (c < 0x20 || c >= 0x7f || c == '\\' || c == '"')
			p += sprintf(p, "\\x%02x", c);
		else
			*p++ = (char)c;
	}
	return p;
}

static char *tuned_escaped(char *p, unsigned int i)
{
	return kmesp_put_escaped(&out, p, (const uint8_t *)strings[i], string_len(i));
}

/* ---- dates ---- */

static char *strftime_date(char *p, unsigned int i)
{
	time_t second = (time_t)(1796000000 + i);
	struct tm tm;

	gmtime_r(&second, &tm);
	p += strftime(p, 32, "%Y-%m-%dT%H:%M:%S.", &tm);
	return p + sprintf(p, "%09uZ", 123456789u);
}

static char *tuned_date(char *p, unsigned int i)
{
	return kmesp_put_time_iso(p, 1796000000 + i, 123456789);
}

static char *cached_date(char *p, unsigned int i)
{
	static struct kmes_time_cache clock;

	return kmesp_put_clock_iso(p, &clock, 1796000000 * KMES_NS_PER_S + i);
}

/* ---- MessagePack ---- */

static char *plain_pack(char *p, unsigned int i)
{
	struct kmes_pack pack = kmes_pack_begin(p, KMES_PUT_SIZE);

	kmes_pack_uint(&pack, mixed[i]);
	return p + pack.len;
}

static char *tuned_pack(char *p, unsigned int i)
{
	return (char *)kmesp_pack_uint((uint8_t *)p, mixed[i]);
}

static void make_values(void)
{
	uint64_t x = 88172645463325252;

	for (unsigned int i = 0; i < VALUES; i++) {
		double real, price;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		numbers[i] = 100000 + (x >> 8) % 900000;
		stamps[i] = 1796000000 * KMES_NS_PER_S + (x >> 20);
		small[i] = (x >> 8) % 10000;
		mixed[i] = x >> (x & 63);
		price = (double)((x >> 20) % 1000000) / 100;
		memcpy(&prices[i], &price, sizeof(price));
		real = (double)(x >> 11) / 9007199254740992.0 *
		       (double[]){ 1e-6, 1, 1e3, 1e9 }[x % 4];
		memcpy(&reals[i], &real, sizeof(real));
		for (unsigned int n = 0; n < sizeof(strings[i]); n++)
			strings[i][n] = "/var/log/app_0.log alice"[(x >> n) % 24];
	}
}

int main(void)
{
	make_values();
	bench("u64 of 6 digits, \"%llu\":", printf_number, tuned_number);
	bench("u64 of 6 digits, digit by digit:", loop_number, tuned_number);
	bench("u64 of 19 digits, digit by digit:", loop_stamp, tuned_stamp);
	bench("u64 below 10000, digit by digit:", loop_small, tuned_small);
	bench("double, \"%.17g\":", printf_real, tuned_real);
	bench("double with 2 decimals, \"%.17g\":", printf_price, tuned_price);
	bench("double with 2 decimals, by trial:", trial_price, tuned_price);
	bench("hex of 16 bytes, digit by digit:", loop_hex, tuned_hex);
	bench("string of 8 to 31 bytes, by byte:", loop_escaped, tuned_escaped);
	bench("MessagePack integer, by comparisons:", plain_pack, tuned_pack);
	bench("ISO time, gmtime_r and strftime:", strftime_date, tuned_date);
	bench("ISO time of the same second, strftime:", strftime_date, cached_date);
	return 0;
}
