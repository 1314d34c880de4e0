// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The MessagePack walker and the UTF-8 check: each form at its bounds, depth, bad input.
 */
#include <stdlib.h>
#include <string.h>

#include "kmes_msgpack.h"
#include "payload.h"
#include "unit.h"

/* A copy that ends with its allocation, so that sanitizers see any overrun. */
static __u8 *exact_copy(const void *bytes, size_t len)
{
	__u8 *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	return copy;
}

static enum kmes_mp_fault check(const void *bytes, size_t len, __u32 max_depth)
{
	struct kmes_mp_scratch scratch;
	__u8 *copy = exact_copy(bytes, len);
	enum kmes_mp_fault fault = kmes_mp_check(copy, len, max_depth, &scratch);

	assert_int_equal(kmes_mp_validate(copy, len, max_depth, &scratch),
			 fault ? -EINVAL : 0);
	free(copy);
	return fault;
}

#define CHECK(literal, depth) check(literal, sizeof(literal) - 1, depth)

/* Decodes one token that must consume all bytes. */
static struct kmes_mp_token token(const void *bytes, size_t len)
{
	static __u8 *copy;
	struct kmes_mp_token tok;
	const __u8 *pos;

	free(copy);
	copy = exact_copy(bytes, len);
	pos = copy;
	memset(&tok, 0, sizeof(tok));
	assert_int_equal(kmes_mp_next(&pos, copy + len, &tok), 0);
	assert_ptr_equal(pos, copy + len);
	return tok;
}

#define TOKEN(literal) token(literal, sizeof(literal) - 1)

/* [E3] */
TEST(msgpack_integers_decode_at_each_bound)
{
	static const struct {
		const char *bytes;
		unsigned int len;
		enum kmes_mp_type type;
		__s64 value;
	} cases[] = {
		{ "\x00", 1, KMES_MP_UINT, 0 },
		{ "\x7f", 1, KMES_MP_UINT, 127 },
		{ "\xe0", 1, KMES_MP_INT, -32 },
		{ "\xff", 1, KMES_MP_INT, -1 },
		{ "\xcc\x00", 2, KMES_MP_UINT, 0 },
		{ "\xcc\xff", 2, KMES_MP_UINT, 255 },
		{ "\xcd\x00\x00", 3, KMES_MP_UINT, 0 },
		{ "\xcd\xff\xfe", 3, KMES_MP_UINT, 65534 },
		{ "\xce\x00\x00\x00\x01", 5, KMES_MP_UINT, 1 },
		{ "\xce\xff\xff\xff\xfe", 5, KMES_MP_UINT, 4294967294 },
		{ "\xcf\x00\x20\x00\x00\x00\x00\x00\x01", 9, KMES_MP_UINT,
		  9007199254740993 },
		{ "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9, KMES_MP_UINT, -1 },
		{ "\xd0\x7f", 2, KMES_MP_UINT, 127 },
		{ "\xd0\x80", 2, KMES_MP_INT, -128 },
		{ "\xd1\x7f\xff", 3, KMES_MP_UINT, 32767 },
		{ "\xd1\x80\x00", 3, KMES_MP_INT, -32768 },
		{ "\xd2\x7f\xff\xff\xff", 5, KMES_MP_UINT, 2147483647 },
		{ "\xd2\x80\x00\x00\x00", 5, KMES_MP_INT, -2147483648 },
		{ "\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", 9, KMES_MP_UINT, INT64_MAX },
		{ "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 9, KMES_MP_INT, INT64_MIN },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct kmes_mp_token tok = token(cases[i].bytes, cases[i].len);

		assert_int_equal(tok.type, cases[i].type);
		assert_true(tok.value.i == cases[i].value);
	}
}

/* [E3] */
TEST(msgpack_simple_values_decode)
{
	struct kmes_mp_token tok;

	assert_int_equal(TOKEN("\xc0").type, KMES_MP_NIL);
	tok = TOKEN("\xc2");
	assert_int_equal(tok.type, KMES_MP_BOOL);
	assert_true(tok.value.u == 0);
	tok = TOKEN("\xc3");
	assert_int_equal(tok.type, KMES_MP_BOOL);
	assert_true(tok.value.u == 1);
	tok = TOKEN("\xca\x3f\x80\x00\x01");
	assert_int_equal(tok.type, KMES_MP_FLOAT32);
	assert_true(tok.value.u == 0x3f800001);
	tok = TOKEN("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x02");
	assert_int_equal(tok.type, KMES_MP_FLOAT64);
	assert_true(tok.value.u == 0x7ff8000000000002);
}

/* A form with a length and that much content; then one byte less. [E3] */
static void check_length_form(const char *head, size_t head_len, enum kmes_mp_type type,
			      __u32 len, enum kmes_mp_fault short_fault)
{
	__u8 *bytes = malloc(head_len + len);
	struct kmes_mp_token tok;

	assert_non_null(bytes);
	memcpy(bytes, head, head_len);
	for (__u32 i = 0; i < len; i++)
		bytes[head_len + i] = 'a' + i % 26;
	tok = token(bytes, head_len + len);
	assert_int_equal(tok.type, type);
	assert_int_equal(tok.len, len);
	assert_memory_equal(tok.data, bytes + head_len, len);
	assert_int_equal(check(bytes, head_len + len, 0), KMES_MP_OK);
	assert_int_equal(check(bytes, head_len + len - 1, 0), short_fault);
	free(bytes);
}

TEST(msgpack_lengths_decode_at_each_bound)
{
#define FORM(head, type, len, fault)                                                     \
	check_length_form(head, sizeof(head) - 1, type, len, fault)
	FORM("\xa0", KMES_MP_STR, 0, KMES_MP_EMPTY);
	FORM("\xa1", KMES_MP_STR, 1, KMES_MP_LENGTH);
	FORM("\xbf", KMES_MP_STR, 31, KMES_MP_LENGTH);
	FORM("\xd9\x00", KMES_MP_STR, 0, KMES_MP_TRUNCATED);
	FORM("\xd9\xff", KMES_MP_STR, 255, KMES_MP_LENGTH);
	FORM("\xda\x00\x01", KMES_MP_STR, 1, KMES_MP_LENGTH);
	FORM("\xda\xff\xff", KMES_MP_STR, 65535, KMES_MP_LENGTH);
	FORM("\xdb\x00\x01\x00\x00", KMES_MP_STR, 65536, KMES_MP_LENGTH);
	FORM("\xdb\x00\x00\x00\x00", KMES_MP_STR, 0, KMES_MP_TRUNCATED);
	FORM("\xc4\x00", KMES_MP_BIN, 0, KMES_MP_TRUNCATED);
	FORM("\xc4\xff", KMES_MP_BIN, 255, KMES_MP_LENGTH);
	FORM("\xc5\x01\x00", KMES_MP_BIN, 256, KMES_MP_LENGTH);
	FORM("\xc5\xff\xff", KMES_MP_BIN, 65535, KMES_MP_LENGTH);
	FORM("\xc6\x00\x01\x00\x00", KMES_MP_BIN, 65536, KMES_MP_LENGTH);
	FORM("\xd4\x07", KMES_MP_EXT, 1, KMES_MP_LENGTH);
	FORM("\xd5\x07", KMES_MP_EXT, 2, KMES_MP_LENGTH);
	FORM("\xd6\x07", KMES_MP_EXT, 4, KMES_MP_LENGTH);
	FORM("\xd7\x07", KMES_MP_EXT, 8, KMES_MP_LENGTH);
	FORM("\xd8\x07", KMES_MP_EXT, 16, KMES_MP_LENGTH);
	FORM("\xc7\x00\x07", KMES_MP_EXT, 0, KMES_MP_TRUNCATED);
	FORM("\xc7\xff\x07", KMES_MP_EXT, 255, KMES_MP_LENGTH);
	FORM("\xc8\x01\x00\x07", KMES_MP_EXT, 256, KMES_MP_LENGTH);
	FORM("\xc9\x00\x01\x00\x00\x07", KMES_MP_EXT, 65536, KMES_MP_LENGTH);
#undef FORM
}

TEST(msgpack_ext_type_is_signed)
{
	assert_int_equal(TOKEN("\xd4\xff\x01").ext_type, -1);
	assert_int_equal(TOKEN("\xd4\x80\x01").ext_type, -128);
	assert_int_equal(TOKEN("\xc7\x01\x7f\x01").ext_type, 127);
}

/* [E3] */
TEST(msgpack_counts_decode_at_each_bound)
{
	static const struct {
		const char *head;
		unsigned int head_len;
		enum kmes_mp_type type;
		unsigned int count;
	} cases[] = {
		{ "\x90", 1, KMES_MP_ARRAY, 0 },
		{ "\x9f", 1, KMES_MP_ARRAY, 15 },
		{ "\xdc\x00\x00", 3, KMES_MP_ARRAY, 0 },
		{ "\xdc\xff\xff", 3, KMES_MP_ARRAY, 65535 },
		{ "\xdd\x00\x01\x00\x00", 5, KMES_MP_ARRAY, 65536 },
		{ "\x80", 1, KMES_MP_MAP, 0 },
		{ "\x8f", 1, KMES_MP_MAP, 15 },
		{ "\xde\x00\x01", 3, KMES_MP_MAP, 1 },
		{ "\xde\xff\xff", 3, KMES_MP_MAP, 65535 },
		{ "\xdf\x00\x01\x00\x00", 5, KMES_MP_MAP, 65536 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		unsigned int values = cases[i].count;
		size_t len = cases[i].head_len;
		struct kmes_mp_token tok = { 0 };
		__u8 *bytes;
		const __u8 *pos;

		if (cases[i].type == KMES_MP_MAP)
			values *= 2;
		bytes = calloc(1, len + values);
		assert_non_null(bytes);
		memcpy(bytes, cases[i].head, len);
		pos = bytes;
		assert_int_equal(kmes_mp_next(&pos, bytes + len + values, &tok), 0);
		assert_int_equal(tok.type, cases[i].type);
		assert_int_equal(tok.count, cases[i].count);
		assert_int_equal(kmes_mp_values(&tok), values);
		assert_ptr_equal(pos, bytes + len);
		assert_int_equal(check(bytes, len + values, 1), KMES_MP_OK);
		if (values)
			assert_int_equal(check(bytes, len + values - 1, 1),
					 KMES_MP_COUNT);
		free(bytes);
	}
}

/* No proper prefix of a value that uses every form is valid. [E3] */
TEST(msgpack_every_prefix_is_invalid)
{
	static const char all[] =
		"\xdc\x00\x13\x01\xe0\xc0\xc2\xc3\xcc\x80\xcd\x01\x00\xce\x00\x01\x00\x00"
		"\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xd0\x80\xd1\x80\x00\xd2\x80\x00\x00"
		"\x00\xd3\x80\x00\x00\x00\x00\x00\x00\x00\xca\x00\x00\x00\x00\xa1x\xc4\x01"
		"y\xd4\x01z\x91\x00\x82\x01\x02\xa1k\xd9\x02vw";

	assert_int_equal(CHECK(all, 2), KMES_MP_OK);
	for (size_t len = 1; len < sizeof(all) - 1; len++)
		assert_int_not_equal(check(all, len, 256), KMES_MP_OK);
}

/* [E3] */
TEST(msgpack_malformed_values_are_refused_with_a_reason)
{
	assert_int_equal(check("", 0, 32), KMES_MP_EMPTY);
	assert_int_equal(CHECK("\xc1", 32), KMES_MP_RESERVED);
	assert_int_equal(CHECK("\x91\xc1", 32), KMES_MP_RESERVED);
	assert_int_equal(CHECK("\x01\x02", 32), KMES_MP_TRAILING);
	assert_int_equal(CHECK("\x80\x80", 32), KMES_MP_TRAILING);
	assert_int_equal(CHECK("\xcf\x01", 32), KMES_MP_TRUNCATED);
	assert_int_equal(CHECK("\xd4", 32), KMES_MP_TRUNCATED);
	assert_string_equal(kmesp_mp_reason(KMES_MP_EMPTY), "empty");
	assert_string_equal(kmesp_mp_reason(KMES_MP_RESERVED), "reserved byte 0xc1");
	assert_string_equal(kmesp_mp_reason(KMES_MP_TRAILING), "bytes after the value");
	assert_string_equal(kmesp_mp_reason(KMES_MP_TRUNCATED), "ends inside a value");
	assert_string_equal(kmesp_mp_reason(KMES_MP_LENGTH),
			    "length exceeds the payload");
	assert_string_equal(kmesp_mp_reason(KMES_MP_COUNT), "count exceeds the payload");
	assert_string_equal(kmesp_mp_reason(KMES_MP_DEEP), "nested too deep");
}

/* Twice a map's count must not wrap: 0x80000001 pairs are 2 values in 32 bits. [E3] */
TEST(msgpack_huge_counts_and_lengths_are_refused)
{
	assert_int_equal(CHECK("\xdf\x80\x00\x00\x01\x01\x02", 32), KMES_MP_COUNT);
	assert_int_equal(CHECK("\xdf\x80\x00\x00\x00", 32), KMES_MP_COUNT);
	assert_int_equal(CHECK("\xdf\xff\xff\xff\xff", 32), KMES_MP_COUNT);
	assert_int_equal(CHECK("\xdd\xff\xff\xff\xff\x01", 32), KMES_MP_COUNT);
	assert_int_equal(CHECK("\xdb\xff\xff\xff\xff\x01", 32), KMES_MP_LENGTH);
	assert_int_equal(CHECK("\xc6\xff\xff\xff\xff\x01", 32), KMES_MP_LENGTH);
	assert_int_equal(CHECK("\xc9\xff\xff\xff\xff\x01", 32), KMES_MP_LENGTH);
}

/* [E3] */
TEST(msgpack_long_forms_of_small_values_are_accepted)
{
	assert_int_equal(CHECK("\xcf\x00\x00\x00\x00\x00\x00\x00\x00", 32), KMES_MP_OK);
	assert_int_equal(
		CHECK("\xdf\x00\x00\x00\x01\xdb\x00\x00\x00\x00\xdd\x00\x00\x00\x00", 32),
		KMES_MP_OK);
	assert_int_equal(CHECK("\xc7\x00\xff", 32), KMES_MP_OK);
	assert_int_equal(CHECK("\xd9\x01\xff", 32), KMES_MP_OK); /* not UTF-8 */
}

/* `levels` nested arrays; the innermost is empty or has one scalar. */
static enum kmes_mp_fault check_nest(unsigned int levels, int empty, __u32 max_depth)
{
	__u8 bytes[400];

	memset(bytes, 0x91, levels);
	if (empty)
		bytes[levels - 1] = 0x90;
	else
		bytes[levels++] = 0x07;
	return check(bytes, levels, max_depth);
}

/* [E3] */
TEST(msgpack_depth_counts_empty_containers_too)
{
	assert_int_equal(CHECK("\x07", 0), KMES_MP_OK);
	assert_int_equal(CHECK("\x90", 0), KMES_MP_DEEP);
	for (unsigned int depth = 1; depth <= 256; depth++) {
		assert_int_equal(check_nest(depth, 0, depth), KMES_MP_OK);
		assert_int_equal(check_nest(depth, 1, depth), KMES_MP_OK);
		assert_int_equal(check_nest(depth, 0, depth - 1), KMES_MP_DEEP);
		assert_int_equal(check_nest(depth, 1, depth - 1), KMES_MP_DEEP);
	}
	assert_int_equal(check_nest(257, 0, 1000), KMES_MP_DEEP);
	assert_int_equal(check_nest(257, 1, 0xffffffff), KMES_MP_DEEP);
}

/* [E3] */
TEST(msgpack_map_keys_and_values_are_one_deeper_than_the_map)
{
	assert_int_equal(CHECK("\x81\x01\x90", 2), KMES_MP_OK);
	assert_int_equal(CHECK("\x81\x01\x90", 1), KMES_MP_DEEP);
	assert_int_equal(CHECK("\x81\x90\x01", 2), KMES_MP_OK);
	assert_int_equal(CHECK("\x81\x90\x01", 1), KMES_MP_DEEP);
	/* Siblings do not add up. */
	assert_int_equal(CHECK("\x93\x91\x01\x80\x91\x90", 3), KMES_MP_OK);
	assert_int_equal(CHECK("\x93\x91\x01\x80\x91\x90", 2), KMES_MP_DEEP);
}

struct utf8_case {
	const char *bytes;
	int len;
	int decoded; /* what kmes_utf8_decode returns */
	__u32 cp;
};

/* [E4] */
TEST(utf8_code_points_decode_at_each_bound)
{
	static const struct utf8_case cases[] = {
		{ "\x00", 1, 1, 0 },
		{ "\x7f", 1, 1, 0x7f },
		{ "\xc2\x80", 2, 2, 0x80 },
		{ "\xdf\xbf", 2, 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 3, 0x800 },
		{ "\xed\x9f\xbf", 3, 3, 0xd7ff },
		{ "\xee\x80\x80", 3, 3, 0xe000 },
		{ "\xef\xbf\xbf", 3, 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		__u8 *copy = exact_copy(cases[i].bytes, cases[i].len);
		__u32 cp = 0xdead;

		assert_int_equal(kmes_utf8_decode(copy, cases[i].len, &cp),
				 cases[i].decoded);
		assert_int_equal(cp, cases[i].cp);
		assert_true(kmes_utf8_valid(copy, cases[i].len));
		for (int len = 1; len < cases[i].len; len++)
			assert_false(kmes_utf8_valid(copy, len));
		free(copy);
	}
}

/* [E4] */
TEST(utf8_ill_formed_bytes_are_refused)
{
	static const struct utf8_case cases[] = {
		{ "\x80", 1, -1, 0 },		      /* stray continuation byte */
		{ "\xbf", 1, -1, 0 },		      /* the same */
		{ "\xc0\x80", 2, -1, 0 },	      /* overlong NUL */
		{ "\xc1\xbf", 2, -1, 0 },	      /* overlong */
		{ "\xc2", 1, -1, 0 },		      /* truncated */
		{ "\xc2\x41", 2, -1, 0 },	      /* interrupted */
		{ "\xe0\x9f\xbf", 3, -1, 0 },	      /* overlong */
		{ "\xe2\x94", 2, -2, 0 },	      /* truncated */
		{ "\xe2\x94\x41", 3, -2, 0 },	      /* interrupted */
		{ "\xed\xa0\x80", 3, -1, 0 },	      /* surrogate d800 */
		{ "\xed\xbf\xbf", 3, -1, 0 },	      /* surrogate dfff */
		{ "\xf0\x8f\xbf\xbf", 4, -1, 0 },     /* overlong */
		{ "\xf0\x9f\x98", 3, -3, 0 },	      /* truncated */
		{ "\xf4\x90\x80\x80", 4, -1, 0 },     /* U+110000 */
		{ "\xf5\x80\x80\x80", 4, -1, 0 },     /* U+140000 */
		{ "\xf8\x88\x80\x80\x80", 5, -1, 0 }, /* five bytes */
		{ "\xff", 1, -1, 0 },		      /* never */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		__u8 *copy = exact_copy(cases[i].bytes, cases[i].len);
		__u32 cp;

		assert_int_equal(kmes_utf8_decode(copy, cases[i].len, &cp),
				 cases[i].decoded);
		assert_false(kmes_utf8_valid(copy, cases[i].len));
		free(copy);
	}
}

/* One bad or wide character at each position around the eight-byte steps. [E4] */
TEST(utf8_is_checked_at_every_position)
{
	assert_true(kmes_utf8_valid("", 0));
	for (size_t len = 1; len <= 40; len++) {
		for (size_t at = 0; at < len; at++) {
			__u8 *text = exact_copy(
				"0123456789012345678901234567890123456789", len);

			assert_true(kmes_utf8_valid(text, len));
			assert_int_equal(kmes_ascii_run(text, len), len);
			text[at] = 0xff;
			assert_false(kmes_utf8_valid(text, len));
			assert_int_equal(kmes_ascii_run(text, len), at);
			text[at] = 0xc3;
			if (at + 1 < len) {
				text[at + 1] = 0xa9;
				assert_true(kmes_utf8_valid(text, len));
			} else {
				assert_false(kmes_utf8_valid(text, len));
			}
			free(text);
		}
	}
}

/* Every code point, encoded here, is decoded to itself; surrogates are refused. [E4] */
TEST(utf8_every_code_point_decodes_to_itself)
{
	for (__u32 cp = 0x80; cp < 0x110000; cp++) {
		__u8 s[4];
		__u32 got = 0;
		int n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
		__u32 rest = cp;

		for (int i = n - 1; i > 0; i--, rest >>= 6)
			s[i] = 0x80 | (rest & 0x3f);
		s[0] = (0xf00 >> n & 0xff) | rest;
		if (cp >= 0xd800 && cp < 0xe000) {
			assert_int_equal(kmes_utf8_decode(s, n, &got), -1);
			continue;
		}
		assert_int_equal(kmes_utf8_decode(s, n, &got), n);
		assert_int_equal(got, cp);
	}
}
