// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* JSON member by member: commas, nesting, escapes, numbers, bounded memory. */
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "unit.h"

struct sink {
	struct kmes_outbuf buf; /* first */
	char memory[KMES_OUT_PIECE];
	char text[1 << 17];
	size_t len;
};

static struct sink sink;

static int drain(struct kmes_outbuf *buf)
{
	struct sink *s = (struct sink *)buf;

	assert_true(s->len + buf->len < sizeof(s->text));
	memcpy(s->text + s->len, buf->data, buf->len);
	s->len += buf->len;
	s->text[s->len] = '\0';
	buf->len = 0;
	return 0;
}

static struct kmes_json_out begin(void)
{
	struct kmes_json_out j;

	sink.len = 0;
	sink.buf = (struct kmes_outbuf){ .data = sink.memory,
					 .size = sizeof(sink.memory),
					 .full = drain };
	kmesp_json_begin(&j, &sink.buf);
	return j;
}

static const char *written(void)
{
	drain(&sink.buf);
	return sink.text;
}

TEST(json_out_writes_commas_between_members_only)
{
	struct kmes_json_out j = begin();

	kmesp_json_open_object(&j, NULL);
	kmesp_json_open_array(&j, "empty");
	kmesp_json_close(&j);
	kmesp_json_open_array(&j, "rings");
	kmesp_json_open_object(&j, NULL);
	kmesp_json_u64(&j, "cpu", 0);
	kmesp_json_null(&j, "age");
	kmesp_json_close(&j);
	kmesp_json_open_object(&j, NULL);
	kmesp_json_close(&j);
	kmesp_json_u64(&j, NULL, UINT64_MAX);
	kmesp_json_close(&j);
	kmesp_json_bool(&j, "a", true);
	kmesp_json_bool(&j, "b", false);
	kmesp_json_close(&j);
	assert_string_equal(written(),
			    "{\"empty\":[],\"rings\":[{\"cpu\":0,\"age\":null},{},"
			    "18446744073709551615],\"a\":true,\"b\":false}\n");
}

TEST(json_out_writes_a_line_for_each_outermost_value)
{
	struct kmes_json_out j = begin();
	int i;

	for (i = 0; i < 2; i++) {
		kmesp_json_open_object(&j, NULL);
		kmesp_json_u64(&j, "n", 1);
		kmesp_json_close(&j);
	}
	assert_string_equal(written(), "{\"n\":1}\n{\"n\":1}\n");
}

TEST(json_out_escapes_untrusted_bytes)
{
	struct kmes_json_out j = begin();

	kmesp_json_open_array(&j, NULL);
	kmesp_json_text(&j, NULL, "a\"b\\c\n\33[31m");
	kmesp_json_bytes(&j, NULL, "\0\xff", 2);
	kmesp_json_text(&j, NULL, "");
	kmesp_json_close(&j);
	assert_string_equal(written(), "[\"a\\\"b\\\\c\\n\\u001b[31m\","
				       "\"\\u0000\xef\xbf\xbd\",\"\"]\n");
}

TEST(json_out_writes_fractions)
{
	struct kmes_json_out j = begin();

	kmesp_json_open_array(&j, NULL);
	kmesp_json_seconds(&j, NULL, 1000000005);
	kmesp_json_seconds(&j, NULL, UINT64_MAX);
	kmesp_json_fixed(&j, NULL, 2.25, 1);
	kmesp_json_fixed(&j, NULL, 0, 3);
	kmesp_json_close(&j);
	assert_string_equal(written(), "[1.000000005,18446744073.709551615,2.2,0.000]\n");
}

TEST(json_out_needs_no_more_memory_for_longer_output)
{
	struct kmes_json_out j = begin();
	char *text = malloc(20000);
	size_t i, commas = 0;

	memset(text, 1, 20000);
	kmesp_json_open_array(&j, NULL);
	kmesp_json_bytes(&j, NULL, text, 20000 / 8);
	for (i = 0; i < 5000; i++)
		kmesp_json_u64(&j, NULL, 12345678901);
	kmesp_json_fixed(&j, NULL, 1e308, 1);
	kmesp_json_close(&j);
	free(text);
	written();
	for (i = 0; i < sink.len; i++)
		commas += sink.text[i] == ',';
	assert_int_equal(commas, 5001);
	assert_int_equal(sink.len, 1 + 2 + 6 * 2500 + 5000 * 12 + 1 + 311 + 2);
	assert_int_equal(sink.buf.error, 0);
}
