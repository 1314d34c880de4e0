// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Parsing an event: fields, longer headers, impossible sizes [D6 E5 M9]. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kmes.h"
#include "unit.h"

/* An event of type "app.login" with a two-byte payload; 88 bytes. */
static const uint8_t login[] = {
	88,   0,    0,	  0,	86,   0,    0,	  0,	/* sizes */
	0x15, 0x81, 0xe9, 0x7d, 0xf4, 0x10, 0x22, 0x11, /* 1234567890123456789 */
	17,   0,    0,	  0,	1,    0,    0,	  0,	/* sequence */
	3,    2,    254,				/* CPU 515, origin */
	0xe0, 1,    2,	  3,	4,    5,    6,	  7,	8,    9, 10, 11,  12,
	13,   14,   15,	  0xf0, 1,    2,    3,	  4,	5,    6, 7,  8,	  9,
	10,   11,   12,	  13,	14,   15,   0xa0, 1,	2,    3, 4,  5,	  6,
	7,    8,    9,	  10,	11,   12,   13,	  14,	15,   9, 0,  'a', 'p',
	'p',  '.',  'l',  'o',	'g',  'i',  'n',  0x91, 0x07,
};

/* Parses a copy that ends where its allocation ends; the event must not be used after. */
static int parse(struct kmes_event *event, const uint8_t *bytes, size_t len, uint64_t max)
{
	uint8_t *copy = malloc(len ? len : 1);
	int ret;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	ret = kmes_event_parse(event, copy, len, max);
	free(copy);
	return ret;
}

static void put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

TEST(event_fields_are_parsed)
{
	struct kmes_event e;

	assert_int_equal(kmes_event_parse(&e, login, sizeof(login), 88), 1);
	assert_ptr_equal(e.bytes, login);
	assert_int_equal(e.size, 88);
	assert_true(e.ts_ns == 1234567890123456789);
	assert_true(e.seq == 4294967313);
	assert_int_equal(e.cpu, 515);
	assert_int_equal(e.origin, KMES_ORIGIN_TRACE);
	assert_int_equal(e.effective_token_guid[0], 0xe0);
	assert_int_equal(e.true_token_guid[0], 0xf0);
	assert_int_equal(e.process_guid[0], 0xa0);
	assert_int_equal(e.type_len, 9);
	assert_memory_equal(e.type, "app.login", 9);
	assert_int_equal(e.payload_len, 2);
	assert_memory_equal(e.payload, "\x91\x07", 2);
}

/* [M9] */
TEST(event_truncated_returns_the_needed_size)
{
	struct kmes_event e;

	for (size_t len = 0; len < sizeof(login); len++) {
		assert_int_equal(parse(&e, login, len, 4096), 0);
		assert_int_equal(e.size, len < 4 ? 77 : 88);
	}
	assert_int_equal(parse(&e, login, sizeof(login), 4096), 1);
}

TEST(event_payload_follows_a_longer_header)
{
	uint8_t grown[sizeof(login) + 8];
	struct kmes_event e;

	memcpy(grown, login, 86);
	memset(grown + 86, 0xee, 8);
	memcpy(grown + 94, login + 86, 2);
	put32(grown, 96);
	put32(grown + 4, 94);
	assert_int_equal(kmes_event_parse(&e, grown, sizeof(grown), 4096), 1);
	assert_int_equal(e.type_len, 9);
	assert_int_equal(e.payload_len, 2);
	assert_ptr_equal(e.payload, grown + 94);
}

TEST(event_without_payload_is_valid)
{
	uint8_t bytes[sizeof(login)];
	struct kmes_event e;

	memcpy(bytes, login, sizeof(login));
	put32(bytes, 86);
	assert_int_equal(kmes_event_parse(&e, bytes, sizeof(bytes), 4096), 1);
	assert_int_equal(e.payload_len, 0);
	assert_int_equal(e.size, 86);
}

/* [D6] */
TEST(event_with_impossible_sizes_is_refused)
{
	static const uint32_t event_sizes[] = { 0, 1, 76, 89, 0x7fffffff, 0xffffffff };
	static const uint32_t header_sizes[] = { 0, 1, 76, 77, 85, 89, 0xffffffff };
	uint8_t bytes[sizeof(login)];
	struct kmes_event e;

	for (size_t i = 0; i < COUNT(event_sizes); i++) {
		memcpy(bytes, login, sizeof(login));
		put32(bytes, event_sizes[i]);
		assert_int_equal(parse(&e, bytes, sizeof(bytes), 88), -EBADMSG);
		assert_int_equal(parse(&e, bytes, 4, 88), -EBADMSG);
	}
	for (size_t i = 0; i < COUNT(header_sizes); i++) {
		memcpy(bytes, login, sizeof(login));
		put32(bytes + 4, header_sizes[i]);
		assert_int_equal(parse(&e, bytes, sizeof(bytes), 88), -EBADMSG);
		assert_int_equal(parse(&e, bytes, 77, 88), -EBADMSG);
	}
	memcpy(bytes, login, sizeof(login));
	bytes[75] = 10; /* type_len past header_size */
	assert_int_equal(parse(&e, bytes, sizeof(bytes), 88), -EBADMSG);
	bytes[76] = 0xff;
	assert_int_equal(parse(&e, bytes, sizeof(bytes), 88), -EBADMSG);
}
