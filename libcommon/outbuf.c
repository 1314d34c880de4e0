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

static unsigned int decimal_digits(uint64_t v)
{
	unsigned int n = 1;

	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

char *put_u64_long(char *p, uint64_t v)
{
	char *end = p + decimal_digits(v);

	for (p = end; v >= 100; v /= 100)
		put_2(p -= 2, v % 100);
	if (v >= 10)
		put_2(p - 2, v);
	else
		p[-1] = '0' + v;
	return end;
}
