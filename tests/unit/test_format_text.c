/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The text formats, to the letter: values, escapes, conventions, times, colours, widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sample.h"

static struct kmes_formatter with(const struct kmes_format *format,
				  struct kmes_format_options options)
{
	struct kmes_formatter f;

	kmes_formatter_init(&f, format, &options);
	return f;
}

static const char *print(const struct kmes_format *format, const void *payload,
			 size_t len, struct kmes_format_options options)
{
	struct kmes_formatter f = with(format, options);
	struct kmes_event event = sample_event(payload, len);

	return sample_format(&f, &event);
}

#define HEAD "cpu0  #17  USR  t"
#define NO_TIME                                                                          \
	(struct kmes_format_options)                                                     \
	{                                                                                \
		.time = KMES_TIME_NONE                                                   \
	}

/* The line of a payload given as a literal, and of a value alone. */
#define assert_line(literal, text)                                                       \
	assert_string_equal(print(&kmes_format_text, literal, sizeof(literal) - 1,       \
				  NO_TIME),                                              \
			    text "\n")
#define assert_text(literal, text) assert_line(literal, HEAD "  " text)

#define assert_block(literal, text)                                                      \
	assert_string_equal(print(&kmes_format_pretty, literal, sizeof(literal) - 1,     \
				  NO_TIME),                                              \
			    HEAD "\n" text)

static void text_scalars_print_to_the_letter(void **state)
{
	(void)state;
	assert_text("\xc0", "nil");
	assert_text("\xc2", "false");
	assert_text("\xc3", "true");
	assert_text("\x00", "0");
	assert_text("\x63", "99");
	assert_text("\xcc\x64", "100");
	assert_text("\xff", "-1");
	assert_text("\xcd\x03\xe8", "1000");
	assert_text("\xce\x00\x0f\x42\x40", "1000000");
	assert_text("\xcf\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993");
	assert_text("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615");
	assert_text("\xcf\x8a\xc7\x23\x04\x89\xe8\x00\x00", "10000000000000000000");
	assert_text("\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808");
	assert_text("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "0.1");
	assert_text("\xcb\x40\x59\x00\x00\x00\x00\x00\x00", "100.0");
	assert_text("\xcb\x7e\x37\xe4\x3c\x88\x00\x75\x9c", "1e300");
	assert_text("\xca\x3d\xcc\xcc\xcd", "0.1");
	assert_text("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "nan");
	assert_text("\xca\x7f\xc0\x00\x00", "nan");
	assert_text("\xca\x7f\x80\x00\x00", "inf");
	assert_text("\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", "-inf");
	assert_text("\xa0", "\"\"");
	assert_text("\xa2hi", "\"hi\"");
	assert_text("\xc4\x00", "0x");
	assert_text("\xc4\x03\x00\xab\xff", "0x00abff");
	assert_text("\xd4\x05\x7f", "ext(5, 0x7f)");
	assert_text("\xc7\x00\x80", "ext(-128, 0x)");
}

static void text_containers_print_to_the_letter(void **state)
{
	(void)state;
	assert_text("\x80", "{}");
	assert_text("\x90", "[]");
	assert_text("\x93\x01\x90\x80", "[1, [], {}]");
	assert_text("\x82\xa1"
		    "a\x01\xa1"
		    "b\x92\x02\x81\xa1"
		    "c\xc0",
		    "{a: 1, b: [2, {c: nil}]}");
	assert_text("\x92\x91\x91\x01\x02", "[[[1]], 2]");
	assert_text("\x82\xa1"
		    "k\x01\xa1k\x02",
		    "{k: 1, k: 2}");
}

static void text_without_payload_ends_behind_the_type(void **state)
{
	(void)state;
	assert_line("", HEAD);
	assert_string_equal(print(&kmes_format_hex, "", 0, NO_TIME), HEAD "\n");
	assert_string_equal(print(&kmes_format_pretty, "", 0, NO_TIME), HEAD "\n");
}

static void text_keys_are_bare_where_that_is_clear(void **state)
{
	(void)state;
	assert_text("\x81\xa9user.na-m\xc0", "{user.na-m: nil}");
	assert_text("\x81\xa3_A9\xc0", "{_A9: nil}");
	assert_text("\x81\xa0\xc0", "{\"\": nil}");
	assert_text("\x81\xa1"
		    "9\xc0",
		    "{\"9\": nil}");
	assert_text("\x81\xa2-a\xc0", "{\"-a\": nil}");
	assert_text("\x81\xa3"
		    "a b\xc0",
		    "{\"a b\": nil}");
	assert_text("\x81\xa2"
		    "a:\xc0",
		    "{\"a:\": nil}");
	assert_text("\x81\xa2\xc3\xa9\xc0", "{\"\xc3\xa9\": nil}");
	assert_text("\x81\xa3nil\xc0", "{\"nil\": nil}");
	assert_text("\x81\xa4true\xc0", "{\"true\": nil}");
	assert_text("\x81\xa5"
		    "false\xc0",
		    "{\"false\": nil}");
	assert_text("\x81\xa3nan\xc0", "{\"nan\": nil}");
	assert_text("\x81\xa3inf\xc0", "{\"inf\": nil}");
	assert_text("\x81\xa4nils\xc0", "{nils: nil}");
	assert_text("\x81\xa1$\xc0", "{\"$\": nil}");
}

static void text_keys_that_are_no_strings_print_as_values(void **state)
{
	(void)state;
	assert_text("\x81\x01\x02", "{1: 2}");
	assert_text("\x81\xff\x02", "{-1: 2}");
	assert_text("\x81\xc0\xc3", "{nil: true}");
	assert_text("\x81\xc4\x01\xaa\x02", "{0xaa: 2}");
	assert_text("\x81\x92\x01\xa1x\x02", "{[1, \"x\"]: 2}");
	assert_text("\x81\x81\xa1x\x01\x80", "{{x: 1}: {}}");
	assert_text("\x81\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\x02", "{1.5: 2}");
}

/* A stranger's text cannot end the line, the field or the string, nor move a cursor. */
static void text_strings_are_escaped(void **state)
{
	(void)state;
	assert_text("\xa3"
		    "a\"b",
		    "\"a\\\"b\"");
	assert_text("\xa3"
		    "a\\b",
		    "\"a\\\\b\"");
	assert_text("\xa3\n\r\t", "\"\\n\\r\\t\"");
	assert_text("\xa4\x00\x01\x1b\x7f", "\"\\x00\\x01\\x1b\\x7f\"");
	assert_text("\xa7\x1b[2J\x07.\x08", "\"\\x1b[2J\\x07.\\x08\"");
	assert_text("\xa2\xff\xfe", "\"\\xff\\xfe\"");
	assert_text("\xa3\xe2\x94\x41", "\"\\xe2\\x94A\"");
	assert_text("\xa3\xed\xa0\x80", "\"\\xed\\xa0\\x80\"");
	assert_text("\xa2\xc2\x9b", "\"\\u009b\"");
	assert_text("\xa4\xc2\x80\xc2\x9f", "\"\\u0080\\u009f\"");
	assert_text("\xa2\xc2\xa0", "\"\xc2\xa0\"");
	assert_text("\xa2\xd8\x9c", "\"\\u061c\"");
	assert_text("\xa3\xe2\x80\x8a", "\"\xe2\x80\x8a\"");
	assert_text("\xa6\xe2\x80\x8b\xe2\x80\x8f", "\"\\u200b\\u200f\"");
	assert_text("\xa3\xe2\x80\x90", "\"\xe2\x80\x90\"");
	assert_text("\xa3\xe2\x80\xa7", "\"\xe2\x80\xa7\"");
	assert_text("\xa6\xe2\x80\xa8\xe2\x80\xae", "\"\\u2028\\u202e\"");
	assert_text("\xa3\xe2\x80\xaf", "\"\xe2\x80\xaf\"");
	assert_text("\xa3\xe2\x81\x9f", "\"\xe2\x81\x9f\"");
	assert_text("\xa6\xe2\x81\xa0\xe2\x81\xa9", "\"\\u2060\\u2069\"");
	assert_text("\xa3\xe2\x81\xaa", "\"\xe2\x81\xaa\"");
	assert_text("\xa3\xef\xbb\xbf", "\"\\ufeff\"");
	assert_text("\xa6\xef\xbf\xb9\xef\xbf\xbb", "\"\\ufff9\\ufffb\"");
	assert_text("\xa3\xef\xbf\xbc", "\"\xef\xbf\xbc\"");
	assert_text("\xa8\xf3\xa0\x80\x80\xf3\xa0\x81\xbf", "\"\\U000e0000\\U000e007f\"");
	assert_text("\xa4\xf3\xa0\x82\x80", "\"\xf3\xa0\x82\x80\"");
	assert_text("\xa4\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
	/* seen by a neighbour whose char was signed */
	assert_text("\x81\xa1m\xa5\xe2\x94\x94\xc3\xa9", "{m: \"\xe2\x94\x94\xc3\xa9\"}");
}

/* The same at every place of a string around the steps of eight and the pieces of 512. */
static void text_strings_are_escaped_at_every_place(void **state)
{
	static char payload[3 + 1100];
	static char expected[8000];

	(void)state;
	for (size_t len = 1; len <= 1100; len += len < 40 ? 1 : 53) {
		for (size_t at = 0; at < len; at += len < 40 || at > 500 ? 1 : 7) {
			char *p;

			payload[0] = (char)0xda;
			payload[1] = (char)(len >> 8);
			payload[2] = (char)len;
			memset(payload + 3, 'a', len);
			payload[3 + at] = '\x1b';
			p = expected +
			    sprintf(expected, HEAD "  \"%.*s\\x1b", (int)at, payload + 3);
			sprintf(p, "%.*s\"\n", (int)(len - at - 1), payload + 3 + at + 1);
			assert_string_equal(print(&kmes_format_text, payload, len + 3,
						  NO_TIME),
					    expected);
		}
	}
}

static void text_type_cannot_forge_a_field(void **state)
{
	struct kmes_formatter f = with(&kmes_format_text, NO_TIME);
	struct kmes_event event = sample_event("\x01", 1);

	(void)state;
	event.type = "a b\\c\n\x1b[m\"\xff\xe2\x80\xae\xc3\xa9";
	event.type_len = strlen(event.type);
	assert_string_equal(sample_format(&f, &event),
			    "cpu0  #17  USR  "
			    "a\\x20b\\\\c\\n\\x1b[m\"\\xff\\u202e\xc3\xa9  1\n");
	event.type = "x  0x00";
	event.type_len = 7;
	assert_string_equal(sample_format(&f, &event),
			    "cpu0  #17  USR  x\\x20\\x200x00  1\n");
	event.type_len = 0;
	assert_string_equal(sample_format(&f, &event), "cpu0  #17  USR  -  1\n");
}

#define FIVE(x) x x x x x
#define PARTS_5 FIVE("\x01\x00\x00\x00")
#define PARTS_15 PARTS_5 PARTS_5 PARTS_5
#define HEX_PARTS_5 FIVE("01000000")
#define HEX_PARTS_15 HEX_PARTS_5 HEX_PARTS_5 HEX_PARTS_5
#define SYSTEM_SID "\xc4\x0c\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00"

static void text_binary_under_sid_is_a_sid_when_it_is_one(void **state)
{
	(void)state;
	assert_text("\x81\xa3sid" SYSTEM_SID, "{sid: S-1-5-18}");
	assert_text("\x81\xa8user_sid" SYSTEM_SID, "{user_sid: S-1-5-18}");
	assert_text("\x81\xa3sid\xc4\x10\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00"
		    "\x20\x02\x00\x00",
		    "{sid: S-1-5-32-544}");
	assert_text("\x81\xa3sid\xc4\x0c\x01\x01\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff",
		    "{sid: S-1-0x000100000000-4294967295}");
	assert_text("\x81\xa4sids\x92" SYSTEM_SID SYSTEM_SID,
		    "{sids: [S-1-5-18, S-1-5-18]}");
	assert_text("\x81\xaagroup_sids\x91" SYSTEM_SID, "{group_sids: [S-1-5-18]}");
	assert_text("\x81\xa4user" SYSTEM_SID, "{user: 0x010100000000000512000000}");
	assert_text("\x81\xa4sids" SYSTEM_SID, "{sids: 0x010100000000000512000000}");
	assert_text("\x81\xa3sid\x91" SYSTEM_SID, "{sid: [0x010100000000000512000000]}");
	assert_text("\x81\xa4sids\x91\x91" SYSTEM_SID,
		    "{sids: [[0x010100000000000512000000]]}");
	assert_text("\x81\xa4sids\x92\x80" SYSTEM_SID, "{sids: [{}, S-1-5-18]}");
	assert_text("\x81\xa4sids\x92\x91\x01" SYSTEM_SID, "{sids: [[1], S-1-5-18]}");
	assert_text("\x81\xa3SID" SYSTEM_SID, "{SID: 0x010100000000000512000000}");
	assert_text("\x82\xa3sid\x01\xa1x" SYSTEM_SID,
		    "{sid: 1, x: 0x010100000000000512000000}");
	/* fifteen parts, and none, are the limits */
	assert_text("\x81\xa3sid\xc4\x44\x01\x0f\x00\x00\x00\x00\x00\x05" PARTS_15,
		    "{sid: S-1-5-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1}");
	assert_text("\x81\xa3sid\xc4\x48\x01\x10\x00\x00\x00\x00\x00\x05" PARTS_15
		    "\x01\x00\x00\x00",
		    "{sid: 0x0110000000000005" HEX_PARTS_15 "01000000}");
	assert_text("\x81\xa3sid\xc4\x08\x01\x00\x00\x00\x00\x00\x00\x05",
		    "{sid: S-1-5}");
	/* not well-formed: revision, count of parts against the length */
	assert_text("\x81\xa3sid\xc4\x0c\x02\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00",
		    "{sid: 0x020100000000000512000000}");
	assert_text("\x81\xa3sid\xc4\x0c\x01\x02\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00",
		    "{sid: 0x010200000000000512000000}");
	assert_text("\x81\xa3sid\xc4\x07\x01\x00\x00\x00\x00\x00\x00",
		    "{sid: 0x01000000000000}");
	assert_text("\x81\xa3sid\xa3"
		    "abc",
		    "{sid: \"abc\"}");
}

static void text_sixteen_bytes_under_guid_are_a_guid(void **state)
{
#define GUID_BYTES "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	(void)state;
	assert_text("\x81\xa4guid\xc4\x10" GUID_BYTES,
		    "{guid: 00112233-4455-6677-8899-aabbccddeeff}");
	assert_text("\x81\xaa"
		    "child_guid\xc4\x10" GUID_BYTES,
		    "{child_guid: 00112233-4455-6677-8899-aabbccddeeff}");
	assert_text("\x81\xa4uuid\xc4\x10" GUID_BYTES,
		    "{uuid: 0x33221100554477668899aabbccddeeff}");
	assert_text("\x81\xa4guid\xc4\x0f\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb"
		    "\xcc\xdd\xee",
		    "{guid: 0x33221100554477668899aabbccddee}");
}

static void text_access_is_a_mask_with_names(void **state)
{
	(void)state;
	assert_text(
		"\x81\xa6"
		"access\xce\x00\x12\x00\x89",
		"{access: 0x00120089(FILE_READ_DATA|FILE_READ_EA|FILE_READ_ATTRIBUTES|"
		"READ_CONTROL|SYNCHRONIZE)}");
	assert_text(
		"\x81\xae"
		"desired_access\xce\xf3\x00\x02\x00",
		"{desired_access: 0xf3000200(ACCESS_SYSTEM_SECURITY|MAXIMUM_ALLOWED|"
		"GENERIC_ALL|GENERIC_EXECUTE|GENERIC_WRITE|GENERIC_READ|0x00000200)}");
	assert_text("\x81\xa6"
		    "access\x00",
		    "{access: 0x00000000()}");
	assert_text("\x81\xa6"
		    "access\xcd\x02\x00",
		    "{access: 0x00000200(0x00000200)}");
	assert_text("\x81\xa7_access\x01", "{_access: 0x00000001(FILE_READ_DATA)}");
	assert_text("\x81\xablast_access\x01", "{last_access: 1}");
	assert_text("\x81\xa9my.access\x01", "{my.access: 1}");
	assert_text("\x81\xa6"
		    "access\xff",
		    "{access: -1}");
	assert_text("\x81\xa6"
		    "access\xcf\x00\x00\x00\x01\x00\x00\x00\x00",
		    "{access: 4294967296}");
	assert_text("\x81\xa6"
		    "access\x91\x01",
		    "{access: [1]}");
}

static void text_timestamps_print_as_iso_8601(void **state)
{
	(void)state;
	assert_text("\xd6\xff\x00\x00\x00\x00", "1970-01-01T00:00:00.000000000Z");
	assert_text("\xd6\xff\xff\xff\xff\xff", "2106-02-07T06:28:15.000000000Z");
	assert_text("\xd7\xff\xee\x6b\x27\xfc\x6b\x0c\x89\x42",
		    "2026-11-29T20:21:22.999999999Z");
	assert_text("\xd7\xff\x00\x00\x00\x03\xff\xff\xff\xff",
		    "2514-05-30T01:53:03.000000000Z");
	assert_text("\xc7\x0c\xff\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff",
		    "1969-12-31T23:59:59.000000001Z");
	assert_text("\xc7\x0c\xff\x3b\x9a\xc9\xff\x00\x00\x00\x3a\xff\xf4\x41\x7f",
		    "9999-12-31T23:59:59.999999999Z");
	assert_text("\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xf1\x86\x8b\x84\x00",
		    "0000-01-01T00:00:00.000000000Z");
	/* leap days */
	assert_text("\xd6\xff\x38\xbb\x0c\x00", "2000-02-29T00:00:00.000000000Z");
	assert_text("\xd6\xff\x65\xdf\xc8\xff", "2024-02-28T23:59:59.000000000Z");
	assert_text("\xd6\xff\x65\xdf\xc9\x00", "2024-02-29T00:00:00.000000000Z");
	assert_text("\xd6\xff\x65\xe1\x1a\x80", "2024-03-01T00:00:00.000000000Z");
	assert_text("\xd6\xff\xf4\xd2\xce\x00", "2100-02-28T00:00:00.000000000Z");
	assert_text("\xd6\xff\xf4\xd4\x1f\x80", "2100-03-01T00:00:00.000000000Z");
	assert_text("\xd7\xff\x00\x00\x00\x03\x29\x1b\x65\x80",
		    "2400-02-29T00:00:00.000000000Z");
	assert_text("\xd7\xff\x00\x00\x00\x03\x29\x1c\xb7\x00",
		    "2400-03-01T00:00:00.000000000Z");
	/* years of five digits, a second of nanoseconds, other lengths and types */
	assert_text("\xc7\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x3a\xff\xf4\x41\x80",
		    "ext(-1, 0x000000000000003afff44180)");
	assert_text("\xc7\x0c\xff\x3b\x9a\xca\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		    "ext(-1, 0x3b9aca000000000000000000)");
	assert_text("\xd7\xff\xee\x6b\x28\x00\x00\x00\x00\x00",
		    "ext(-1, 0xee6b280000000000)");
	assert_text("\xd4\xff\x01", "ext(-1, 0x01)");
	assert_text("\xd6\xfe\x00\x00\x00\x00", "ext(-2, 0x00000000)");
}

static void text_what_does_not_decode_prints_why_and_its_bytes(void **state)
{
	char deep[258];

	(void)state;
	assert_text("\xc1", "<1 bytes, not MessagePack: reserved byte 0xc1> 0xc1");
	assert_text("\x01\x02",
		    "<2 bytes, not MessagePack: bytes after the value> 0x0102");
	assert_text("\x91", "<1 bytes, not MessagePack: count exceeds the payload> 0x91");
	assert_text(
		"\xdb\xff\xff\xff\xff",
		"<5 bytes, not MessagePack: length exceeds the payload> 0xdbffffffff");
	assert_text("\x92\x01\xcd",
		    "<3 bytes, not MessagePack: ends inside a value> 0x9201cd");
	memset(deep, 0x91, 257);
	deep[256] = (char)0x90;
	assert_memory_equal(print(&kmes_format_text, deep, 257, NO_TIME),
			    HEAD "  <257 bytes, not MessagePack: nested too deep> 0x9191",
			    65);
	assert_block("\xc1", "    <1 bytes, not MessagePack: reserved byte 0xc1> 0xc1\n");
}

static void text_goes_256_levels_deep(void **state)
{
	char bytes[256], expected[600];

	(void)state;
	memset(bytes, 0x91, 255);
	bytes[255] = (char)0x90;
	strcpy(expected, HEAD "  ");
	memset(expected + 19, '[', 256);
	memset(expected + 19 + 256, ']', 256);
	strcpy(expected + 19 + 512, "\n");
	assert_string_equal(print(&kmes_format_text, bytes, 256, NO_TIME), expected);
}

static void text_head_shows_cpu_sequence_and_origin(void **state)
{
	static const struct {
		uint8_t origin;
		const char *text;
	} cases[] = {
		{ 0, "cpu65535  #18446744073709551615  USR  t\n" },
		{ 1, "cpu65535  #18446744073709551615  KMES  t\n" },
		{ 2, "cpu65535  #18446744073709551615  KACS  t\n" },
		{ 3, "cpu65535  #18446744073709551615  LCS  t\n" },
		{ 4, "cpu65535  #18446744073709551615  c4  t\n" },
		{ 77, "cpu65535  #18446744073709551615  c77  t\n" },
		{ 253, "cpu65535  #18446744073709551615  c253  t\n" },
		{ 254, "cpu65535  #18446744073709551615  TRACE  t\n" },
		{ 255, "cpu65535  #18446744073709551615  HOST  t\n" },
	};
	struct kmes_formatter f = with(&kmes_format_text, NO_TIME);
	struct kmes_event event = sample_event("", 0);

	(void)state;
	event.cpu = 65535;
	event.seq = UINT64_MAX;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		event.origin = cases[i].origin;
		assert_string_equal(sample_format(&f, &event), cases[i].text);
	}
}

/* The time field alone of an event stamped so. */
static const char *time_of(struct kmes_formatter *f, uint64_t ts_ns)
{
	static char field[64];
	struct kmes_event event = sample_event("", 0);
	const char *line;

	event.ts_ns = ts_ns;
	line = sample_format(f, &event);
	snprintf(field, sizeof(field), "%.*s", (int)(strstr(line, "  cpu0") - line),
		 line);
	return field;
}

static void text_time_prints_in_each_style(void **state)
{
	struct kmes_formatter f;

	(void)state;
	f = with(&kmes_format_text,
		 (struct kmes_format_options){ .time = KMES_TIME_CLOCK });
	assert_string_equal(time_of(&f, SAMPLE_NS), "20:21:22.123456");
	assert_string_equal(time_of(&f, SAMPLE_NS + 876543211), "20:21:23.000000");
	assert_string_equal(time_of(&f, SAMPLE_NS), "20:21:22.123456");
	assert_string_equal(time_of(&f, 0), "00:00:00.000000");
	f = with(&kmes_format_text,
		 (struct kmes_format_options){ .time = KMES_TIME_ISO });
	assert_string_equal(time_of(&f, 0), "1970-01-01T00:00:00.000000000Z");
	assert_string_equal(time_of(&f, SAMPLE_NS), "2026-11-29T20:21:22.123456789Z");
	assert_string_equal(time_of(&f, UINT64_MAX), "2554-07-21T23:34:33.709551615Z");
	f = with(&kmes_format_text,
		 (struct kmes_format_options){ .time = KMES_TIME_EPOCH });
	assert_string_equal(time_of(&f, SAMPLE_NS), "1795983682.123456789");
	assert_string_equal(time_of(&f, 1), "0.000000001");
	assert_string_equal(time_of(&f, UINT64_MAX), "18446744073.709551615");
}

static void text_time_delta_counts_from_the_event_before(void **state)
{
	struct kmes_formatter f =
		with(&kmes_format_text,
		     (struct kmes_format_options){ .time = KMES_TIME_DELTA });
	struct kmes_loss loss = { .first = 1, .last = 2, .ts_ns = 1 };
	struct kmes_outbuf out;

	(void)state;
	assert_string_equal(time_of(&f, SAMPLE_NS), "+0.000000");
	assert_string_equal(time_of(&f, SAMPLE_NS + 1500000), "+0.001500");
	/* a loss is no event */
	assert_int_equal(kmes_outbuf_init(&out), 0);
	kmes_formatter_loss(&f, &out, &loss);
	kmes_outbuf_fini(&out);
	assert_string_equal(time_of(&f, SAMPLE_NS + 1500999), "+0.000000");
	assert_string_equal(time_of(&f, SAMPLE_NS - 12000000000), "-12.001500");
	assert_string_equal(time_of(&f, UINT64_MAX), "+16650760403.586094");
}

static void text_time_local_follows_the_time_zone(void **state)
{
	struct kmes_formatter f =
		with(&kmes_format_text,
		     (struct kmes_format_options){ .time = KMES_TIME_LOCAL });

	(void)state;
	setenv("TZ", "XYZ-3:30", 1);
	tzset();
	assert_string_equal(time_of(&f, SAMPLE_NS), "23:51:22.123456");
	assert_string_equal(time_of(&f, SAMPLE_NS + 1000000), "23:51:22.124456");
	assert_string_equal(time_of(&f, SAMPLE_NS + 600000000000), "00:01:22.123456");
	unsetenv("TZ");
	tzset();
}

static void text_time_styles_have_names(void **state)
{
	(void)state;
	assert_int_equal(kmes_time_style_find("clock"), KMES_TIME_CLOCK);
	assert_int_equal(kmes_time_style_find("local"), KMES_TIME_LOCAL);
	assert_int_equal(kmes_time_style_find("iso"), KMES_TIME_ISO);
	assert_int_equal(kmes_time_style_find("epoch"), KMES_TIME_EPOCH);
	assert_int_equal(kmes_time_style_find("delta"), KMES_TIME_DELTA);
	assert_int_equal(kmes_time_style_find("none"), KMES_TIME_NONE);
	assert_true(kmes_time_style_find("Clock") < 0);
	assert_true(kmes_time_style_find("") < 0);
}

static void text_hex_prints_the_payload_undecoded(void **state)
{
	(void)state;
	assert_string_equal(print(&kmes_format_hex, "\x81\xa1k\x1b", 4, NO_TIME),
			    HEAD "  0x81a16b1b\n");
	assert_string_equal(print(&kmes_format_hex, "\xc1", 1, NO_TIME), HEAD "  0xc1\n");
}

static void text_pretty_prints_a_block(void **state)
{
	(void)state;
	assert_block("\x07", "    7\n");
	assert_block("\x80", "    {}\n");
	assert_block("\x92\x01\xa1x", "    - 1\n"
				      "    - \"x\"\n");
	assert_block("\x83\xa4user\xa3"
		     "ann\xa4list\x92\x01\x82\xa1"
		     "a\x02\xa1"
		     "b\x90\xa6"
		     "access\x01",
		     "    user: \"ann\"\n"
		     "    list:\n"
		     "        - 1\n"
		     "        -\n"
		     "            a: 2\n"
		     "            b: []\n"
		     "    access: 0x00000001(FILE_READ_DATA)\n");
	assert_block("\x82\x91\x81\xa1k\x01\xc3\xa4sids\x91" SYSTEM_SID,
		     "    [{k: 1}]: true\n"
		     "    sids:\n"
		     "        - S-1-5-18\n");
	assert_block("\x81\xa1\n\xa1\n", "    \"\\n\": \"\\n\"\n");
}

static void text_pretty_goes_on_in_the_line_below_32_levels(void **state)
{
	char bytes[35], expected[5000], *p = expected;

	(void)state;
	memset(bytes, 0x91, 34);
	bytes[34] = 7;
	p += sprintf(p, HEAD "\n");
	for (int depth = 1; depth < 32; depth++)
		p += sprintf(p, "%*s-\n", 4 * depth, "");
	sprintf(p, "%*s- [[7]]\n", 4 * 32, "");
	assert_string_equal(print(&kmes_format_pretty, bytes, 35, NO_TIME), expected);
}

static void text_pretty_begins_with_the_guids_that_are_there(void **state)
{
	static const uint8_t one[16] = { 1 }, two[16] = { [15] = 2 };
	struct kmes_formatter f = with(&kmes_format_pretty, NO_TIME);
	struct kmes_event event = sample_event("\x81\xa1k\x01", 4);

	(void)state;
	event.process_guid = one;
	event.true_token_guid = two;
	assert_string_equal(sample_format(&f, &event),
			    HEAD "\n"
				 "    process: 00000001-0000-0000-0000-000000000000\n"
				 "    true_token: 00000000-0000-0000-0000-000000000002\n"
				 "    k: 1\n");
	event.payload_len = 0;
	event.true_token_guid = sample_null_guid;
	event.effective_token_guid = two;
	assert_string_equal(sample_format(&f, &event),
			    HEAD "\n"
				 "    process: 00000001-0000-0000-0000-000000000000\n"
				 "    token: 00000000-0000-0000-0000-000000000002\n");
}

static const char *print_loss(const struct kmes_format *format, struct kmes_loss loss,
			      struct kmes_format_options options)
{
	static char text[200];
	struct kmes_formatter f = with(format, options);
	struct kmes_outbuf out;

	assert_int_equal(kmes_outbuf_init(&out), 0);
	kmes_formatter_loss(&f, &out, &loss);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
	kmes_outbuf_fini(&out);
	return text;
}

static void text_loss_prints_to_the_letter(void **state)
{
	struct kmes_loss loss = { .cpu = 2, .first = 101, .last = 137 };
	struct kmes_loss big = { .cpu = 0, .first = 2, .last = 5000000000 };

	(void)state;
	assert_string_equal(print_loss(&kmes_format_text, loss, NO_TIME),
			    "--- cpu2: lost 37 events (#101-#137) ---\n");
	assert_string_equal(print_loss(&kmes_format_pretty, loss, NO_TIME),
			    "--- cpu2: lost 37 events (#101-#137) ---\n");
	assert_string_equal(print_loss(&kmes_format_hex, big, NO_TIME),
			    "--- cpu0: lost 4999999999 events (#2-#5000000000) ---\n");
}

/* Leave out SGR sequences. */
static const char *uncoloured(const char *s)
{
	static char plain[2000];
	char *p = plain;

	while (*s) {
		if (*s == '\33') {
			s = strchr(s, 'm') + 1;
			continue;
		}
		*p++ = *s++;
	}
	*p = 0;
	return plain;
}

static void text_colour_only_adds_colours(void **state)
{
	static const char payload[] = "\x82\xa1k\x92\x01\x02\xa3\x1b[m\x80";
	const struct kmes_format *formats[] = { &kmes_format_text, &kmes_format_pretty,
						&kmes_format_hex };
	struct kmes_loss loss = { .first = 1, .last = 2 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		char plain[500], colored[500];

		strcpy(plain, print(formats[i], payload, sizeof(payload) - 1,
				    (struct kmes_format_options){ .color = false }));
		strcpy(colored, print(formats[i], payload, sizeof(payload) - 1,
				      (struct kmes_format_options){ .color = true }));
		assert_null(strchr(plain, '\33'));
		assert_string_not_equal(plain, colored);
		assert_string_equal(uncoloured(colored), plain);
	}
	assert_string_equal(
		uncoloured(print_loss(&kmes_format_text, loss,
				      (struct kmes_format_options){ .color = true })),
		"--- cpu0: lost 2 events (#1-#2) ---\n");
}

static const char *cut(const char *payload, size_t len, unsigned int width)
{
	return print(&kmes_format_text, payload, len,
		     (struct kmes_format_options){ .time = KMES_TIME_NONE,
						   .width = width });
}

static void text_width_cuts_by_columns(void **state)
{
	(void)state;
	assert_string_equal(cut("\xa4word", 5, 19), HEAD "  \n");
	assert_string_equal(cut("\xa4word", 5, 22), HEAD "  \"wo\n");
	assert_string_equal(cut("\xa4word", 5, 25), HEAD "  \"word\"\n");
	assert_string_equal(cut("\xa4word", 5, 24), HEAD "  \"word\n");
	assert_string_equal(cut("\xa4word", 5, 1), "c\n");
	/* two columns each */
	assert_string_equal(cut("\xa6\xe6\xbc\xa2\xe5\xad\x97", 7, 24),
			    HEAD "  \"\xe6\xbc\xa2\xe5\xad\x97\n");
	assert_string_equal(cut("\xa6\xe6\xbc\xa2\xe5\xad\x97", 7, 23),
			    HEAD "  \"\xe6\xbc\xa2\n");
	/* none: a combining accent stays with its letter */
	assert_string_equal(cut("\xa5"
				"ae\xcc\x81z",
				6, 22),
			    HEAD "  \"ae\xcc\x81\n");
	assert_string_equal(cut("\xa5"
				"ae\xcc\x81z",
				6, 21),
			    HEAD "  \"a\n");
}

static void text_width_keeps_escapes_whole(void **state)
{
	(void)state;
	assert_string_equal(cut("\xa2x\n", 3, 22), HEAD "  \"x\n");
	assert_string_equal(cut("\xa2x\n", 3, 23), HEAD "  \"x\\n\n");
	assert_string_equal(cut("\xa2x\x1b", 3, 24), HEAD "  \"x\n");
	assert_string_equal(cut("\xa2x\x1b", 3, 25), HEAD "  \"x\\x1b\n");
	assert_string_equal(cut("\xa3\xe2\x80\xae", 4, 25), HEAD "  \"\n");
	assert_string_equal(cut("\xa3\xe2\x80\xae", 4, 26), HEAD "  \"\\u202e\n");
	assert_string_equal(cut("\xa4\xf3\xa0\x80\x80", 5, 29), HEAD "  \"\n");
	assert_string_equal(cut("\xa4\xf3\xa0\x80\x80", 5, 30), HEAD "  \"\\U000e0000\n");
	assert_string_equal(cut("\xa2\\\\", 3, 22), HEAD "  \"\\\\\n");
	assert_string_equal(cut("\xa2\\\\", 3, 21), HEAD "  \"\n");
}

static void text_width_cuts_every_line_and_resets_colours(void **state)
{
	struct kmes_loss loss = { .first = 1, .last = 2 };
	struct kmes_format_options colored = { .time = KMES_TIME_NONE,
					       .color = true,
					       .width = 6 };
	struct kmes_format_options narrow = { .time = KMES_TIME_NONE, .width = 6 };

	(void)state;
	assert_string_equal(print(&kmes_format_pretty,
				  "\x82\xa3"
				  "abc\x01\xa1x\xa1y",
				  10, narrow),
			    "cpu0  \n"
			    "    ab\n"
			    "    x:\n");
	assert_string_equal(print(&kmes_format_pretty,
				  "\x81\xa3"
				  "abc\x01",
				  6, colored),
			    "\33[34mcpu0\33[0m  \n"
			    "    \33[36mab\33[0m\n");
	assert_string_equal(print_loss(&kmes_format_text, loss, narrow), "--- cp\n");
	assert_string_equal(print_loss(&kmes_format_text, loss, colored),
			    "\33[1;31m--- cp\33[0m\n");
}

/* Memory that is written away before it is full holds the same bytes in the end. */
struct small_out {
	struct kmes_outbuf out;
	char memory[KMES_OUT_PIECE];
	char *all;
	size_t all_len, all_size;
};

static int write_away(struct kmes_outbuf *out)
{
	struct small_out *small = (struct small_out *)out;

	if (small->all_len + out->len > small->all_size) {
		small->all_size = 2 * small->all_size + out->len;
		small->all = realloc(small->all, small->all_size);
		assert_non_null(small->all);
	}
	memcpy(small->all + small->all_len, out->data, out->len);
	small->all_len += out->len;
	out->len = 0;
	return 0;
}

static void text_of_any_size_goes_through_one_piece_of_memory(void **state)
{
	const struct kmes_format *formats[] = { &kmes_format_text, &kmes_format_pretty,
						&kmes_format_hex, &kmes_format_json };
	size_t len = 5 + 300000;
	char *payload = malloc(len);

	(void)state;
	assert_non_null(payload);
	for (int round = 0; round < 3; round++) {
		/* a string to escape, a binary, a list of empty strings */
		memcpy(payload,
		       round == 0   ? "\xdb\x00\x04\x93\xe0"
		       : round == 1 ? "\xc6\x00\x04\x93\xe0"
				    : "\xdd\x00\x04\x93\xe0",
		       5);
		memset(payload + 5, round == 2 ? 0xa0 : 0xc2, len - 5);
		for (int i = 0; i < 4; i++) {
			struct small_out small = {
				.out = { .size = KMES_OUT_PIECE, .full = write_away },
			};
			struct kmes_formatter f = with(formats[i], NO_TIME);
			struct kmes_event event = sample_event(payload, len);
			const char *expected = sample_format(&f, &event);

			small.out.data = small.memory;
			kmes_formatter_event(&f, &small.out, &event);
			write_away(&small.out);
			assert_int_equal(small.all_len, sample_length());
			assert_memory_equal(small.all, expected, small.all_len);
			free(small.all);
		}
	}
	free(payload);
}

static int refuse(struct kmes_outbuf *out)
{
	(void)out;
	return -5;
}

static void text_that_cannot_be_written_leaves_an_error(void **state)
{
	static char memory[KMES_OUT_PIECE], payload[5 + 20000] = "\xc6\x00\x00\x4e\x20";
	struct kmes_outbuf out = { .data = memory,
				   .size = sizeof(memory),
				   .full = refuse };
	struct kmes_formatter f = with(&kmes_format_text, NO_TIME);
	struct kmes_event event = sample_event(payload, sizeof(payload));

	(void)state;
	kmes_formatter_event(&f, &out, &event);
	assert_int_equal(out.error, -5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_scalars_print_to_the_letter),
		cmocka_unit_test(text_containers_print_to_the_letter),
		cmocka_unit_test(text_without_payload_ends_behind_the_type),
		cmocka_unit_test(text_keys_are_bare_where_that_is_clear),
		cmocka_unit_test(text_keys_that_are_no_strings_print_as_values),
		cmocka_unit_test(text_strings_are_escaped),
		cmocka_unit_test(text_strings_are_escaped_at_every_place),
		cmocka_unit_test(text_type_cannot_forge_a_field),
		cmocka_unit_test(text_binary_under_sid_is_a_sid_when_it_is_one),
		cmocka_unit_test(text_sixteen_bytes_under_guid_are_a_guid),
		cmocka_unit_test(text_access_is_a_mask_with_names),
		cmocka_unit_test(text_timestamps_print_as_iso_8601),
		cmocka_unit_test(text_what_does_not_decode_prints_why_and_its_bytes),
		cmocka_unit_test(text_goes_256_levels_deep),
		cmocka_unit_test(text_head_shows_cpu_sequence_and_origin),
		cmocka_unit_test(text_time_prints_in_each_style),
		cmocka_unit_test(text_time_delta_counts_from_the_event_before),
		cmocka_unit_test(text_time_local_follows_the_time_zone),
		cmocka_unit_test(text_time_styles_have_names),
		cmocka_unit_test(text_hex_prints_the_payload_undecoded),
		cmocka_unit_test(text_pretty_prints_a_block),
		cmocka_unit_test(text_pretty_goes_on_in_the_line_below_32_levels),
		cmocka_unit_test(text_pretty_begins_with_the_guids_that_are_there),
		cmocka_unit_test(text_loss_prints_to_the_letter),
		cmocka_unit_test(text_colour_only_adds_colours),
		cmocka_unit_test(text_width_cuts_by_columns),
		cmocka_unit_test(text_width_keeps_escapes_whole),
		cmocka_unit_test(text_width_cuts_every_line_and_resets_colours),
		cmocka_unit_test(text_of_any_size_goes_through_one_piece_of_memory),
		cmocka_unit_test(text_that_cannot_be_written_leaves_an_error),
	};

	return cmocka_run_group_tests_name("format_text", tests, NULL, NULL);
}
