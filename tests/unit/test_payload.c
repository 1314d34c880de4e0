// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Walking payloads: positions, ends, hints from keys; and the width of code points. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"
#include "print/columns.h"
#include "unit.h"

/*
 * The walk as letters: T, I, K, V for a token at the top, as an item of an array, as a
 * key, as a value; a bracket after it if it is a container; then what follows: `.` the
 * end, `:` a value, `,` another item, and `)` for each container that ends.
 */
static const char *walk(const char *payload, size_t len)
{
	static char trace[2000];
	char *p = trace;
	const uint8_t *start = (const uint8_t *)payload;
	enum kmes_then then = KMES_THEN_NEXT;
	struct kmes_mp_token tok;
	struct kmes_walk w;

	assert_int_equal(kmesp_payload_check(start, len), KMES_MP_OK);
	kmesp_walk_init(&w, start, start + len);
	while (then != KMES_THEN_END) {
		*p++ = "TIKV"[kmesp_walk_place(&w)];
		kmesp_walk_next(&w, &tok);
		if (kmesp_token_opens(&tok)) {
			*p++ = '(';
			continue;
		}
		then = kmesp_walk_done(&w, &tok);
		for (; then == KMES_THEN_CLOSE; then = kmesp_walk_done(&w, NULL))
			*p++ = ')';
		*p++ = then == KMES_THEN_END ? '.' : then == KMES_THEN_VALUE ? ':' : ',';
	}
	assert_ptr_equal(w.pos, start + len);
	*p = 0;
	return trace;
}

#define WALK(literal) walk(literal, sizeof(literal) - 1)

TEST(payload_walk_reports_positions_and_ends)
{
	assert_string_equal(WALK("\x07"), "T.");
	assert_string_equal(WALK("\x80"), "T.");
	assert_string_equal(WALK("\x92\x01\x02"), "T(I,I).");
	assert_string_equal(WALK("\x82\x01\x02\x03\x04"), "T(K:V,K:V).");
	assert_string_equal(WALK("\x81\x01\x92\x02\x81\x03\x90"), "T(K:V(I,I(K:V))).");
	assert_string_equal(WALK("\x82\x91\x01\x02\x81\x03\x04\x05"),
			    "T(K(I):V,K(K:V):V).");
	assert_string_equal(WALK("\x93\x91\x91\x01\x90\x02"), "T(I(I(I)),I,I).");
}

TEST(payload_walk_reaches_256_levels)
{
	char bytes[257], expected[1200], *p = expected;

	memset(bytes, 0x91, 256);
	bytes[256] = 1;
	*p++ = 'T';
	for (int i = 0; i < 256; i++) {
		*p++ = '(';
		*p++ = 'I';
	}
	memset(p, ')', 256);
	strcpy(p + 256, ".");
	assert_string_equal(walk(bytes, 257), expected);
}

/* The hint of each value, as a letter. */
static const char *hints(const char *payload, size_t len)
{
	static char trace[200];
	char *p = trace;
	const uint8_t *start = (const uint8_t *)payload;
	enum kmes_then then = KMES_THEN_NEXT;
	struct kmes_mp_token tok;
	struct kmes_walk w;

	assert_int_equal(kmesp_payload_check(start, len), KMES_MP_OK);
	kmesp_walk_init(&w, start, start + len);
	while (then != KMES_THEN_END) {
		*p++ = "-sSga"[w.hint];
		kmesp_walk_next(&w, &tok);
		if (kmesp_token_opens(&tok))
			continue;
		then = kmesp_walk_done(&w, &tok);
		while (then == KMES_THEN_CLOSE)
			then = kmesp_walk_done(&w, NULL);
	}
	*p = 0;
	return trace;
}

#define HINTS(literal) hints(literal, sizeof(literal) - 1)

TEST(payload_hints_apply_to_their_values_only)
{
	assert_string_equal(HINTS("\x82\xa3sid\x01\xa1x\x02"), "--s--");
	assert_string_equal(HINTS("\x81\xa4sids\x93\x01\x02\x03"), "--Ssss");
	assert_string_equal(HINTS("\x81\xa4sids\x92\x91\x01\x02"), "--Ss-s");
	assert_string_equal(HINTS("\x81\xa4sids\x92\x81\xa1k\x01\x02"), "--Ss--s");
	assert_string_equal(HINTS("\x81\xa3sid\x92\x01\x02"), "--s--");
	assert_string_equal(HINTS("\x81\xa4guid\x81\xa6"
				  "access\x01"),
			    "--g-a");
	assert_string_equal(HINTS("\x81\x91\xa3sid\x01"), "----");
	assert_string_equal(HINTS("\x81\xc4\x03sid\x01"), "---");
}

TEST(payload_hints_follow_from_key_suffixes)
{
	static const struct {
		const char *key;
		enum kmes_hint hint;
	} cases[] = {
		{ "sid", KMES_HINT_SID },
		{ "user_sid", KMES_HINT_SID },
		{ "usersid", KMES_HINT_SID },
		{ "id", KMES_HINT_NONE },
		{ "sidx", KMES_HINT_NONE },
		{ "sids", KMES_HINT_SIDS },
		{ "group.sids", KMES_HINT_SIDS },
		{ "guid", KMES_HINT_GUID },
		{ "process_guid", KMES_HINT_GUID },
		{ "uid", KMES_HINT_NONE },
		{ "access", KMES_HINT_ACCESS },
		{ "_access", KMES_HINT_ACCESS },
		{ "a_access", KMES_HINT_ACCESS },
		{ "last_access", KMES_HINT_NONE },
		{ "at_last_access", KMES_HINT_ACCESS },
		{ "xaccess", KMES_HINT_NONE },
		{ "Access", KMES_HINT_NONE },
		{ "", KMES_HINT_NONE },
		{ "d", KMES_HINT_NONE },
		{ "s", KMES_HINT_NONE },
		{ "GUID", KMES_HINT_NONE },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *key = cases[i].key;

		if (kmesp_hint_of_key((const uint8_t *)key, strlen(key)) != cases[i].hint)
			fail_msg("wrong hint for '%s'", key);
	}
}

TEST(payload_check_returns_the_fault)
{
	assert_int_equal(kmesp_payload_check((const uint8_t *)"", 0), KMES_MP_EMPTY);
	assert_int_equal(kmesp_payload_check((const uint8_t *)"\xc1", 1),
			 KMES_MP_RESERVED);
	assert_int_equal(kmesp_payload_check((const uint8_t *)"\x90", 1), KMES_MP_OK);
}

TEST(columns_match_a_terminal)
{
	static const struct {
		uint32_t cp;
		unsigned int columns;
	} cases[] = {
		{ 'a', 1 },	{ 0xe9, 1 },	{ 0x301, 0 },	 { 0x416, 1 },
		{ 0x5d0, 1 },	{ 0x5b0, 0 },	{ 0xe31, 0 },	 { 0x1100, 2 },
		{ 0x1160, 0 },	{ 0x20ac, 1 },	{ 0x20d0, 0 },	 { 0x231a, 2 },
		{ 0x3042, 2 },	{ 0x4e00, 2 },	{ 0x9fff, 2 },	 { 0xac00, 2 },
		{ 0xd7a3, 2 },	{ 0xfe0f, 0 },	{ 0xff01, 2 },	 { 0xff61, 1 },
		{ 0xfffd, 1 },	{ 0x1f600, 2 }, { 0x20000, 2 },	 { 0x2fffd, 2 },
		{ 0x3fffd, 2 }, { 0xe0100, 0 }, { 0x10ffff, 1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (kmesp_code_point_columns(cases[i].cp) != cases[i].columns)
			fail_msg("U+%04X is not %u columns wide", cases[i].cp,
				 cases[i].columns);
}
