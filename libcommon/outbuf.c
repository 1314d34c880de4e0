/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* outbuf.c - output memory that grows, and the digits. */
#include <errno.h>
#include <stdlib.h>

#include "outbuf.h"

const char kmes_hex_digits[16] = { '0', '1', '2', '3', '4', '5', '6', '7',
				   '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' };

#define TEN(d) d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9"
const char kmes_digit_pairs[201] = TEN("0") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5")
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

int kmes_outbuf_init(struct kmes_outbuf *out)
{
	*out = (struct kmes_outbuf){ .size = 4 * KMES_OUT_PIECE, .full = grow };
	out->data = malloc(out->size);
	return out->data ? 0 : -ENOMEM;
}

void kmes_outbuf_fini(struct kmes_outbuf *out)
{
	free(out->data);
	*out = (struct kmes_outbuf){ .data = NULL };
}

char *kmes_out_more(struct kmes_outbuf *out)
{
	int ret = out->full(out);

	/* Formats have no way to fail: they go on into memory that nobody looks at. */
	if (ret) {
		if (!out->error)
			out->error = ret;
		out->len = 0;
	}
	return kmes_out_begin(out);
}

/* Digits of v, which is below 10^8. */
static unsigned int digits_of(uint32_t v)
{
	return 1 + (v >= 10) + (v >= 100) + (v >= 1000) + (v >= 10000) + (v >= 100000) +
	       (v >= 1000000) + (v >= 10000000);
}

static char *put_4(char *p, uint32_t v)
{
	return put_2(put_2(p, v / 100), v % 100);
}

/* v is below 10^8. */
static char *put_u27(char *p, uint32_t v)
{
	unsigned int digits = digits_of(v);
	char *end = p + digits;

	p = end;
	if (digits > 4) {
		put_4(p -= 4, v % 10000);
		v /= 10000;
	}
	if (v >= 100) {
		put_2(p -= 2, v % 100);
		v /= 100;
	}
	if (v >= 10)
		put_2(p - 2, v);
	else
		p[-1] = (char)('0' + v);
	return end;
}

char *put_u64_long(char *p, uint64_t v)
{
	const uint32_t step = 100000000;
	uint32_t low[2] = { 0, 0 };
	int n = 0;

	for (; v >= step; v /= step)
		low[n++] = v % step;
	p = put_u27(p, v);
	while (n--)
		p = put_4(put_4(p, low[n] / 10000), low[n] % 10000);
	return p;
}
