// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The JSON format, byte by byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "unit.h"

#define HEAD                                                                             \
	"{\"time\":\"2026-11-29T20:21:22.123456789Z\",\"ts_ns\":1795983682123456789,"    \
	"\"cpu\":0,\"seq\":17,\"origin\":\"userspace\",\"type\":\"t\""

static const char *print(const struct kmes_event *event, const uint8_t *boot_id)
{
	struct kmes_format_options options = { .boot_id = boot_id };
	struct kmes_formatter f;

	kmesp_formatter_init(&f, &kmesp_format_json, &options);
	return sample_format(&f, event);
}

static const char *print_payload(const void *payload, size_t len)
{
	struct kmes_event event = sample_event(payload, len);

	return print(&event, NULL);
}

#define assert_json(literal, text)                                                       \
	assert_string_equal(print_payload(literal, sizeof(literal) - 1),                 \
			    HEAD ",\"payload\":" text "}\n")

TEST(json_scalars_print_exactly)
{
	assert_json("\xc0", "null");
	assert_json("\xc2", "false");
	assert_json("\xc3", "true");
	assert_json("\x07", "7");
	assert_json("\xff", "-1");
	assert_json("\xcf\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993");
	assert_json("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615");
	assert_json("\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808");
	assert_json("\xa2hi", "\"hi\"");
	assert_json("\xa0", "\"\"");
	assert_json("\x80", "{}");
	assert_json("\x90", "[]");
}

TEST(json_floats_have_a_point_or_an_exponent)
{
	assert_json("\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00", "1.0");
	assert_json("\xcb\x80\x00\x00\x00\x00\x00\x00\x00", "-0.0");
	assert_json("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "0.1");
	assert_json("\xcb\x44\xb5\x2d\x02\xc7\xe1\x4a\xf6", "1e23");
	assert_json("\xcb\x00\x00\x00\x00\x00\x00\x00\x01", "5e-324");
	/* the double of the same value: JSON has no floats */
	assert_json("\xca\x3f\x80\x00\x00", "1.0");
	assert_json("\xca\x3d\xcc\xcc\xcd", "0.10000000149011612");
}

TEST(json_prints_null_for_non_finite_numbers)
{
	assert_json("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "null");
	assert_json("\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", "null");
	assert_json("\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", "null");
	assert_json("\xca\x7f\xc0\x00\x00", "null");
	assert_json("\xca\xff\x80\x00\x00", "null");
}

TEST(json_strings_are_escaped)
{
	assert_json("\xa5"
		    "a\"\\/b",
		    "\"a\\\"\\\\/b\"");
	assert_json("\xa5\n\r\t\x08\x0c", "\"\\n\\r\\t\\u0008\\u000c\"");
	assert_json("\xa4\x00\x1b\x1f\x7f", "\"\\u0000\\u001b\\u001f\\u007f\"");
	assert_json("\xa4\xc2\x80\xc2\x9f", "\"\\u0080\\u009f\"");
	assert_json("\xa5\xd8\x9c\xef\xbb\xbf", "\"\\u061c\\ufeff\"");
	assert_json("\xa3\xe2\x80\xae", "\"\\u202e\"");
	assert_json("\xa8\xf3\xa0\x80\x80\xf3\xa0\x81\xbf",
		    "\"\\udb40\\udc00\\udb40\\udc7f\"");
	assert_json("\xa6\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
	assert_json("\x81\xa1m\xa5\xe2\x94\x94\xc3\xa9",
		    "{\"m\":\"\xe2\x94\x94\xc3\xa9\"}");
}

#define FFFD "\xef\xbf\xbd"

/* One U+FFFD per byte, or per maximal prefix of a character. */
TEST(json_replaces_invalid_utf8)
{
	assert_json("\xa3"
		    "a\xff"
		    "b",
		    "\"a" FFFD "b\"");
	assert_json("\xa2\xff\xfe", "\"" FFFD FFFD "\"");
	assert_json("\xa3\xe2\x94.", "\"" FFFD ".\"");
	assert_json("\xa3\xf0\x9f\x98", "\"" FFFD "\"");
	assert_json("\xa3\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"");
	assert_json("\xa2\xc0\x80", "\"" FFFD FFFD "\"");
}

TEST(json_containers_keep_order_and_duplicates)
{
	assert_json("\x83\xa1z\x01\xa1"
		    "a\x92\x02\x80\xa1z\x03",
		    "{\"z\":1,\"a\":[2,{}],\"z\":3}");
	assert_json("\x92\x91\x91\x01\x02", "[[[1]],2]");
}

TEST(json_keys_of_other_types_become_their_text)
{
	assert_json("\x81\x01\x02", "{\"1\":2}");
	assert_json("\x81\xff\x02", "{\"-1\":2}");
	assert_json("\x81\xc0\x02", "{\"nil\":2}");
	assert_json("\x81\xc3\x02", "{\"true\":2}");
	assert_json("\x81\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\x02", "{\"nan\":2}");
	assert_json("\x81\xca\x3d\xcc\xcc\xcd\x02", "{\"0.1\":2}");
	assert_json("\x81\xc4\x02\xaa\x01\x02", "{\"0xaa01\":2}");
	assert_json("\x81\xd4\x05\x01\x02", "{\"ext(5, 0x01)\":2}");
	assert_json("\x81\xd6\xff\x00\x00\x00\x00\x02",
		    "{\"1970-01-01T00:00:00.000000000Z\":2}");
	assert_json("\x81\x92\xa1x\xa1\x1b\x02", "{\"[\\\"x\\\", \\\"\\\\x1b\\\"]\":2}");
	assert_json("\x82\x81\xa1x\x01\x80\xc2\x91\x90",
		    "{\"{x: 1}\":{},\"false\":[[]]}");
	assert_json("\x82\xa1"
		    "1\x01\x01\x02",
		    "{\"1\":1,\"1\":2}");
}

TEST(json_tags_types_that_it_lacks)
{
	assert_json("\xc4\x00", "{\"$bin\":\"\"}");
	assert_json("\xc4\x01\xff", "{\"$bin\":\"/w==\"}");
	assert_json("\xc4\x02\xff\xfe", "{\"$bin\":\"//4=\"}");
	assert_json("\xc4\x03\x00\x10\x83", "{\"$bin\":\"ABCD\"}");
	assert_json("\xc4\x04\xfb\xf0\x00\x41", "{\"$bin\":\"+/AAQQ==\"}");
	assert_json("\xd4\x05\x7f", "{\"$ext\":[5,\"fw==\"]}");
	assert_json("\xc7\x00\x80", "{\"$ext\":[-128,\"\"]}");
	assert_json("\xd6\xff\x00\x00\x00\x01",
		    "{\"$time\":\"1970-01-01T00:00:01.000000000Z\"}");
	assert_json("\x81\xa3sid\xc4\x0c\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00",
		    "{\"sid\":{\"$sid\":\"S-1-5-18\"}}");
	assert_json(
		"\x81\xa4sids\x91\xc4\x0c\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00",
		"{\"sids\":[{\"$sid\":\"S-1-5-18\"}]}");
	assert_json("\x81\xa4guid\xc4\x10\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb"
		    "\xcc\xdd\xee\xff",
		    "{\"guid\":{\"$guid\":\"00112233-4455-6677-8899-aabbccddeeff\"}}");
	assert_json("\x81\xa6"
		    "access\xce\x00\x12\x00\x89",
		    "{\"access\":1179785}");
}

TEST(json_keys_like_tags_get_another_dollar)
{
	assert_json("\x81\xa4$bin\xa1x", "{\"$$bin\":\"x\"}");
	assert_json("\x81\xa1$\x01", "{\"$$\":1}");
	assert_json("\x81\xa5$$bin\x01", "{\"$$$bin\":1}");
	assert_json("\x81\xa2"
		    "a$\x01",
		    "{\"a$\":1}");
}

TEST(json_has_the_raw_bytes_of_undecodable_payloads)
{
	assert_json("\xc1", "{\"$raw\":\"wQ==\"}");
	assert_json("\x91", "{\"$raw\":\"kQ==\"}");
	assert_json("\x01\x02", "{\"$raw\":\"AQI=\"}");
}

TEST(json_omits_an_empty_payload)
{
	assert_string_equal(print_payload("", 0), HEAD "}\n");
}

TEST(json_keeps_its_order_of_keys)
{
	static const uint8_t one[16] = { 1 }, two[16] = { [8] = 2 },
			     three[16] = { [15] = 3 };
	static const uint8_t boot[16] = {
		0x8b, 0x07, 0xc9, 0xb2, 0x33, 0x5a, 0x4a, 0x9c,
		0x9d, 0x11, 0x2f, 0x00, 0x71, 0x5e, 0x00, 0x42
	};
	struct kmes_event event = sample_event("\x01", 1);

	event.process_guid = one;
	event.effective_token_guid = two;
	event.true_token_guid = three;
	event.cpu = 65535;
	event.seq = UINT64_MAX;
	event.origin = 77;
	event.type = "a b\"\n";
	event.type_len = 5;
	event.ts_ns = 5;
	assert_string_equal(
		print(&event, boot),
		"{\"time\":\"1970-01-01T00:00:00.000000005Z\",\"ts_ns\":5,"
		"\"cpu\":65535,\"seq\":18446744073709551615,\"origin\":\"c77\","
		"\"type\":\"a b\\\"\\n\","
		"\"process\":\"00000001-0000-0000-0000-000000000000\","
		"\"token\":\"00000000-0000-0000-0200-000000000000\","
		"\"true_token\":\"00000000-0000-0000-0000-000000000003\","
		"\"payload\":1,"
		"\"boot\":\"8b07c9b2-335a-4a9c-9d11-2f00715e0042\"}\n");
	event.ts_ns = UINT64_MAX;
	assert_non_null(strstr(print(&event, NULL), "\"ts_ns\":18446744073709551615,"));
	event.ts_ns = 1000000001;
	assert_non_null(strstr(print(&event, NULL), "\"ts_ns\":1000000001,"));
}

TEST(json_names_the_origins)
{
	static const struct {
		uint8_t origin;
		const char *text;
	} cases[] = {
		{ 0, "\"origin\":\"userspace\"," }, { 1, "\"origin\":\"kmes\"," },
		{ 2, "\"origin\":\"kacs\"," },	    { 3, "\"origin\":\"lcs\"," },
		{ 254, "\"origin\":\"trace\"," },   { 255, "\"origin\":\"host\"," },
		{ 4, "\"origin\":\"c4\"," },
	};
	struct kmes_event event = sample_event("", 0);

	for (size_t i = 0; i < COUNT(cases); i++) {
		event.origin = cases[i].origin;
		assert_non_null(strstr(print(&event, NULL), cases[i].text));
	}
}

TEST(json_ignores_text_options)
{
	struct kmes_format_options options = { .time = KMES_TIME_NONE,
					       .color = true,
					       .width = 5 };
	struct kmes_event event = sample_event("\x01", 1);
	struct kmes_formatter f;

	kmesp_formatter_init(&f, &kmesp_format_json, &options);
	assert_string_equal(sample_format(&f, &event), HEAD ",\"payload\":1}\n");
}

TEST(json_loss_prints_exactly)
{
	static const uint8_t boot[16] = { 1 };
	struct kmes_loss loss = {
		.cpu = 2, .first = 101, .last = 137, .ts_ns = SAMPLE_NS
	};
	struct kmes_loss big = { .cpu = 0, .first = 2, .last = 5000000000 };
	struct kmes_format_options options = { .boot_id = boot };
	struct kmes_formatter f;
	struct kmes_outbuf out;

	assert_int_equal(kmesp_outbuf_init(&out), 0);
	kmesp_formatter_init(&f, &kmesp_format_json, &(struct kmes_format_options){ 0 });
	kmesp_formatter_loss(&f, &out, &loss);
	kmesp_formatter_init(&f, &kmesp_format_json, &options);
	kmesp_formatter_loss(&f, &out, &big);
	*kmesp_out_room(&out, kmesp_out_begin(&out), 1) = 0;
	assert_string_equal(
		out.data, "{\"time\":\"2026-11-29T20:21:22.123456789Z\","
			  "\"ts_ns\":1795983682123456789,\"cpu\":2,\"lost\":37,"
			  "\"first\":101,\"last\":137}\n"
			  "{\"time\":\"1970-01-01T00:00:00.000000000Z\",\"ts_ns\":0,"
			  "\"cpu\":0,\"lost\":4999999999,\"first\":2,\"last\":5000000000,"
			  "\"boot\":\"01000000-0000-0000-0000-000000000000\"}\n");
	kmesp_outbuf_fini(&out);
}
