/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* number.h - integers and floats of any kind, compared by exact value. */
#ifndef KMES_NUMBER_H
#define KMES_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmes_msgpack.h"

enum kmes_number_kind {
	KMES_NUMBER_UNSIGNED,
	KMES_NUMBER_NEGATIVE,
	KMES_NUMBER_REAL,
};

struct kmes_number {
	enum kmes_number_kind kind;
	union {
		uint64_t u;
		int64_t i; /* below 0 */
		double d;
	};
};

/* Returned by kmesp_number_compare if one of the two is not a number (NaN). */
#define KMES_NUMBER_UNORDERED 2

/*
 * Reads `[-]DIGITS[.DIGITS][e[+|-]DIGITS]`: an integer if it is written as one and fits,
 * else the nearest double. -EINVAL, or -ERANGE if that is infinite.
 */
int kmesp_number_parse(struct kmes_number *number, const char *text);

/* The number in a MessagePack value; false if it is not one. */
bool kmesp_number_from_token(struct kmes_number *number, const struct kmes_mp_token *tok);

/*
 * -1, 0 or 1: `a` is less than, equal to or greater than `b`; or KMES_NUMBER_UNORDERED.
 */
int kmesp_number_compare(const struct kmes_number *a, const struct kmes_number *b);

#endif
