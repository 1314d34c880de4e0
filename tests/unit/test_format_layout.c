// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Layout of the text formats, byte by byte: times, colours, widths, losses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sample.h"
#include "unit.h"

#define HEAD "cpu0  #17  USR  t"

#define assert_block(literal, text)                                                      \
	assert_string_equal(sample_print(&kmesp_format_pretty, literal,                  \
					 sizeof(literal) - 1, SAMPLE_NO_TIME),           \
			    HEAD "\n" text)

TEST(text_head_shows_cpu_sequence_and_origin)
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
	struct kmes_formatter f = sample_formatter(&kmesp_format_text, SAMPLE_NO_TIME);
	struct kmes_event event = sample_event("", 0);

	event.cpu = 65535;
	event.seq = UINT64_MAX;
	for (size_t i = 0; i < COUNT(cases); i++) {
		event.origin = cases[i].origin;
		assert_string_equal(sample_format(&f, &event), cases[i].text);
	}
}

/* Only the time field of an event with this timestamp. */
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

TEST(text_time_prints_in_each_style)
{
	struct kmes_formatter f;

	f = sample_formatter(&kmesp_format_text,
			     (struct kmes_format_options){ .time = KMES_TIME_CLOCK });
	assert_string_equal(time_of(&f, SAMPLE_NS), "20:21:22.123456");
	assert_string_equal(time_of(&f, SAMPLE_NS + 876543211), "20:21:23.000000");
	assert_string_equal(time_of(&f, SAMPLE_NS), "20:21:22.123456");
	assert_string_equal(time_of(&f, 0), "00:00:00.000000");
	f = sample_formatter(&kmesp_format_text,
			     (struct kmes_format_options){ .time = KMES_TIME_ISO });
	assert_string_equal(time_of(&f, 0), "1970-01-01T00:00:00.000000000Z");
	assert_string_equal(time_of(&f, SAMPLE_NS), "2026-11-29T20:21:22.123456789Z");
	assert_string_equal(time_of(&f, UINT64_MAX), "2554-07-21T23:34:33.709551615Z");
	f = sample_formatter(&kmesp_format_text,
			     (struct kmes_format_options){ .time = KMES_TIME_EPOCH });
	assert_string_equal(time_of(&f, SAMPLE_NS), "1795983682.123456789");
	assert_string_equal(time_of(&f, 1), "0.000000001");
	assert_string_equal(time_of(&f, UINT64_MAX), "18446744073.709551615");
}

TEST(text_time_delta_is_relative_to_the_previous_event)
{
	struct kmes_formatter f =
		sample_formatter(&kmesp_format_text,
				 (struct kmes_format_options){ .time = KMES_TIME_DELTA });
	struct kmes_loss loss = { .first = 1, .last = 2, .ts_ns = 1 };
	struct kmes_outbuf out;

	assert_string_equal(time_of(&f, SAMPLE_NS), "+0.000000");
	assert_string_equal(time_of(&f, SAMPLE_NS + 1500000), "+0.001500");
	/* a loss does not count as an event */
	assert_int_equal(kmesp_outbuf_init(&out), 0);
	kmesp_formatter_loss(&f, &out, &loss);
	kmesp_outbuf_fini(&out);
	assert_string_equal(time_of(&f, SAMPLE_NS + 1500999), "+0.000000");
	assert_string_equal(time_of(&f, SAMPLE_NS - 12000000000), "-12.001500");
	assert_string_equal(time_of(&f, UINT64_MAX), "+16650760403.586094");
}

TEST(text_time_local_follows_the_time_zone)
{
	struct kmes_formatter f =
		sample_formatter(&kmesp_format_text,
				 (struct kmes_format_options){ .time = KMES_TIME_LOCAL });

	setenv("TZ", "XYZ-3:30", 1);
	tzset();
	assert_string_equal(time_of(&f, SAMPLE_NS), "23:51:22.123456");
	assert_string_equal(time_of(&f, SAMPLE_NS + 1000000), "23:51:22.124456");
	assert_string_equal(time_of(&f, SAMPLE_NS + 600000000000), "00:01:22.123456");
	unsetenv("TZ");
	tzset();
}

TEST(text_time_styles_have_names)
{
	assert_int_equal(kmesp_time_style_find("clock"), KMES_TIME_CLOCK);
	assert_int_equal(kmesp_time_style_find("local"), KMES_TIME_LOCAL);
	assert_int_equal(kmesp_time_style_find("iso"), KMES_TIME_ISO);
	assert_int_equal(kmesp_time_style_find("epoch"), KMES_TIME_EPOCH);
	assert_int_equal(kmesp_time_style_find("delta"), KMES_TIME_DELTA);
	assert_int_equal(kmesp_time_style_find("none"), KMES_TIME_NONE);
	assert_true(kmesp_time_style_find("Clock") < 0);
	assert_true(kmesp_time_style_find("") < 0);
}

TEST(text_hex_prints_the_payload_undecoded)
{
	assert_string_equal(sample_print(&kmesp_format_hex, "\x81\xa1k\x1b", 4,
					 SAMPLE_NO_TIME),
			    HEAD "  0x81a16b1b\n");
	assert_string_equal(sample_print(&kmesp_format_hex, "\xc1", 1, SAMPLE_NO_TIME),
			    HEAD "  0xc1\n");
}

TEST(text_pretty_prints_a_block)
{
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
	assert_block("\x82\x91\x81\xa1k\x01\xc3\xa4sids\x91" SAMPLE_SYSTEM_SID,
		     "    [{k: 1}]: true\n"
		     "    sids:\n"
		     "        - S-1-5-18\n");
	assert_block("\x81\xa1\n\xa1\n", "    \"\\n\": \"\\n\"\n");
}

TEST(text_pretty_stays_on_one_line_below_32_levels)
{
	char bytes[35], expected[5000], *p = expected;

	memset(bytes, 0x91, 34);
	bytes[34] = 7;
	p += sprintf(p, HEAD "\n");
	for (int depth = 1; depth < 32; depth++)
		p += sprintf(p, "%*s-\n", 4 * depth, "");
	sprintf(p, "%*s- [[7]]\n", 4 * 32, "");
	assert_string_equal(sample_print(&kmesp_format_pretty, bytes, 35, SAMPLE_NO_TIME),
			    expected);
}

TEST(text_pretty_begins_with_the_nonzero_guids)
{
	static const uint8_t one[16] = { 1 }, two[16] = { [15] = 2 };
	struct kmes_formatter f = sample_formatter(&kmesp_format_pretty, SAMPLE_NO_TIME);
	struct kmes_event event = sample_event("\x81\xa1k\x01", 4);

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
	struct kmes_formatter f = sample_formatter(format, options);
	struct kmes_outbuf out;

	assert_int_equal(kmesp_outbuf_init(&out), 0);
	kmesp_formatter_loss(&f, &out, &loss);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
	kmesp_outbuf_fini(&out);
	return text;
}

TEST(text_loss_prints_exactly)
{
	struct kmes_loss loss = { .cpu = 2, .first = 101, .last = 137 };
	struct kmes_loss big = { .cpu = 0, .first = 2, .last = 5000000000 };

	assert_string_equal(print_loss(&kmesp_format_text, loss, SAMPLE_NO_TIME),
			    "--- cpu2: lost 37 events (#101-#137) ---\n");
	assert_string_equal(print_loss(&kmesp_format_pretty, loss, SAMPLE_NO_TIME),
			    "--- cpu2: lost 37 events (#101-#137) ---\n");
	assert_string_equal(print_loss(&kmesp_format_hex, big, SAMPLE_NO_TIME),
			    "--- cpu0: lost 4999999999 events (#2-#5000000000) ---\n");
}

/* Strips SGR sequences. */
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

TEST(text_colour_only_adds_colours)
{
	static const char payload[] = "\x82\xa1k\x92\x01\x02\xa3\x1b[m\x80";
	const struct kmes_format *formats[] = { &kmesp_format_text, &kmesp_format_pretty,
						&kmesp_format_hex };
	struct kmes_loss loss = { .first = 1, .last = 2 };

	for (int i = 0; i < 3; i++) {
		char plain[500], colored[500];

		strcpy(plain,
		       sample_print(formats[i], payload, sizeof(payload) - 1,
				    (struct kmes_format_options){ .color = false }));
		strcpy(colored,
		       sample_print(formats[i], payload, sizeof(payload) - 1,
				    (struct kmes_format_options){ .color = true }));
		assert_null(strchr(plain, '\33'));
		assert_string_not_equal(plain, colored);
		assert_string_equal(uncoloured(colored), plain);
	}
	assert_string_equal(
		uncoloured(print_loss(&kmesp_format_text, loss,
				      (struct kmes_format_options){ .color = true })),
		"--- cpu0: lost 2 events (#1-#2) ---\n");
}

static const char *cut(const char *payload, size_t len, unsigned int width)
{
	return sample_print(&kmesp_format_text, payload, len,
			    (struct kmes_format_options){ .time = KMES_TIME_NONE,
							  .width = width });
}

TEST(text_width_truncates_by_columns)
{
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
	/* zero width: a combining accent stays with its letter */
	assert_string_equal(cut("\xa5"
				"ae\xcc\x81z",
				6, 22),
			    HEAD "  \"ae\xcc\x81\n");
	assert_string_equal(cut("\xa5"
				"ae\xcc\x81z",
				6, 21),
			    HEAD "  \"a\n");
}

TEST(text_width_does_not_split_escapes)
{
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

TEST(text_width_truncates_every_line_and_resets_colours)
{
	struct kmes_loss loss = { .first = 1, .last = 2 };
	struct kmes_format_options colored = { .time = KMES_TIME_NONE,
					       .color = true,
					       .width = 6 };
	struct kmes_format_options narrow = { .time = KMES_TIME_NONE, .width = 6 };

	assert_string_equal(sample_print(&kmesp_format_pretty,
					 "\x82\xa3"
					 "abc\x01\xa1x\xa1y",
					 10, narrow),
			    "cpu0  \n"
			    "    ab\n"
			    "    x:\n");
	assert_string_equal(sample_print(&kmesp_format_pretty,
					 "\x81\xa3"
					 "abc\x01",
					 6, colored),
			    "\33[34mcpu0\33[0m  \n"
			    "    \33[36mab\33[0m\n");
	assert_string_equal(print_loss(&kmesp_format_text, loss, narrow), "--- cp\n");
	assert_string_equal(print_loss(&kmesp_format_text, loss, colored),
			    "\33[1;31m--- cp\33[0m\n");
}

/* A buffer flushed before it is full yields the same bytes. */
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

TEST(text_of_any_size_goes_through_one_buffer)
{
	const struct kmes_format *formats[] = { &kmesp_format_text, &kmesp_format_pretty,
						&kmesp_format_hex, &kmesp_format_json };
	size_t len = 5 + 300000;
	char *payload = malloc(len);

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
			struct kmes_formatter f =
				sample_formatter(formats[i], SAMPLE_NO_TIME);
			struct kmes_event event = sample_event(payload, len);
			const char *expected = sample_format(&f, &event);

			small.out.data = small.memory;
			kmesp_formatter_event(&f, &small.out, &event);
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

TEST(text_that_cannot_be_written_sets_an_error)
{
	static char memory[KMES_OUT_PIECE], payload[5 + 20000] = "\xc6\x00\x00\x4e\x20";
	struct kmes_outbuf out = { .data = memory,
				   .size = sizeof(memory),
				   .full = refuse };
	struct kmes_formatter f = sample_formatter(&kmesp_format_text, SAMPLE_NO_TIME);
	struct kmes_event event = sample_event(payload, sizeof(payload));

	kmesp_formatter_event(&f, &out, &event);
	assert_int_equal(out.error, -5);
}
