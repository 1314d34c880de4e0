/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * bytes16.h - sixteen bytes at once, in vectors that each compiler maps to its machine.
 *
 * A comparison of two vectors gives a vector of marks: 0xff where it holds, 0 elsewhere.
 * The first byte is the lowest of a number (as in the rings themselves).
 */
#ifndef KMES_BYTES16_H
#define KMES_BYTES16_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t kmes_bytes16 __attribute__((vector_size(16)));
typedef int8_t kmes_marks16 __attribute__((vector_size(16)));

static inline kmes_bytes16 kmesp_bytes16_copy(char *p, const uint8_t *s)
{
	kmes_bytes16 v;

	memcpy(&v, s, sizeof(v));
	memcpy(p, &v, sizeof(v));
	return v;
}

/*
 * The same for 1 to 15 bytes. The vector holds no other bytes than these, some of them
 * more than once: it tells whether all are of a kind, and not where one stands.
 */
static inline kmes_bytes16 kmesp_bytes16_copy_short(char *p, const uint8_t *s,
						    uint32_t len)
{
	uint64_t low, high;
	uint32_t first, last;
	kmes_bytes16 v;

	if (len >= 8) { /* two halves that overlap */
		memcpy(&low, s, 8);
		memcpy(&high, s + len - 8, 8);
		memcpy(p, &low, 8);
		memcpy(p + len - 8, &high, 8);
	} else if (len >= 4) {
		memcpy(&first, s, 4);
		memcpy(&last, s + len - 4, 4);
		memcpy(p, &first, 4);
		memcpy(p + len - 4, &last, 4);
		low = first | (uint64_t)last << 32;
		high = low;
	} else {
		uint8_t middle = s[len / 2];

		first = s[0];
		last = s[len - 1];
		p[0] = first;
		p[len / 2] = middle;
		p[len - 1] = last;
		low = (first | middle << 8 | last << 16 | first << 24) * 0x100000001ull;
		high = low;
	}
	memcpy(&v, (uint64_t[]){ low, high }, sizeof(v));
	return v;
}

static inline bool kmesp_marks16_any(kmes_marks16 marks)
{
	uint64_t half[2];

	memcpy(half, &marks, sizeof(half));
	return half[0] | half[1];
}

/* Where the first mark is, of some. */
static inline uint32_t kmesp_marks16_first(kmes_marks16 marks)
{
	uint64_t half[2];

	memcpy(half, &marks, sizeof(half));
	if (half[0])
		return __builtin_ctzll(half[0]) / 8;
	return 8 + __builtin_ctzll(half[1]) / 8;
}

#endif
