// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* outbuf.c - output buffers that grow, and decimal digits. */
#include "base/outbuf.h"

#include <errno.h>
#include <stdlib.h>

const char kmesp_hex_digits[16] = { '0', '1', '2', '3', '4', '5', '6', '7',
				    '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' };

#define TEN(d) d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9"
const char kmesp_digit_pairs[201] = TEN("0") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5")
	TEN("6") TEN("7") TEN("8") TEN("9");

static int grow(struct kmes_outbuf *out)
{
	size_t size = 2 * out->size;
	char *data = realloc(out->data, size);

	if (!data)
		return -ENOMEM;
	out->data = data;
	out->size = size;
	return 0;
}

int kmesp_outbuf_init(struct kmes_outbuf *out)
{
	*out = (struct kmes_outbuf){ .size = 4 * KMES_OUT_PIECE, .full = grow };
	out->data = malloc(out->size);
	return out->data ? 0 : -ENOMEM;
}

void kmesp_outbuf_fini(struct kmes_outbuf *out)
{
	free(out->data);
	*out = (struct kmes_outbuf){ .data = NULL };
}

char *kmesp_out_more(struct kmes_outbuf *out)
{
	int rc = out->full(out);

	/* Formats cannot fail: they continue in memory whose contents are discarded. */
	if (rc) {
		if (!out->error)
			out->error = rc;
		out->len = 0;
	}
	return kmesp_out_begin(out);
}

/*
 * v, which is below 10^8, as eight digits, one per byte, the first in the lowest. Each
 * step divides all lanes at once, by multiplying with an inverse that is exact for the
 * number of digits in a lane.
 */
static inline uint64_t eight_digits(uint32_t v)
{
	uint64_t fours = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t hundreds = fours * 5243 >> 19 & 0x0000007f0000007f;
	uint64_t pairs = hundreds | (fours - 100 * hundreds) << 16;
	uint64_t tens = pairs * 103 >> 10 & 0x000f000f000f000f;

	return tens | (pairs - 10 * tens) << 8;
}

static inline char *put_8(char *p, uint32_t v)
{
	uint64_t text = eight_digits(v) + 0x3030303030303030;

	memcpy(p, &text, sizeof(text));
	return p + sizeof(text);
}

/* v is below 10^8; eight bytes are stored in all. */
static inline char *put_u27(char *p, uint32_t v)
{
	uint64_t digits = eight_digits(v);
	unsigned int zeros = __builtin_ctzll(digits | 1ull << 56) / 8;
	uint64_t text = (digits + 0x3030303030303030) >> 8 * zeros;

	memcpy(p, &text, sizeof(text));
	return p + sizeof(text) - zeros;
}

char *kmesp_put_u64_long(char *p, uint64_t v)
{
	const uint32_t step = 100000000;

	if (v < step)
		return put_u27(p, v);
	if (v < (uint64_t)step * step)
		return put_8(put_u27(p, v / step), v % step);
	p = put_u27(p, v / step / step);
	return put_8(put_8(p, v / step % step), v % step);
}
