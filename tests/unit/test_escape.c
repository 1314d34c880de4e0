// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Strings, keys and hex of every length, with a special byte at each position. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/sid_guid.h"
#include "print/value.h"
#include "unit.h"

#define LEN_MAX 52

static struct kmes_outbuf out;

static void setup(void)
{
	assert_int_equal(kmesp_outbuf_init(&out), 0);
}

static void teardown(void)
{
	kmesp_outbuf_fini(&out);
}
ALL_TESTS(setup, teardown);

/* A copy that ends with its allocation, so that a sanitizer sees any overrun. */
static uint8_t *exact(const char *s, uint32_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, s, len);
	return copy;
}

typedef char *(*put_fn)(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);

static void check(put_fn put, const char *s, uint32_t len, const char *expected)
{
	uint8_t *copy = exact(s, len);
	char *end = put(&out, out.data, copy, len);

	*end = '\0';
	assert_string_equal(out.data, expected);
	free(copy);
}

struct escape {
	const char *bytes;
	const char *text, *type, *json;
};

static const struct escape escapes[] = {
	{ "a", "a", "a", "a" },
	{ "~", "~", "~", "~" },
	{ "!", "!", "!", "!" },
	{ " ", " ", "\\x20", " " },
	{ "\"", "\\\"", "\"", "\\\"" },
	{ "\\", "\\\\", "\\\\", "\\\\" },
	{ "\n", "\\n", "\\n", "\\n" },
	{ "\x1f", "\\x1f", "\\x1f", "\\u001f" },
	{ "\x01", "\\x01", "\\x01", "\\u0001" },
	{ "\x7f", "\\x7f", "\\x7f", "\\u007f" },
	{ "\x80", "\\x80", "\\x80", "\xef\xbf\xbd" },
	{ "\xff", "\\xff", "\\xff", "\xef\xbf\xbd" },
	{ "\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9" },
};

#define EACH(item, array) for (item = array; item < array + COUNT(array); item++)

/* Letters with the special bytes at `at`, and the expected output. */
static void check_at(put_fn put, const char *bytes, const char *expected, uint32_t len,
		     uint32_t at)
{
	char s[3 * LEN_MAX], text[4 * LEN_MAX];

	snprintf(s, sizeof(s), "%.*s%s%.*s", (int)at,
		 "abcdefghijklmnopqrstuvwxyz"
		 "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		 bytes, (int)(len - at - 1),
		 "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA");
	snprintf(text, sizeof(text), "%.*s%s%s", (int)at, s, expected,
		 s + at + strlen(bytes));
	check(put, s, strlen(s), text);
}

/* Escapes do not depend on a byte's position. */
TEST(escape_each_byte_at_each_position)
{
	const struct escape *e;

	EACH(e, escapes)
	{
		for (uint32_t len = 1; len <= LEN_MAX; len++) {
			for (uint32_t at = 0; at < len; at++) {
				check_at(kmesp_put_escaped, e->bytes, e->text, len, at);
				check_at(kmesp_put_type, e->bytes, e->type, len, at);
				check_at(kmesp_put_json, e->bytes, e->json, len, at);
			}
		}
	}
}

static char *put_string_key(struct kmes_outbuf *buf, char *p, const uint8_t *s,
			    uint32_t len)
{
	struct kmes_mp_token tok = { .type = KMES_MP_STR, .data = s, .len = len };

	return kmesp_put_key(buf, p, &tok, false);
}

static bool is_bare(const char *key)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t len = strlen(key);

	return strspn(key, letters) &&
	       strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
			   "0123456789.-") == len;
}

TEST(escape_keys_are_bare_as_the_grammar_says)
{
	char key[LEN_MAX + 1], text[LEN_MAX + 3];

	for (uint32_t len = 1; len <= LEN_MAX; len++) {
		for (uint32_t at = 0; at < len; at++) {
			for (int c = 0x20; c < 0x7f; c++) {
				if (c == '"' || c == '\\')
					continue;
				memset(key, 'k', len);
				key[at] = c;
				key[len] = '\0';
				snprintf(text, sizeof(text),
					 is_bare(key) ? "%s" : "\"%s\"", key);
				check(put_string_key, key, len, text);
			}
		}
	}
	check(put_string_key, "true", 4, "\"true\"");
	check(put_string_key, "nil", 3, "\"nil\"");
	check(put_string_key, "nilly", 5, "nilly");
	check(put_string_key, "", 0, "\"\"");
}

TEST(escape_hex_of_each_length_and_byte)
{
	char bytes[256], text[513];

	for (int i = 0; i < 256; i++) {
		bytes[i] = (char)(i * 7 + 3);
		snprintf(text + 2 * i, 3, "%02x", (uint8_t)bytes[i]);
	}
	for (uint32_t len = 0; len <= sizeof(bytes); len++) {
		char expected[513];

		snprintf(expected, sizeof(expected), "%.*s", (int)(2 * len), text);
		check(kmesp_put_hex_all, bytes, len, expected);
	}
}

TEST(escape_guids_and_uuids_keep_their_order)
{
	static const uint8_t bytes[16] = {
		0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
		0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff
	};
	char text[KMES_GUID_TEXT + 1] = { 0 };

	assert_ptr_equal(kmesp_put_uuid(text, bytes), text + KMES_GUID_TEXT);
	assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
	assert_ptr_equal(kmesp_put_guid(text, bytes), text + KMES_GUID_TEXT);
	assert_string_equal(text, "33221100-5544-7766-8899-aabbccddeeff");
}
