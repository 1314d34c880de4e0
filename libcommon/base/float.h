/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * float.h - floating-point numbers as the shortest decimal that round-trips.
 *
 * Gain: "%.17g" takes 237 ns and is not the shortest; this takes 76 ns for random
 * doubles, 17 ns for those with two digits after the point, for which increasing the
 * precision of "%.*g" until strtod() agrees takes 955 ns.
 */
#ifndef KMES_FLOAT_H
#define KMES_FLOAT_H
#include <stdbool.h>
#include <stdint.h>

#define KMES_FLOAT_TEXT_MAX 32

/*
 * From IEEE-754 bits: the fewest digits that read back as the same number of the same
 * width, and of those the nearest; always with "." or "e", in every locale. Non-finite
 * numbers are nan, inf and -inf. At most KMES_FLOAT_TEXT_MAX bytes are stored.
 */
char *kmesp_put_float64(char *p, uint64_t bits);
char *kmesp_put_float32(char *p, uint32_t bits);

/* A float's bits to those of the double of the same value. */
uint64_t kmesp_float_widen(uint32_t bits);

static inline bool kmesp_float64_is_finite(uint64_t bits)
{
	return (bits >> 52 & 0x7ff) != 0x7ff;
}

#endif
