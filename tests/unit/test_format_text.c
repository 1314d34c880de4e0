// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Values in the text formats, byte by byte: numbers, keys, escapes, conventions. */
#include <stdio.h>
#include <string.h>

#include "sample.h"
#include "unit.h"

#define HEAD "cpu0  #17  USR  t"

/* The line of a payload given as a literal, and of a single value. */
#define assert_line(literal, text)                                                       \
	assert_string_equal(sample_print(&kmesp_format_text, literal,                    \
					 sizeof(literal) - 1, SAMPLE_NO_TIME),           \
			    text "\n")
#define assert_text(literal, text) assert_line(literal, HEAD "  " text)

#define assert_block(literal, text)                                                      \
	assert_string_equal(sample_print(&kmesp_format_pretty, literal,                  \
					 sizeof(literal) - 1, SAMPLE_NO_TIME),           \
			    HEAD "\n" text)

TEST(text_scalars_print_exactly)
{
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

TEST(text_containers_print_exactly)
{
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

TEST(text_without_payload_ends_after_the_type)
{
	assert_line("", HEAD);
	assert_string_equal(sample_print(&kmesp_format_hex, "", 0, SAMPLE_NO_TIME),
			    HEAD "\n");
	assert_string_equal(sample_print(&kmesp_format_pretty, "", 0, SAMPLE_NO_TIME),
			    HEAD "\n");
}

TEST(text_keys_are_bare_where_unambiguous)
{
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

TEST(text_keys_of_other_types_print_as_values)
{
	assert_text("\x81\x01\x02", "{1: 2}");
	assert_text("\x81\xff\x02", "{-1: 2}");
	assert_text("\x81\xc0\xc3", "{nil: true}");
	assert_text("\x81\xc4\x01\xaa\x02", "{0xaa: 2}");
	assert_text("\x81\x92\x01\xa1x\x02", "{[1, \"x\"]: 2}");
	assert_text("\x81\x81\xa1x\x01\x80", "{{x: 1}: {}}");
	assert_text("\x81\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00\x02", "{1.5: 2}");
}

/* Untrusted text cannot end the line, the field or the string, nor move the cursor. */
TEST(text_strings_are_escaped)
{
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
	/* regression: where char is signed */
	assert_text("\x81\xa1m\xa5\xe2\x94\x94\xc3\xa9", "{m: \"\xe2\x94\x94\xc3\xa9\"}");
}

/* The same at every position around the steps of 8 and the pieces of 512 bytes. */
TEST(text_strings_are_escaped_at_every_position)
{
	static char payload[3 + 1100];
	static char expected[8000];

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
			assert_string_equal(sample_print(&kmesp_format_text, payload,
							 len + 3, SAMPLE_NO_TIME),
					    expected);
		}
	}
}

TEST(text_type_cannot_forge_a_field)
{
	struct kmes_formatter f = sample_formatter(&kmesp_format_text, SAMPLE_NO_TIME);
	struct kmes_event event = sample_event("\x01", 1);

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

TEST(text_binary_under_sid_is_a_sid_if_well_formed)
{
	assert_text("\x81\xa3sid" SAMPLE_SYSTEM_SID, "{sid: S-1-5-18}");
	assert_text("\x81\xa8user_sid" SAMPLE_SYSTEM_SID, "{user_sid: S-1-5-18}");
	assert_text("\x81\xa3sid\xc4\x10\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00"
		    "\x20\x02\x00\x00",
		    "{sid: S-1-5-32-544}");
	assert_text("\x81\xa3sid\xc4\x0c\x01\x01\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff",
		    "{sid: S-1-0x000100000000-4294967295}");
	assert_text("\x81\xa4sids\x92" SAMPLE_SYSTEM_SID SAMPLE_SYSTEM_SID,
		    "{sids: [S-1-5-18, S-1-5-18]}");
	assert_text("\x81\xaagroup_sids\x91" SAMPLE_SYSTEM_SID,
		    "{group_sids: [S-1-5-18]}");
	assert_text("\x81\xa4user" SAMPLE_SYSTEM_SID,
		    "{user: 0x010100000000000512000000}");
	assert_text("\x81\xa4sids" SAMPLE_SYSTEM_SID,
		    "{sids: 0x010100000000000512000000}");
	assert_text("\x81\xa3sid\x91" SAMPLE_SYSTEM_SID,
		    "{sid: [0x010100000000000512000000]}");
	assert_text("\x81\xa4sids\x91\x91" SAMPLE_SYSTEM_SID,
		    "{sids: [[0x010100000000000512000000]]}");
	assert_text("\x81\xa4sids\x92\x80" SAMPLE_SYSTEM_SID, "{sids: [{}, S-1-5-18]}");
	assert_text("\x81\xa4sids\x92\x91\x01" SAMPLE_SYSTEM_SID,
		    "{sids: [[1], S-1-5-18]}");
	assert_text("\x81\xa3SID" SAMPLE_SYSTEM_SID, "{SID: 0x010100000000000512000000}");
	assert_text("\x82\xa3sid\x01\xa1x" SAMPLE_SYSTEM_SID,
		    "{sid: 1, x: 0x010100000000000512000000}");
	/* the limits: 15 parts, and none */
	assert_text("\x81\xa3sid\xc4\x44\x01\x0f\x00\x00\x00\x00\x00\x05" PARTS_15,
		    "{sid: S-1-5-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1}");
	assert_text("\x81\xa3sid\xc4\x48\x01\x10\x00\x00\x00\x00\x00\x05" PARTS_15
		    "\x01\x00\x00\x00",
		    "{sid: 0x0110000000000005" HEX_PARTS_15 "01000000}");
	assert_text("\x81\xa3sid\xc4\x08\x01\x00\x00\x00\x00\x00\x00\x05",
		    "{sid: S-1-5}");
	/* malformed: revision, number of parts and length */
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

TEST(text_sixteen_bytes_under_guid_are_a_guid)
{
#define GUID_BYTES "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
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

TEST(text_access_is_a_mask_with_names)
{
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

TEST(text_timestamps_print_as_iso_8601)
{
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
	/* five-digit years, 10^9 nanoseconds, other lengths and types */
	assert_text("\xc7\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x3a\xff\xf4\x41\x80",
		    "ext(-1, 0x000000000000003afff44180)");
	assert_text("\xc7\x0c\xff\x3b\x9a\xca\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		    "ext(-1, 0x3b9aca000000000000000000)");
	assert_text("\xd7\xff\xee\x6b\x28\x00\x00\x00\x00\x00",
		    "ext(-1, 0xee6b280000000000)");
	assert_text("\xd4\xff\x01", "ext(-1, 0x01)");
	assert_text("\xd6\xfe\x00\x00\x00\x00", "ext(-2, 0x00000000)");
}

TEST(text_undecodable_payloads_print_the_reason_and_bytes)
{
	char deep[258];

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
	assert_memory_equal(sample_print(&kmesp_format_text, deep, 257, SAMPLE_NO_TIME),
			    HEAD "  <257 bytes, not MessagePack: nested too deep> 0x9191",
			    65);
	assert_block("\xc1", "    <1 bytes, not MessagePack: reserved byte 0xc1> 0xc1\n");
}

TEST(text_prints_256_levels)
{
	char bytes[256], expected[600];

	memset(bytes, 0x91, 255);
	bytes[255] = (char)0x90;
	strcpy(expected, HEAD "  ");
	memset(expected + 19, '[', 256);
	memset(expected + 19 + 256, ']', 256);
	strcpy(expected + 19 + 512, "\n");
	assert_string_equal(sample_print(&kmesp_format_text, bytes, 256, SAMPLE_NO_TIME),
			    expected);
}
