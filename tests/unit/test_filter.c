// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Filters: types, origins, times, CPUs, conditions on fields of untrusted payloads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "filter/match.h"
#include "unit.h"

/* ---- conditions on the payload ---- */

/* The payload ends with its allocation, so that sanitizers see any overrun. */
static bool passes_bytes(const char *expr, const void *payload, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct kmes_error err = { "" };
	struct kmes_match *match;
	bool passes;

	assert_non_null(copy);
	memcpy(copy, payload, len);
	if (kmesp_match_new(&match, expr, &err))
		fail_msg("'%s' is refused: %s", expr, err.text);
	passes = kmesp_match_passes(match, copy, (uint32_t)len);
	kmesp_match_free(match);
	free(copy);
	return passes;
}

struct condition {
	const char *expr;
	bool passes;
	const char *payload;
	size_t len;
};

static void check_conditions(const struct condition *c, size_t count)
{
	for (; count; count--, c++)
		if (passes_bytes(c->expr, c->payload, c->len) != c->passes)
			fail_msg("'%s' %s", c->expr, c->passes ? "fails" : "passes");
}

#define BYTES(literal) literal, sizeof(literal) - 1

/* {user: {name: "alice", id: 1000}, list: [10, {x: "y"}, nil], ok: true, ratio: 0.5} */
#define SAMPLE_BYTES                                                                     \
	"\x84\xa4user\x82\xa4name\xa5"                                                   \
	"alice\xa2id\xcd\x03\xe8\xa4list\x93\x0a\x81\xa1x\xa1y\xc0\xa2ok\xc3\xa5"        \
	"ratio\xcb\x3f\xe0\0\0\0\0\0\0"
#define SAMPLE BYTES(SAMPLE_BYTES)

TEST(filter_field_is_present_or_absent)
{
	static const struct condition rows[] = {
		{ "user", true, SAMPLE },      { "user.name", true, SAMPLE },
		{ "list.2", true, SAMPLE },    { "name", false, SAMPLE },
		{ "user.nam", false, SAMPLE }, { "user.name.x", false, SAMPLE },
		{ "list.3", false, SAMPLE },   { "ok.x", false, SAMPLE },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_text_of_a_value_is_compared)
{
	static const struct condition rows[] = {
		{ "user.name=alice", true, SAMPLE },
		{ "user.name=ali*", true, SAMPLE },
		{ "user.name=Alice", false, SAMPLE },
		{ "user.name=bob", false, SAMPLE },
		{ "user.name!=bob", true, SAMPLE },
		{ "user.name!=alice", false, SAMPLE },
		{ "user.shoe!=bob", false, SAMPLE },
		{ "user.id=1000", true, SAMPLE },
		{ "user.id=1*", true, SAMPLE },
		{ "user.id=100", false, SAMPLE },
		{ "ok=true", true, SAMPLE },
		{ "list.2=nil", true, SAMPLE },
		{ "ratio=0.5", true, SAMPLE },
		{ "list.1.x=y", true, SAMPLE },
		{ "list.1={x: \"y\"}", true, SAMPLE },
		{ "list=\\[10, *nil\\]", true, SAMPLE },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_text_has_neither_quotes_nor_escapes)
{
	static const struct condition rows[] = {
		{ "k=x\ny\"z", true, BYTES("\x81\xa1k\xa5x\ny\"z") },
		{ "k=\xff*", true, BYTES("\x81\xa1k\xa2\xff\xfe") },
		{ "k=", true, BYTES("\x81\xa1k\xa0") },
		{ "k=", false, BYTES("\x81\xa1k\xa1x") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_typed_fields_compare_as_printed)
{
	static const struct condition rows[] = {
		{ "user_sid=S-1-5-18", true,
		  BYTES("\x81\xa8user_sid\xc4\x0c\x01\x01\0\0\0\0\0\x05\x12\0\0\0") },
		{ "sids.*=S-1-5-18", true,
		  BYTES("\x81\xa4sids\x91\xc4\x0c\x01\x01\0\0\0\0\0\x05\x12\0\0\0") },
		{ "data=0x0101*", true,
		  BYTES("\x81\xa4"
			"data\xc4\x0c\x01\x01\0\0\0\0\0\x05\x12\0\0\0") },
		{ "at=1970-01-01T00:00:01.000000000Z", true,
		  BYTES("\x81\xa2"
			"at\xd6\xff\0\0\0\x01") },
		/* A mask also matches by its number. */
		{ "access=1", true,
		  BYTES("\x81\xa6"
			"access\x01") },
		{ "access=0x00000001(*", true,
		  BYTES("\x81\xa6"
			"access\x01") },
		{ "access!=2", true,
		  BYTES("\x81\xa6"
			"access\x01") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_numbers_compare_by_value)
{
	static const struct condition rows[] = {
		{ "user.id>999", true, SAMPLE },
		{ "user.id>=1000", true, SAMPLE },
		{ "user.id>1000", false, SAMPLE },
		{ "user.id<1000.5", true, SAMPLE },
		{ "user.id<=1000", true, SAMPLE },
		{ "user.id<1000", false, SAMPLE },
		{ "ratio<1", true, SAMPLE },
		{ "ratio>-1", true, SAMPLE },
		{ "user.name>0", false, SAMPLE },
		{ "ok>0", false, SAMPLE },
		{ "user>0", false, SAMPLE },
		/*
		 * 2^53 + 1 does not fit a double, 2^64 - 1 does not fit a signed integer.
		 */
		{ "n>9007199254740992", true,
		  BYTES("\x81\xa1n\xcf\0\x20\0\0\0\0\0\x01") },
		{ "n>9007199254740993", false,
		  BYTES("\x81\xa1n\xcf\0\x20\0\0\0\0\0\x01") },
		{ "n>0", true, BYTES("\x81\xa1n\xcf\xff\xff\xff\xff\xff\xff\xff\xff") },
		{ "n=18446744073709551615", true,
		  BYTES("\x81\xa1n\xcf\xff\xff\xff\xff\xff\xff\xff\xff") },
		{ "n=-9223372036854775808", true,
		  BYTES("\x81\xa1n\xd3\x80\0\0\0\0\0\0\0") },
		{ "n<=1", false, BYTES("\x81\xa1n\xcb\x7f\xf8\0\0\0\0\0\0") },
		{ "n>=1", false, BYTES("\x81\xa1n\xcb\x7f\xf8\0\0\0\0\0\0") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_star_matches_one_level)
{
	static const struct condition rows[] = {
		{ "*.name=alice", true, SAMPLE },
		{ "list.*=10", true, SAMPLE },
		{ "list.*.x=y", true, SAMPLE },
		{ "*.*.x=y", true, SAMPLE },
		{ "*=alice", false, SAMPLE },
		{ "*.x=y", false, SAMPLE },
		/* A star within a key is literal. */
		{ "us*.name=alice", false, SAMPLE },
		{ "k*=1", true, BYTES("\x81\xa2k*\x01") },
		{ "\\*=1", true, BYTES("\x82\xa1k\x02\xa1*\x01") },
		{ "\\*=2", false, BYTES("\x82\xa1k\x02\xa1*\x01") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_keys_may_contain_special_characters)
{
	static const struct condition rows[] = {
		{ "k\\.b=1", true, BYTES("\x81\xa3k.b\x01") },
		{ "k.b=1", false, BYTES("\x81\xa3k.b\x01") },
		{ "k\\=b=1", true, BYTES("\x81\xa3k=b\x01") },
		{ "k\\\\b=1", true, BYTES("\x81\xa3k\\b\x01") },
		{ "k\\<b>0", true, BYTES("\x81\xa3k<b\x01") },
		{ "k!b=1", true, BYTES("\x81\xa3k!b\x01") },
		/* The first operator splits; what follows belongs to the value. */
		{ "k=b=c", true,
		  BYTES("\x81\xa1k\xa3"
			"b=c") },
		{ "k=<>!", true, BYTES("\x81\xa1k\xa3<>!") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_keys_of_other_types_match_by_their_text)
{
	static const struct condition rows[] = {
		{ "7=x", true, BYTES("\x81\x07\xa1x") },
		{ "-1=x", true, BYTES("\x81\xff\xa1x") },
		{ "nil=x", true, BYTES("\x81\xc0\xa1x") },
		{ "true=x", true, BYTES("\x81\xc3\xa1x") },
		{ "07=x", false, BYTES("\x81\x07\xa1x") },
		{ "7=x", true,
		  BYTES("\x81\xa1"
			"7\xa1x") },
		/* A list or map as a key is skipped; only a star matches it. */
		{ "k=1", true, BYTES("\x82\x92\x01\x02\x05\xa1k\x01") },
		{ "*=5", true, BYTES("\x82\x92\x01\x02\x05\xa1k\x01") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_any_of_duplicate_keys_matches)
{
	static const struct condition rows[] = {
		{ "k=1", true, BYTES("\x82\xa1k\x01\xa1k\x02") },
		{ "k=2", true, BYTES("\x82\xa1k\x01\xa1k\x02") },
		{ "k!=1", true, BYTES("\x82\xa1k\x01\xa1k\x02") },
		{ "k.x=1", true, BYTES("\x82\xa1k\x81\xa1y\x01\xa1k\x81\xa1x\x01") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_payload_without_fields_passes_nothing)
{
	static const struct condition rows[] = {
		{ "a", false, BYTES("") },	{ "a", false, BYTES("\x01") },
		{ "0", false, BYTES("\xa1x") }, { "a", false, BYTES("\x80") },
		{ "*", false, BYTES("\x90") },	{ "0=5", true, BYTES("\x91\x05") },
	};

	check_conditions(rows, COUNT(rows));
}

TEST(filter_malformed_payload_is_searched_up_to_the_fault)
{
	static const struct condition rows[] = {
		{ "k", false, BYTES("\xdf\xff\xff\xff\xff\xa1k\x01") },
		{ "a", false, BYTES("\x81\xc1\x01") },
		{ "k=x*", false, BYTES("\x81\xa1k\xdb\xff\xff\xff\xffx") },
	};
	size_t len;

	for (len = 0; len < sizeof(SAMPLE_BYTES) - 1; len++) {
		/* "alice" ends at byte 18 */
		assert_int_equal(passes_bytes("user.name=alice", SAMPLE_BYTES, len),
				 len >= 18);
		assert_false(passes_bytes("nothing", SAMPLE_BYTES, len));
		assert_false(passes_bytes("*.*.*.*=x", SAMPLE_BYTES, len));
	}
	check_conditions(rows, COUNT(rows));
}

TEST(filter_deep_payloads_need_no_stack)
{
	enum { DEEP = 1 << 20 };
	uint8_t *bytes = malloc(DEEP);
	char path[2 * 256 + 1];
	struct kmes_match *match;
	int i;

	assert_non_null(bytes);
	memset(bytes, 0x91, DEEP - 1);
	bytes[DEEP - 1] = 0x05;
	assert_false(passes_bytes("1", bytes, DEEP));
	assert_true(passes_bytes("0.0.0", bytes, DEEP));
	/* Deeper than what is printed: its text matches nothing. */
	assert_false(passes_bytes("0=*", bytes, DEEP));
	for (i = 0; i < 256; i++)
		memcpy(path + 2 * i, "0.", 2);
	path[2 * 256 - 1] = '\0';
	assert_true(passes_bytes(path, bytes, DEEP));
	strcpy(path + 2 * 256 - 1, ".");
	assert_int_equal(kmesp_match_new(&match, path, NULL), -EINVAL);
	/* The innermost of 250. */
	for (i = 0; i < 250; i++)
		memcpy(path + 2 * i, "0.", 2);
	strcpy(path + 2 * 250 - 1, "=5");
	assert_true(passes_bytes(path, bytes + DEEP - 251, 251));
	free(bytes);
}

TEST(filter_invalid_conditions_are_refused)
{
	static const char *const exprs[] = {
		"",	 "=x",	    ".",   "a.",   ".a",       "a..b=1", "a.=1",
		"a\\",	 "a\\x",    "a>",  "a<x",  "a>=1x",    "a<0x10", "a<=1,5",
		"a>nan", "a<1e999", "a=[", "a=\\", "a!=[z-a]", "!=x",	 "<1",
	};
	struct kmes_error err;
	struct kmes_match *match;
	size_t i;

	for (i = 0; i < COUNT(exprs); i++) {
		err.text[0] = '\0';
		if (kmesp_match_new(&match, exprs[i], &err) != -EINVAL)
			fail_msg("'%s' is accepted", exprs[i]);
		assert_null(match);
		assert_non_null(strstr(err.text, "'"));
	}
}

/* ---- an event's header ---- */

struct sample {
	uint8_t bytes[256];
	struct kmes_event event;
};

static const struct kmes_event *event(struct sample *s, const char *type)
{
	static const uint8_t guid[16];

	memset(&s->event, 0, sizeof(s->event));
	s->event.type = type;
	s->event.type_len = (uint16_t)strlen(type);
	s->event.payload = (const uint8_t *)SAMPLE_BYTES;
	s->event.payload_len = sizeof(SAMPLE_BYTES) - 1;
	s->event.ts_ns = 1000;
	s->event.process_guid = s->event.true_token_guid = guid;
	s->event.effective_token_guid = guid;
	return &s->event;
}

static struct kmes_filter *filter_of_types(const char *a, const char *b)
{
	struct kmes_filter *filter = kmesp_filter_new();

	assert_non_null(filter);
	if (a)
		assert_int_equal(kmesp_filter_add_type(filter, a, NULL), 0);
	if (b)
		assert_int_equal(kmesp_filter_add_type(filter, b, NULL), 0);
	return filter;
}

static bool type_passes(const char *a, const char *b, const char *type)
{
	struct kmes_filter *filter = filter_of_types(a, b);
	struct sample s;
	bool passes = kmesp_filter_passes(filter, event(&s, type));

	kmesp_filter_free(filter);
	return passes;
}

/* One or two patterns against a type. */
struct type_case {
	const char *a, *b, *type;
	bool passes;
};

static void check_types(const struct type_case *c, size_t count)
{
	for (; count; count--, c++)
		if (type_passes(c->a, c->b, c->type) != c->passes)
			fail_msg("'%s' %s", c->type, c->passes ? "fails" : "passes");
}

TEST(filter_empty_passes_everything)
{
	struct kmes_filter *filter = kmesp_filter_new();
	struct sample s;

	assert_false(kmesp_filter_is_set(filter));
	assert_true(kmesp_filter_passes(filter, event(&s, "x")));
	kmesp_filter_free(filter);
	kmesp_filter_free(NULL);
}

TEST(filter_types_are_alternatives_and_exclusions_win)
{
	static const struct type_case rows[] = {
		{ "app.*", NULL, "app.login", true },
		{ "app.*", NULL, "db.query", false },
		{ "app.*", "db.*", "db.query", true },
		{ "app.*", "!app.login", "app.login", false },
		{ "!app.login", "app.*", "app.login", false },
		{ "app.*", "^app.login", "app.logout", true },
		/* With exclusions only, everything else passes. */
		{ "!app.*", NULL, "db.query", true },
		{ "^app.*", NULL, "app.x", false },
		{ "\\!x", NULL, "!x", true },
		{ "APP.*", NULL, "app.x", false },
	};

	check_types(rows, COUNT(rows));
}

TEST(filter_type_is_bytes_with_a_length)
{
	struct kmes_filter *filter = filter_of_types("a?b", NULL);
	struct sample s;

	event(&s, "a");
	s.event.type = "a\0b";
	s.event.type_len = 3;
	assert_true(kmesp_filter_passes(filter, &s.event));
	s.event.type_len = 2;
	assert_false(kmesp_filter_passes(filter, &s.event));
	kmesp_filter_free(filter);
}

static bool origin_passes(const char *text, uint8_t origin)
{
	struct kmes_filter *filter = kmesp_filter_new();
	struct sample s;
	bool passes;

	event(&s, "x");
	s.event.origin = origin;
	assert_int_equal(kmesp_filter_add_origin(filter, text, NULL), 0);
	passes = kmesp_filter_passes(filter, &s.event);
	kmesp_filter_free(filter);
	return passes;
}

TEST(filter_origins_by_word_and_number)
{
	assert_true(origin_passes("userspace", 0));
	assert_true(origin_passes("user", 0));
	assert_true(origin_passes("USR", 0));
	assert_true(origin_passes("kmes", 1));
	assert_true(origin_passes("Kacs", 2));
	assert_true(origin_passes("lcs", 3));
	assert_true(origin_passes("trace", 254));
	assert_true(origin_passes("host", 255));
	assert_true(origin_passes("77", 77));
	assert_true(origin_passes("c77", 77));
	assert_true(origin_passes("C77", 77));
	assert_true(origin_passes("c255", 255));
	assert_false(origin_passes("kmes", 0));
	assert_false(origin_passes("77", 78));
}

TEST(filter_invalid_values_are_refused_by_name)
{
	static const char *const origins[] = {
		"", "c", "256", "-1", "users", "cc1", "1 "
	};
	static const char *const types[] = { "", "!", "^", "[", "!a[", "x\\" };
	struct kmes_filter *filter = kmesp_filter_new();
	struct kmes_error err;
	size_t i;

	for (i = 0; i < COUNT(origins); i++)
		if (kmesp_filter_add_origin(filter, origins[i], NULL) != -EINVAL)
			fail_msg("origin '%s' is accepted", origins[i]);
	for (i = 0; i < COUNT(types); i++)
		if (kmesp_filter_add_type(filter, types[i], NULL) != -EINVAL)
			fail_msg("type '%s' is accepted", types[i]);
	assert_int_equal(kmesp_filter_add_origin(filter, "users", &err), -EINVAL);
	assert_string_equal(err.text, "unknown origin: 'users'");
	assert_int_equal(kmesp_filter_add_type(filter, "a[b", &err), -EINVAL);
	assert_string_equal(err.text, "'[' without its ']' in the type: 'a[b'");
	/* None of them added a condition. */
	assert_false(kmesp_filter_is_set(filter));
	kmesp_filter_free(filter);
}

TEST(filter_times_include_both_ends)
{
	struct kmes_filter *filter = kmesp_filter_new();
	struct sample s;

	event(&s, "x");
	kmesp_filter_set_times(filter, 1000, 2000);
	assert_true(kmesp_filter_passes(filter, &s.event));
	s.event.ts_ns = 2000;
	assert_true(kmesp_filter_passes(filter, &s.event));
	s.event.ts_ns = 999;
	assert_false(kmesp_filter_passes(filter, &s.event));
	s.event.ts_ns = 2001;
	assert_false(kmesp_filter_passes(filter, &s.event));
	kmesp_filter_free(filter);
}

TEST(filter_cpus_are_a_set)
{
	static struct kmes_cpus cpus;
	struct kmes_filter *filter = kmesp_filter_new();
	struct sample s;

	kmes_cpus_add(&cpus, 2);
	kmes_cpus_add(&cpus, 65535);
	kmesp_filter_set_cpus(filter, &cpus);
	event(&s, "x");
	assert_false(kmesp_filter_passes(filter, &s.event));
	s.event.cpu = 2;
	assert_true(kmesp_filter_passes(filter, &s.event));
	s.event.cpu = 65535;
	assert_true(kmesp_filter_passes(filter, &s.event));
	kmesp_filter_free(filter);
}

TEST(filter_kinds_of_conditions_must_all_hold)
{
	struct kmes_filter *filter = filter_of_types("app.*", NULL);
	struct sample s;

	assert_int_equal(kmesp_filter_add_origin(filter, "user", NULL), 0);
	assert_int_equal(kmesp_filter_add_match(filter, "user.name=alice", NULL), 0);
	assert_int_equal(kmesp_filter_add_match(filter, "user.id>5", NULL), 0);
	assert_true(kmesp_filter_passes(filter, event(&s, "app.x")));
	assert_false(kmesp_filter_passes(filter, event(&s, "db.x")));
	event(&s, "app.x");
	s.event.origin = 1;
	assert_false(kmesp_filter_passes(filter, &s.event));
	assert_int_equal(kmesp_filter_add_match(filter, "user.id>5000", NULL), 0);
	assert_false(kmesp_filter_passes(filter, event(&s, "app.x")));
	kmesp_filter_free(filter);
}
