/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* number.h - integers and floats compared by their exact values, whatever their kinds. */
#ifndef KMES_NUMBER_H
#define KMES_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmes_msgpack.h"

enum kmes_numeral_kind {
	KMES_NUMERAL_UNSIGNED,
	KMES_NUMERAL_NEGATIVE,
	KMES_NUMERAL_REAL,
};

struct kmes_numeral {
	enum kmes_numeral_kind kind;
	union {
		uint64_t u;
		int64_t i; /* below 0 */
		double d;
	};
};

/* What kmes_numeral_compare says when one of them is no number at all (NaN). */
#define KMES_NUMERAL_UNORDERED 2

/*
 * Reads `[-]DIGITS[.DIGITS][e[+|-]DIGITS]`: an integer where it is written as one and
 * fits, else the nearest double. -EINVAL; -ERANGE when that is infinite.
 */
int kmes_numeral_parse(struct kmes_numeral *number, const char *text);

/* The number in a MessagePack value; false if it holds none. */
bool kmes_numeral_from_token(struct kmes_numeral *number,
			     const struct kmes_mp_token *tok);

/* -1, 0 or 1 as `a` is below, equal to or above `b`, or KMES_NUMERAL_UNORDERED. */
int kmes_numeral_compare(const struct kmes_numeral *a, const struct kmes_numeral *b);

#endif
