// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* hostile.c - adversarial event content from a seed. */
#include "hostile.h"

#include <stdbool.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

uint64_t hostile_number(struct hostile *h)
{
	h->state ^= h->state << 13;
	h->state ^= h->state >> 7;
	h->state ^= h->state << 17;
	return h->state;
}

uint32_t hostile_below(struct hostile *h, uint32_t n)
{
	return (hostile_number(h) >> 32) * n >> 32;
}

/* Pieces that a careless program would pass through. */
static const char *const pieces[] = {
	"plain text",
	"x",
	"\n20:21:22.123456  cpu0  #18  USR  forged",
	"  ",
	"\", forged: \"",
	"\\",
	"\\x41",
	"\r",
	"\t",
	"\33[2J\33[H",
	"\33]0;title\7",
	"\x7f",
	"\x01\x02\x1f",
	"\xc2\x80", /* C1 */
	("\xc2\x9b"
	 "31m"),	    /* CSI as one code point */
	"\xc2\xa0",	    /* no-break space, harmless */
	"\xd8\x9c",	    /* Arabic letter mark */
	"\xe2\x80\x8b",	    /* zero-width space */
	"\xe2\x80\xa8",	    /* line separator */
	"\xe2\x80\xae",	    /* right-to-left override */
	"\xe2\x81\xa9",	    /* end of an isolate */
	"\xef\xbb\xbf",	    /* byte order mark */
	"\xef\xbf\xb9",	    /* interlinear annotation */
	"\xf3\xa0\x81\x81", /* a tag */
	"\xc3\xa9\xe2\x94\x94\xf0\x9f\x98\x80",
	"\xe6\xbc\xa2\xe5\xad\x97",
	"e\xcc\x81",
	"\xff",
	"\xc0\x80",
	"\xed\xa0\x80",
	"\xe2\x94",
	"\xf0\x9f\x98",
	"\xf4\x90\x80\x80",
	"\x80\x80",
	"\xf8\x88\x80\x80\x80",
	"--- cpu0: lost 5 events (#1-#5) ---",
	"<b>&amp;",
	"$(id)",
	"%s%n",
};

static size_t put(uint8_t *buf, size_t len, size_t size, const void *bytes, size_t n)
{
	if (n > size - len)
		n = size - len;
	memcpy(buf + len, bytes, n);
	return len + n;
}

size_t hostile_text(struct hostile *h, uint8_t *buf, size_t size)
{
	uint32_t count = hostile_below(h, hostile_below(h, 8) ? 4 : 12);
	size_t len = 0;

	while (count--) {
		const char *piece = pieces[hostile_below(h, COUNT(pieces))];
		uint64_t random = hostile_number(h);

		if (random % 16 == 0) /* NUL, or any byte */
			len = put(buf, len, size, "\0", 1);
		else if (random % 16 == 1)
			len = put(buf, len, size, (uint8_t *)&random + 3, 1);
		else
			len = put(buf, len, size, piece, strlen(piece));
	}
	return len;
}

/* ---- MessagePack ---- */

struct encoder {
	struct hostile *h;
	uint8_t *buf;
	size_t len, size;
};

static void put_number(struct encoder *e, uint64_t v, unsigned int bytes)
{
	while (bytes && e->len < e->size)
		e->buf[e->len++] = v >> (8 * --bytes);
}

static const char *const names[] = {
	"user",	  "sid",	 "user_sid",  "sids", "guid", "child_guid",
	"access", "last_access", "my_access", "nil",  "true", "nan",
	"$bin",	  "$",		 "$$sid",     "a b",  "",     "_x",
	"9lives", "user.name",	 "x-y",	      "k",    "k",    "-",
	"0x41",	  "ext(1, 0x)",	 "S-1-5-18",  "{}",
};

static void put_string(struct encoder *e, bool is_name)
{
	uint8_t text[200];
	size_t len;

	if (is_name && hostile_below(e->h, 8)) {
		const char *name = names[hostile_below(e->h, COUNT(names))];

		len = put(text, 0, sizeof(text), name, strlen(name));
	} else {
		len = hostile_text(e->h, text, sizeof(text));
	}
	if (len > e->size - e->len - 5)
		len = e->size - e->len - 5;
	switch (hostile_below(e->h, 4)) {
	case 0:
		put_number(e, 0xda, 1);
		put_number(e, len, 2);
		break;
	case 1:
		put_number(e, 0xdb, 1);
		put_number(e, len, 4);
		break;
	default:
		if (len < 32) {
			put_number(e, 0xa0 + len, 1);
		} else {
			put_number(e, 0xd9, 1);
			put_number(e, len, 1);
		}
	}
	e->len = put(e->buf, e->len, e->size, text, len);
}

/* Numbers near the bounds of the forms 0xcc to 0xd3, and anywhere. */
static void put_integer(struct encoder *e)
{
	static const uint64_t bounds[] = { 0,
					   1,
					   127,
					   128,
					   255,
					   256,
					   32767,
					   32768,
					   65535,
					   0x7fffffff,
					   0x80000000,
					   0xffffffff,
					   0x20000000000001,
					   0x7fffffffffffffff,
					   0x8000000000000000,
					   0xffffffffffffffff };
	uint32_t form = hostile_below(e->h, 8);

	if (hostile_below(e->h, 3) == 0) {
		put_number(e,
			   hostile_below(e->h, 2) ? hostile_below(e->h, 128)
						  : 0xe0 + hostile_below(e->h, 32),
			   1);
		return;
	}
	put_number(e, 0xcc + form, 1);
	put_number(e,
		   hostile_below(e->h, 2) ? bounds[hostile_below(e->h, COUNT(bounds))]
					  : hostile_number(e->h),
		   1u << form % 4);
}

static void put_float(struct encoder *e)
{
	static const uint64_t doubles[] = {
		0,
		0x8000000000000000,
		0x3ff0000000000000,
		0x3fb999999999999a,
		0x7ff0000000000000,
		0xfff0000000000000,
		0x7ff8000000000000,
		1,
		0x7fefffffffffffff,
		0x0010000000000000,
		0x4341c37937e08000,
	};
	static const uint32_t floats[] = { 0,	       0x80000000, 0x3dcccccd,
					   0x7f800000, 0xff800000, 0x7fc00000,
					   1,	       0x7f7fffff, 0x4b800000 };

	if (hostile_below(e->h, 2)) {
		put_number(e, 0xcb, 1);
		put_number(e,
			   hostile_below(e->h, 2)
				   ? doubles[hostile_below(e->h, COUNT(doubles))]
				   : hostile_number(e->h),
			   8);
	} else {
		put_number(e, 0xca, 1);
		put_number(e,
			   hostile_below(e->h, 2)
				   ? floats[hostile_below(e->h, COUNT(floats))]
				   : hostile_number(e->h),
			   4);
	}
}

/* SIDs well-formed and not, GUIDs, and any bytes. */
static void put_binary(struct encoder *e)
{
	uint8_t bytes[80];
	uint32_t len = hostile_below(e->h, 40);

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = hostile_number(e->h) >> 40;
	switch (hostile_below(e->h, 4)) {
	case 0:
		memcpy(bytes, "\1\0\0\0\0\0\0\5", 8);
		bytes[1] = hostile_below(e->h, 17);
		bytes[2] = hostile_below(e->h, 2);
		len = 8 + 4 * bytes[1] + (hostile_below(e->h, 4) == 0);
		break;
	case 1:
		len = 16;
		break;
	default:
		break;
	}
	put_number(e, 0xc4, 1);
	put_number(e, len, 1);
	e->len = put(e->buf, e->len, e->size, bytes, len);
}

/* Timestamps in and out of bounds, and other extensions. */
static void put_extension(struct encoder *e)
{
	uint32_t r = hostile_below(e->h, 5);

	if (r == 0) {
		put_number(e, 0xd6ff, 2);
		put_number(e, hostile_number(e->h), 4);
	} else if (r == 1) {
		put_number(e, 0xd7ff, 2);
		put_number(e,
			   (uint64_t)hostile_below(e->h, 1000000100) << 34 |
				   hostile_number(e->h) >> 30,
			   8);
	} else if (r == 2) {
		put_number(e, 0xc70cff, 3);
		put_number(e, hostile_below(e->h, 1000000100), 4);
		put_number(e, (hostile_number(e->h) >> 24) - 500000000000, 8);
	} else if (r == 3) {
		put_number(e, 0xd4 + hostile_below(e->h, 2), 1);
		put_number(e, hostile_number(e->h), (e->buf[e->len - 1] - 0xd4) + 2);
	} else {
		uint32_t len = hostile_below(e->h, 6);

		put_number(e, 0xc7, 1);
		put_number(e, len, 1);
		put_number(e, hostile_number(e->h), len + 1);
	}
}

static void put_scalar(struct encoder *e, bool is_key)
{
	static const uint8_t simple[] = { 0xc0, 0xc2, 0xc3 };
	uint32_t r = hostile_below(e->h, is_key ? 40 : 16);

	if (r < 2)
		put_number(e, simple[hostile_below(e->h, 3)], 1);
	else if (r < 5)
		put_integer(e);
	else if (r < 7)
		put_float(e);
	else if (r < 9)
		put_binary(e);
	else if (r < 11)
		put_extension(e);
	else
		put_string(e, is_key);
}

/* The longest scalar, and the heads and scalars that complete open containers. */
#define RESERVE 300

struct level {
	uint32_t left;
	bool is_map;
};

static bool wants_container(struct encoder *e, uint32_t depth, uint32_t chain)
{
	if (chain)
		return depth < chain;
	return depth < 8 && hostile_below(e->h, 4) == 0;
}

size_t hostile_value(struct hostile *h, uint8_t *buf, size_t size)
{
	struct encoder e = { .h = h, .buf = buf, .size = size };
	struct level level[257] = { { .left = 1 } };
	uint32_t shape = hostile_below(h, 64);
	uint32_t chain = shape == 0 ? 256 : shape == 1 ? 20 + hostile_below(h, 230) : 0;
	uint32_t depth = 0;

	for (;;) {
		bool is_key = level[depth].is_map && level[depth].left % 2 == 0;
		bool has_room = e.len + RESERVE + 4 * depth < size;

		level[depth].left--;
		if (has_room && (!is_key || hostile_below(h, 16) == 0) &&
		    wants_container(&e, depth, chain)) {
			uint32_t count = chain ? 1 : hostile_below(h, 5);
			bool is_map = hostile_below(h, 2);

			put_number(&e, (is_map ? 0x80 : 0x90) + count, 1);
			level[++depth] =
				(struct level){ is_map ? 2 * count : count, is_map };
		} else if (has_room) {
			put_scalar(&e, is_key);
		} else {
			put_number(&e, hostile_below(h, 128), 1);
		}
		while (!level[depth].left) {
			if (!depth)
				return e.len;
			depth--;
		}
	}
}

size_t hostile_damage(struct hostile *h, uint8_t *buf, size_t len)
{
	for (uint32_t n = 1 + hostile_below(h, 3); n && len; n--) {
		uint32_t at = hostile_below(h, len);

		switch (hostile_below(h, 3)) {
		case 0:
			buf[at] = hostile_number(h) >> 32;
			break;
		case 1:
			buf[at] = 0xc0 + hostile_below(h, 32);
			break;
		default:
			len = at;
		}
	}
	return len;
}
