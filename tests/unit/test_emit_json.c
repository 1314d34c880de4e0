// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* JSON lines to MessagePack: each kind of value, the tags, strict syntax. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmes_msgpack.h"
#include "src/kmes-emit/emit.h"
#include "unit.h"

#define ROOM (1u << 20)

static struct json *json;
static struct kmes_pack out;
static struct kmes_error why;
static struct place place;

static void setup(void)
{
	json = json_new();
	out = kmes_pack_begin(malloc(ROOM), ROOM);
	assert_non_null(json);
	assert_non_null(out.buf);
}

static void teardown(void)
{
	json_free(json);
	free(out.buf);
}
ALL_TESTS(setup, teardown);

static void to_hex(char *hex, const uint8_t *bytes, size_t len)
{
	size_t i;

	*hex = '\0';
	for (i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
}

/* A value's encoding in hex, or "!REASON". */
static const char *value_of(const char *text, size_t len)
{
	static char result[8192];

	out.len = 0;
	memset(&why, 0, sizeof(why));
	if (json_value(json, text, len, &out, &why) < 0) {
		assert_int_equal(out.len, 0);
		assert_false(out.cut);
		snprintf(result, sizeof(result), "!%s", why.text);
	} else {
		to_hex(result, out.buf, out.len);
	}
	return result;
}

/* An event's line, copied so that only a newline follows. */
static int event_of(const char *text, size_t len)
{
	char *line = malloc(len + 1);
	int r;

	assert_non_null(line);
	memcpy(line, text, len);
	line[len] = '\n';
	memset(&why, 0, sizeof(why));
	r = json_event(json, line, len, &out, &place, &why);
	free(line);
	return r;
}

struct value_case {
	const char *text, *expected;
};

static void check_values(const struct value_case *cases, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const char *result = value_of(cases[i].text, strlen(cases[i].text));

		if (strcmp(result, cases[i].expected) != 0)
			fail_msg("%s\nexpected: %s\nresult:   %s", cases[i].text,
				 cases[i].expected, result);
	}
}

#define CHECK(cases) check_values(cases, COUNT(cases))

TEST(emit_json_integers_stay_integers_in_their_shortest_form)
{
	static const struct value_case cases[] = {
		{ "0", "00" },
		{ "-0", "00" },
		{ "127", "7f" },
		{ "128", "cc80" },
		{ "255", "ccff" },
		{ "256", "cd0100" },
		{ "65536", "ce00010000" },
		{ "4294967295", "ceffffffff" },
		{ "4294967296", "cf0000000100000000" },
		{ "9007199254740993", "cf0020000000000001" },
		{ "9223372036854775808", "cf8000000000000000" },
		{ "18446744073709551615", "cfffffffffffffffff" },
		{ "18446744073709551616", "!integer outside i64 and u64" },
		{ "100000000000000000000", "!integer outside i64 and u64" },
		{ "-1", "ff" },
		{ "-32", "e0" },
		{ "-33", "d0df" },
		{ "-129", "d1ff7f" },
		{ "-32769", "d2ffff7fff" },
		{ "-2147483649", "d3ffffffff7fffffff" },
		{ "-9223372036854775808", "d38000000000000000" },
		{ "-9223372036854775809", "!integer outside i64 and u64" },
		{ "-18446744073709551616", "!integer outside i64 and u64" },
		{ " \t\r\n 5 \n", "05" },
	};

	CHECK(cases);
}

TEST(emit_json_a_dot_or_an_exponent_makes_a_float)
{
	static const struct value_case cases[] = {
		{ "1.0", "cb3ff0000000000000" },
		{ "1e3", "cb408f400000000000" },
		{ "1E+3", "cb408f400000000000" },
		{ "-0.0", "cb8000000000000000" },
		{ "0.1", "cb3fb999999999999a" },
		{ "18446744073709551616.0", "cb43f0000000000000" },
		{ "1.7976931348623157e308", "cb7fefffffffffffff" },
		{ "1.7976931348623159e308", "!number too large for a float" },
		{ "-1e309", "!number too large for a float" },
		{ "1e99999999999999999999", "!number too large for a float" },
		{ "5e-324", "cb0000000000000001" },
		{ "1e-400", "cb0000000000000000" },
		{ "[1.5,2]", "92cb3ff800000000000002" },
	};

	CHECK(cases);
}

TEST(emit_json_strings_are_unescaped)
{
	static const struct value_case cases[] = {
		{ "\"\"", "a0" },
		{ "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a961225c2f080c0a0d09" },
		{ "\"\\u0000x\\u00e9\\u20AC\\ud83d\\uDE00\"",
		  "ab0078c3a9e282acf09f9880" },
		{ "\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"", "a7c3a9f09f98807f" },
		{ "\"\\\\ud800\"", "a65c7564383030" },
		{ "\"0123456789012345678901234567890\"",
		  "bf30313233343536373839303132333435363738393031323334353637383930" },
		{ "\"01234567890123456789012345678901\"",
		  "d9203031323334353637383930313233343536373839303132333435363738393031" },
		{ "[null,true,false]", "93c0c3c2" },
	};

	CHECK(cases);
}

TEST(emit_json_maps_keep_order_and_duplicates)
{
	static const struct value_case cases[] = {
		{ "{}", "80" },
		{ "[]", "90" },
		{ "{\"b\":1,\"a\":2,\"b\":3}", "83a16201a16102a16203" },
		{ "{\"\":{\"x\":[]},\"y\":[{}]}", "82a081a17890a1799180" },
		/* heads of two and four bytes are inserted before the content */
		{ "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]",
		  "9f0102030405060708090a0b0c0d0e0f" },
		{ "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,[16]]",
		  "dc00100102030405060708090a0b0c0d0e0f9110" },
		{ "[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],7]",
		  "92dc0011000000000000000000000000000000000007" },
	};

	CHECK(cases);
}

/* A list of `count` zeros, and its head in hex. */
static void check_long_list(uint32_t count, bool is_map, const char *head, size_t element)
{
	char *text = malloc(count * 8 + 3), *end = text;
	char hex[16];
	uint32_t i;

	*end++ = is_map ? '{' : '[';
	for (i = 0; i < count; i++)
		end += sprintf(end, "%s%s0", i ? "," : "", is_map ? "\"k\":" : "");
	*end++ = is_map ? '}' : ']';
	out.len = 0;
	assert_int_equal(json_value(json, text, (size_t)(end - text), &out, &why), 0);
	free(text);
	to_hex(hex, out.buf, strlen(head) / 2);
	assert_string_equal(hex, head);
	assert_int_equal(out.len, strlen(head) / 2 + count * element);
	assert_int_equal(out.buf[out.len - 1], 0);
}

TEST(emit_json_long_containers_get_longer_heads)
{
	check_long_list(65535, false, "dcffff", 1);
	check_long_list(65536, false, "dd00010000", 1);
	check_long_list(16, true, "de0010", 3);
	check_long_list(65536, true, "df00010000", 3);
}

TEST(emit_json_tags_become_their_types)
{
	static const struct value_case cases[] = {
		{ "{\"$bin\":\"\"}", "c400" },
		{ "{\"$bin\":\"/w==\"}", "c401ff" },
		{ "{\"$bin\":\"AAE=\"}", "c4020001" },
		{ "{\"$bin\":\"AAEC\"}", "c403000102" },
		{ "{\"$bin\":\"+/+/\"}", "c403fbffbf" },
		{ "{\"$ext\":[5,\"/w==\"]}", "d405ff" },
		{ "{\"$ext\":[-128,\"AAE=\"]}", "d5800001" },
		{ "{\"$ext\":[127,\"AAEC\"]}", "c7037f000102" },
		{ "{\"$ext\":[0,\"\"]}", "c70000" },
		{ "{\"$ext\":[1,\"AAAAAAAAAAAAAAAAAAAAAA==\"]}",
		  "d80100000000000000000000000000000000" },
		{ "{\"$sid\":\"S-1-5-18\"}", "c40c010100000000000512000000" },
		{ "{\"$sid\":\"S-1-5-21-1-2-4294967295-500\"}",
		  "c41c010500000000000515000000010000000200"
		  "0000fffffffff4010000" },
		{ "{\"$sid\":\"S-1-0x0123456789ab\"}", "c40801000123456789ab" },
		{ "{\"$sid\":\"S-1-0x000100000000-7\"}", "c40c010100010000000007000000" },
		{ "{\"$guid\":\"00112233-4455-6677-8899-aAbBcCdDeEfF\"}",
		  "c41033221100554477668899aabbccddeeff" },
		{ "{\"$time\":\"1970-01-01T00:00:00Z\"}", "d6ff00000000" },
		{ "{\"$time\":\"2026-11-29T20:21:22.123456789Z\"}",
		  "d7ff1d6f34546b0c8942" },
		{ "{\"$time\":\"2026-11-29T20:21:22.5Z\"}", "d7ff773594006b0c8942" },
		{ "{\"$time\":\"2106-02-07T06:28:15Z\"}", "d6ffffffffff" },
		{ "{\"$time\":\"2106-02-07T06:28:16Z\"}", "d7ff0000000100000000" },
		{ "{\"$time\":\"1969-12-31T23:59:59.000000001Z\"}",
		  "c70cff00000001ffffffffffffffff" },
		{ "{\"$time\":\"0000-03-01T00:00:00Z\"}",
		  "c70cff00000000fffffff186da9e00" },
		{ "{\"$time\":\"2000-02-29T12:00:00Z\"}", "d6ff38bbb4c0" },
		{ "{\"a\":[{\"$bin\":\"/w==\"},1],\"b\":{\"$bin\":\"AAE=\"}}",
		  "82a16192c401ff01a162c4020001" },
	};

	CHECK(cases);
}

TEST(emit_json_a_doubled_dollar_is_a_plain_key)
{
	static const struct value_case cases[] = {
		{ "{\"$$bin\":\"/w==\"}", "81a42462696ea42f773d3d" },
		{ "{\"$$$x\":1}", "81a324247801" },
		{ "{\"$\":1}", "81a12401" },
		{ "{\"$other\":1}", "81a6246f7468657201" },
		/* a tag is the only key */
		{ "{\"$bin\":\"/w==\",\"a\":1}", "82a42462696ea42f773d3da16101" },
		{ "{\"a\":1,\"$bin\":\"?\"}", "82a16101a42462696ea13f" },
	};

	CHECK(cases);
}

TEST(emit_json_tags_with_invalid_values_are_refused)
{
	static const char *const texts[] = {
		"{\"$bin\":1}",
		"{\"$bin\":null}",
		"{\"$bin\":{\"$bin\":\"\"}}",
		"{\"$bin\":\"/\"}",
		"{\"$bin\":\"/w=\"}",
		"{\"$bin\":\"/w\"}",
		"{\"$bin\":\"/x==\"}", /* unused bits set */
		"{\"$bin\":\"AAF=\"}",
		"{\"$bin\":\"====\"}",
		"{\"$bin\":\"A===\"}",
		"{\"$bin\":\"AA=A\"}",
		"{\"$bin\":\"-_-_\"}",
		"{\"$bin\":\"AA A\"}",
		"{\"$ext\":\"/w==\"}",
		"{\"$ext\":[128,\"/w==\"]}",
		"{\"$ext\":[-129,\"/w==\"]}",
		"{\"$ext\":[1.0,\"/w==\"]}",
		"{\"$ext\":[1]}",
		"{\"$ext\":[1,\"/w==\",2]}",
		"{\"$ext\":[\"/w==\",1]}",
		"{\"$sid\":\"\"}",
		"{\"$sid\":\"S-1-\"}",
		"{\"$sid\":\"S-2-5\"}",
		"{\"$sid\":\"s-1-5\"}",
		"{\"$sid\":\"S-1-5-\"}",
		"{\"$sid\":\"S-1--5\"}",
		"{\"$sid\":\"S-1-5-4294967296\"}",
		"{\"$sid\":\"S-1-4294967296\"}",
		"{\"$sid\":\"S-1-0x1234567890abc\"}",
		"{\"$sid\":\"S-1-5-1x\"}",
		"{\"$sid\":\"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16\"}",
		"{\"$guid\":\"00112233-4455-6677-8899-aabbccddeef\"}",
		"{\"$guid\":\"00112233-4455-6677-8899-aabbccddeefff\"}",
		"{\"$guid\":\"001122334455-6677-8899-aabb-ccddeeff\"}",
		"{\"$guid\":\"0011223g-4455-6677-8899-aabbccddeeff\"}",
		"{\"$time\":\"2026-11-29\"}",
		"{\"$time\":\"2026-11-29T20:21:22\"}",
		"{\"$time\":\"2026-11-29 20:21:22Z\"}",
		"{\"$time\":\"2026-13-01T00:00:00Z\"}",
		"{\"$time\":\"2026-02-29T00:00:00Z\"}",
		"{\"$time\":\"1900-02-29T00:00:00Z\"}",
		"{\"$time\":\"2026-11-29T24:00:00Z\"}",
		"{\"$time\":\"2026-11-29T20:21:60Z\"}",
		"{\"$time\":\"2026-11-29T20:21:22.Z\"}",
		"{\"$time\":\"2026-11-29T20:21:22.1234567890Z\"}",
		"{\"$time\":\"2026-11-29T20:21:22Zx\"}",
		"{\"$raw\":\"/w==\"}",
		"{\"a\":[{\"$raw\":\"/w==\"}]}",
	};
	size_t i;

	for (i = 0; i < COUNT(texts); i++)
		if (*value_of(texts[i], strlen(texts[i])) != '!')
			fail_msg("accepted: %s", texts[i]);
	assert_string_equal(value_of("{\"$raw\":\"/w==\"}", 15),
			    "!$raw is no MessagePack and cannot be emitted");
	assert_string_equal(value_of("{\"$bin\":\"/x==\"}", 15), "!$bin is not base64");
}

#define BYTES(literal)                                                                   \
	{                                                                                \
		literal, sizeof(literal) - 1                                             \
	}

TEST(emit_json_is_strict)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {
		BYTES(""),
		BYTES(" "),
		BYTES("{"),
		BYTES("}"),
		BYTES("[1"),
		BYTES("[1,]"),
		BYTES("[,1]"),
		BYTES("{\"a\":1,}"),
		BYTES("{\"a\"}"),
		BYTES("{\"a\":}"),
		BYTES("{a:1}"),
		BYTES("{1:1}"),
		BYTES("{'a':1}"),
		BYTES("'a'"),
		BYTES("\"a"),
		BYTES("\"a\\\""),
		BYTES("NaN"),
		BYTES("Infinity"),
		BYTES("-Infinity"),
		BYTES("nan"),
		BYTES("True"),
		BYTES("tru"),
		BYTES("nul"),
		BYTES("undefined"),
		BYTES("01"),
		BYTES("-01"),
		BYTES("+1"),
		BYTES("-"),
		BYTES(".5"),
		BYTES("5."),
		BYTES("5.e1"),
		BYTES("1e"),
		BYTES("1e+"),
		BYTES("0x10"),
		BYTES("1_000"),
		BYTES("1 2"),
		BYTES("{}{}"),
		BYTES("[] ,"),
		BYTES("1//x"),
		BYTES("1/**/"),
		BYTES("/**/1"),
		BYTES("#1"),
		BYTES("\"\\x41\""),
		BYTES("\"\\a\""),
		BYTES("\"\\'\""),
		BYTES("\"\\u12\""),
		BYTES("\"\\u12g4\""),
		BYTES("\"\\U0041\""),
		BYTES("\"\\u{41}\""),
		BYTES("\"\\ud800\""),
		BYTES("\"\\udc00\""),
		BYTES("\"\\ud800\\ud800\""),
		BYTES("\"\\ud800\\u0041\""),
		BYTES("\"\\ud800x\\udc00\""),
		BYTES("\"\\udc00\\ud800\""),
		BYTES("{\"\\uD83D\":1}"),
		BYTES("\"\\\\\\ud800\""),
		BYTES("\"a\tb\""),
		BYTES("\"a\nb\""),
		BYTES("\"a\rb\""),
		BYTES("\"a\0b\""),
		BYTES("\"a\x1b\""),
		BYTES("1\0"),
		BYTES("\0"
		      "1"),
		BYTES("\f1"),
		BYTES("\v1"),
		BYTES("\xef\xbb\xbf"
		      "1"),
		BYTES("\xc2\xa0"
		      "1"),
		BYTES("\xe2\x80\xa8"
		      "1"),
		BYTES("\"\xff\""),
		BYTES("\"\xc3\""),
		BYTES("\"\xc0\xaf\""),
		BYTES("\"\xed\xa0\x80\""),
		BYTES("\"\xf4\x90\x80\x80\""),
		BYTES("\"\xe2\x82\""),
		BYTES("\"\x80\""),
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++)
		if (*value_of(cases[i].text, cases[i].len) != '!')
			fail_msg("accepted: case %zu: %s", i, cases[i].text);
	/* and no output is left */
	assert_string_equal(value_of("[1]", 3), "9101");
}

static char *nested(uint32_t depth, const char *open, const char *close)
{
	char *text = calloc(depth, strlen(open) + strlen(close) + 1), *end = text;
	uint32_t i;

	for (i = 0; i < depth; i++)
		end = stpcpy(end, open);
	for (i = 0; i < depth; i++)
		end = stpcpy(end, close);
	return text;
}

static int nested_value(uint32_t depth, const char *open, const char *close)
{
	char *text = nested(depth, open, close);
	int r;

	out.len = 0;
	r = json_value(json, text, strlen(text), &out, &why);
	free(text);
	return r;
}

TEST(emit_json_depth_is_bounded_and_uses_no_stack)
{
	static struct kmes_mp_scratch scratch;
	char *text;

	assert_int_equal(nested_value(256, "[", "]"), 0);
	assert_int_equal(kmes_mp_validate(out.buf, out.len, 256, &scratch), 0);
	assert_int_equal(nested_value(1000000, "[", "]"), -EINVAL);
	assert_string_equal(why.text, "nested deeper than 256");
	assert_int_equal(nested_value(200000, "{\"a\":[", "]}"), -EINVAL);
	assert_string_equal(why.text, "nested deeper than 256");

	/* a tag in the deepest container is not a level */
	text = malloc(2000);
	memset(text, '[', 256);
	strcpy(text + 256, "{\"$ext\":[1,\"/w==\"]}");
	memset(text + strlen(text), ']', 256);
	out.len = 0;
	assert_int_equal(json_value(json, text, 256 + 19 + 256, &out, &why), 0);
	assert_int_equal(kmes_mp_validate(out.buf, out.len, 256, &scratch), 0);
	free(text);

	/* ignored values are bounded in depth, too */
	text = malloc(2000100);
	strcpy(text, "{\"type\":\"a\",\"seq\":");
	memset(text + 18, '[', 256);
	memset(text + 18 + 256, ']', 256);
	text[18 + 512] = '}';
	out.len = 0;
	assert_int_equal(event_of(text, 19 + 512), 1);
	memset(text + 18, '[', 1000000);
	memset(text + 18 + 1000000, ']', 1000000);
	text[18 + 2000000] = '}';
	assert_int_equal(event_of(text, 19 + 2000000), -EINVAL);
	assert_string_equal(why.text, "nested deeper than 256");
	free(text);
}

/* An event as "TYPE|payload in hex", "-" for none, or "!REASON". */
static const char *line_of(const char *text)
{
	static char result[1024];
	int r, n;

	out.len = 0;
	r = event_of(text, strlen(text));
	if (r < 0) {
		assert_int_equal(out.len, 0);
		snprintf(result, sizeof(result), "!%s", why.text);
	} else if (r == 0) {
		strcpy(result, "-");
	} else {
		n = sprintf(result, "%.*s|", place.type_len, out.buf + place.type);
		to_hex(result + n, out.buf + place.payload, place.payload_len);
	}
	return result;
}

TEST(emit_json_lines_are_events)
{
	static const struct value_case cases[] = {
		{ "{\"type\":\"a.b\",\"payload\":{\"x\":1}}", "a.b|81a17801" },
		{ "{\"payload\":[1,{\"type\":\"no\"}],\"type\":\"a\"}",
		  "a|920181a474797065a26e6f" },
		{ " {\"type\" : \"a\"} \r", "a|80" },
		{ "{\"type\":\"a\",\"payload\":null}", "a|c0" },
		{ "{\"type\":\"a\",\"payload\":{\"$bin\":\"/w==\"}}", "a|c401ff" },
		{ "{\"type\":\"\\u00e9\\u0000\",\"payload\":5}", "\xc3\xa9" },
		{ "{\"time\":\"2026-11-29T20:21:22.123456789Z\",\"ts_ns\":1796,"
		  "\"cpu\":0,\"seq\":17,\"origin\":\"userspace\",\"type\":\"app.login\","
		  "\"process\":\"x\",\"token\":\"x\",\"true_token\":\"x\",\"boot\":\"x\","
		  "\"payload\":{\"lost\":1}}",
		  "app.login|81a46c6f737401" },
		{ "{\"time\":\"x\",\"ts_ns\":5,\"cpu\":2,\"lost\":37,\"first\":101,"
		  "\"last\":137}",
		  "-" },
		{ "", "-" },
		{ " \t\r", "-" },
		{ "{\"payload\":1}", "!no 'type'" },
		{ "{}", "!no 'type'" },
		{ "{\"type\":1}", "!'type' is not a string" },
		{ "{\"type\":[\"a\"]}", "!'type' is not a string" },
		{ "{\"type\":\"\"}", "!'type' is empty" },
		{ "{\"type\":\"a\",\"type\":\"b\"}", "!duplicate key 'type'" },
		{ "{\"type\":\"a\",\"payload\":1,\"payload\":2}",
		  "!duplicate key 'payload'" },
		{ "{\"type\":\"a\",\"paylaod\":1}", "!unknown key 'paylaod'" },
		{ "{\"type\":\"a\",\"lost\":1}", "!both an event and a loss record" },
		{ "[]", "!not an object" },
		{ "1", "!not an object" },
		{ "\"a\"", "!not an object" },
		{ "{\"type\":\"a\"} {\"type\":\"b\"}", "!not JSON: more than one value" },
		{ "{\"type\":\"a\"", "!not JSON: ends inside a value" },
		{ "{\"type\":\"a\",\"payload\":[1", "!not JSON: ends inside a value" },
		{ "{\"type\":\"\xff\"}", "!not JSON: not UTF-8" },
		{ "{\"type\":\"\\ud800\"}", "!not JSON: lone surrogate" },
		{ "{\"type\":\"a\",\"payload\":18446744073709551616}",
		  "!integer outside i64 and u64" },
		{ "{\"type\":\"a\",\"payload\":{\"$raw\":\"/w==\"}}",
		  "!$raw is no MessagePack and cannot be emitted" },
	};
	size_t i;

	/* twice and interleaved: no line affects the next */
	for (i = 0; i < 2 * COUNT(cases); i++) {
		const struct value_case *c = &cases[i * 7 % COUNT(cases)];
		const char *result = line_of(c->text);

		if (strncmp(result, c->expected, strlen(c->expected)) != 0)
			fail_msg("%s\nexpected: %s\nresult:   %s", c->text, c->expected,
				 result);
	}
	assert_string_equal(line_of("{\"type\":\"a\"}"), "a|80");
}

TEST(emit_json_a_type_is_at_most_65535_bytes)
{
	char *text = malloc(70000);
	int len;

	len = sprintf(text, "{\"type\":\"%065535d\"}", 0);
	out.len = 0;
	assert_int_equal(event_of(text, (size_t)len), 1);
	assert_int_equal(place.type_len, 65535);
	len = sprintf(text, "{\"type\":\"%065536d\"}", 0);
	assert_int_equal(event_of(text, (size_t)len), -EINVAL);
	assert_string_equal(why.text, "'type' is longer than 65535 bytes");
	free(text);
}

TEST(emit_json_oversized_events_are_refused_entirely)
{
	uint8_t room[64];
	struct kmes_pack small = kmes_pack_begin(room, sizeof(room));
	struct place where;
	char line[] =
		"{\"type\":\"a\",\"payload\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
		"{\"$bin\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}\n";
	char fits[] =
		"{\"type\":\"a\",\"payload\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}\n";

	assert_int_equal(json_event(json, line, strlen(line) - 1, &small, &where, &why),
			 -EINVAL);
	assert_string_equal(why.text, "larger than an event can be");
	assert_int_equal(small.len, 0);
	assert_int_equal(json_event(json, fits, strlen(fits) - 1, &small, &where, &why),
			 1);
	assert_int_equal(where.payload_len, 19);
}
