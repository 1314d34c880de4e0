/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * hostile.h - adversarial event content: strings that try to forge lines and move the
 * cursor, invalid UTF-8, keys of every type, all MessagePack types at their bounds, deep
 * nesting. The same seed gives the same bytes.
 */
#ifndef KMES_TESTS_HOSTILE_H
#define KMES_TESTS_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

struct hostile {
	uint64_t state; /* not 0 */
};

uint64_t hostile_number(struct hostile *h);

/* From 0 to n - 1. */
uint32_t hostile_below(struct hostile *h, uint32_t n);

/* Up to `size` bytes of text; returns how many. */
size_t hostile_text(struct hostile *h, uint8_t *buf, size_t size);

/* One well-formed MessagePack value of up to `size` (at least 64) bytes, 256 levels. */
size_t hostile_value(struct hostile *h, uint8_t *buf, size_t size);

/* Damages some of the bytes; returns the new length, never more than before. */
size_t hostile_damage(struct hostile *h, uint8_t *buf, size_t len);

#endif
