/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* float.h - floating point numbers as the shortest text that reads back. */
#ifndef KMES_FLOAT_H
#define KMES_FLOAT_H
#include <stdbool.h>
#include <stdint.h>

#define KMES_FLOAT_TEXT_MAX 32

/*
 * From the bits of a number: the fewest digits that are read back as the same number of
 * the same width, among them the nearest; always with "." or "e", in every locale. What
 * is not finite is nan, inf, -inf. At most KMES_FLOAT_TEXT_MAX bytes are stored.
 */
char *kmesp_put_float64(char *p, uint64_t bits);
char *kmesp_put_float32(char *p, uint32_t bits);

/* The bits of the double that has a float's value. */
uint64_t kmesp_float_widen(uint32_t bits);

static inline bool kmesp_float64_is_finite(uint64_t bits)
{
	return (bits >> 52 & 0x7ff) != 0x7ff;
}

#endif
