// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * format.c - for any event the formats keep their invariants: one line, no cursor
 * control, the same text with colours, widths and small buffers, strict JSON.
 *
 * usage: format [SEED]
 *
 * Inputs are generated values, damaged copies, and random bytes; `make fuzzer-format`
 * lets clang's libFuzzer choose them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yajl/yajl_parse.h>

#include "base/invisible.h"
#include "hostile.h"
#include "kmes_msgpack.h"
#include "print/columns.h"
#include "sample.h"
#include "tap.h"

#define INPUT_MAX 4096
#define SEED_DEFAULT 20261129

/* What is wrong with the last input, or NULL. */
static const char *wrong;

static void expect(bool ok, const char *what)
{
	if (!ok && !wrong)
		wrong = what;
}

/* ---- output ---- */

struct printed {
	char *text;
	size_t len;
};

static struct printed print(const struct kmes_format *format,
			    const struct kmes_event *event,
			    struct kmes_format_options options)
{
	struct kmes_formatter f;
	struct printed p;
	const char *text;

	kmesp_formatter_init(&f, format, &options);
	text = sample_format(&f, event);
	p.len = sample_length();
	p.text = malloc(p.len + 1);
	if (!p.text)
		abort();
	memcpy(p.text, text, p.len + 1);
	return p;
}

/* A buffer of the minimum size, flushed each time it is full. */
struct small_out {
	struct kmes_outbuf out;
	char memory[KMES_OUT_PIECE];
	const struct printed *expected;
	size_t at;
	bool differs;
};

static int compare_piece(struct kmes_outbuf *out)
{
	struct small_out *small = (struct small_out *)out;

	if (out->len > small->expected->len - small->at ||
	    memcmp(small->expected->text + small->at, out->data, out->len))
		small->differs = true;
	else
		small->at += out->len;
	out->len = 0;
	return 0;
}

static void check_small_memory(const struct kmes_format *format,
			       const struct kmes_event *event,
			       struct kmes_format_options options,
			       const struct printed *expected)
{
	struct small_out small = {
		.out = { .size = KMES_OUT_PIECE, .full = compare_piece },
		.expected = expected,
	};
	struct kmes_formatter f;

	small.out.data = small.memory;
	kmesp_formatter_init(&f, format, &options);
	kmesp_formatter_event(&f, &small.out, event);
	compare_piece(&small.out);
	expect(!small.differs && small.at == expected->len,
	       "small memory changes what is printed");
}

/* ---- invariants of lines ---- */

static void check_harmless(const struct printed *p)
{
	const uint8_t *s = (const uint8_t *)p->text;

	for (size_t n = 0; n < p->len;) {
		uint32_t cp;
		int size = kmes_utf8_decode(s + n, p->len - n, &cp);

		expect(size > 0, "not UTF-8");
		if (size <= 0)
			return;
		expect(cp == '\n' || (cp >= 0x20 && cp != 0x7f), "a control character");
		expect(!kmesp_is_hidden(cp), "a hidden code point");
		n += size;
	}
	expect(p->len && p->text[p->len - 1] == '\n', "no newline at the end");
}

static void check_one_line(const struct printed *p)
{
	expect(memchr(p->text, '\n', p->len) == p->text + p->len - 1,
	       "more than one line");
}

static void check_block(const struct printed *p)
{
	const char *line = p->text;

	while ((line = strchr(line, '\n')) && *++line)
		expect(!strncmp(line, "    ", 4), "a line of a block is not indented");
}

/* ---- colours ---- */

static void strip_colors(struct printed *p)
{
	char *to = p->text;

	for (const char *s = p->text; *s; s++) {
		if (*s != '\33')
			*to++ = *s;
		else
			while (*s && *s != 'm')
				s++;
	}
	*to = 0;
	p->len = to - p->text;
}

static void check_colored(const struct kmes_format *format,
			  const struct kmes_event *event, const struct printed *plain)
{
	struct printed p =
		print(format, event, (struct kmes_format_options){ .color = true });

	strip_colors(&p);
	expect(p.len == plain->len && !memcmp(p.text, plain->text, p.len),
	       "colours change what is printed");
	free(p.text);
}

/* ---- widths ---- */

static unsigned int columns_of(const char *s, size_t len)
{
	unsigned int columns = 0;

	for (size_t n = 0; n < len;) {
		uint32_t cp = 0;
		int size = kmes_utf8_decode((const uint8_t *)s + n, len - n, &cp);

		columns += kmesp_code_point_columns(cp);
		n += size > 0 ? size : 1;
	}
	return columns;
}

/* Does the line end within an escape? */
static bool ends_in_escape(const char *s, size_t len)
{
	for (size_t n = 0; n < len;) {
		size_t size = 1;

		if (s[n] == '\\')
			size = n + 1 == len	 ? 2
			       : s[n + 1] == 'x' ? 4
			       : s[n + 1] == 'u' ? 6
			       : s[n + 1] == 'U' ? 10
						 : 2;
		if (size > len - n)
			return true;
		n += size;
	}
	return false;
}

/* Each line is as long as possible: the longest unit is ten columns. */
static void check_cut_line(const char *cut, size_t cut_len, const char *full,
			   size_t full_len, unsigned int width)
{
	unsigned int columns = columns_of(cut, cut_len);

	expect(cut_len <= full_len && !memcmp(cut, full, cut_len),
	       "a cut line is no start of the whole one");
	expect(columns <= width, "a line is wider than it may be");
	expect(cut_len == full_len || columns + 10 > width, "a line is cut too early");
	expect(!ends_in_escape(cut, cut_len), "a line is cut in an escape");
}

static void check_cut(const struct kmes_format *format, const struct kmes_event *event,
		      const struct printed *plain, unsigned int width)
{
	struct kmes_format_options options = { .width = width };
	struct printed p = print(format, event, options);
	const char *cut = p.text, *full = plain->text;

	while (*cut && *full && !wrong) {
		size_t cut_len = strcspn(cut, "\n"), full_len = strcspn(full, "\n");

		check_cut_line(cut, cut_len, full, full_len, width);
		cut += cut_len + (cut[cut_len] == '\n');
		full += full_len + (full[full_len] == '\n');
	}
	expect(*cut == *full, "cutting changes the number of lines");
	check_small_memory(format, event, options, &p);
	free(p.text);
}

/* ---- JSON ---- */

static void check_json(const struct printed *p)
{
	yajl_handle yajl = yajl_alloc(NULL, NULL, NULL);

	if (!yajl)
		abort();
	expect(yajl_parse(yajl, (const uint8_t *)p->text, p->len) == yajl_status_ok &&
		       yajl_complete_parse(yajl) == yajl_status_ok,
	       "no JSON");
	yajl_free(yajl);
}

/* ---- all of it ---- */

static void check_text(const struct kmes_format *format, const struct kmes_event *event,
		       unsigned int width)
{
	struct kmes_format_options none = { .width = 0 };
	struct printed p = print(format, event, none);

	expect(strlen(p.text) == p.len, "a NUL");
	check_harmless(&p);
	if (format == &kmesp_format_pretty)
		check_block(&p);
	else
		check_one_line(&p);
	check_small_memory(format, event, none, &p);
	check_colored(format, event, &p);
	check_cut(format, event, &p, width);
	free(p.text);
}

/* The first bytes select how the others are used: as type, GUIDs, payload. */
static bool check_input(const uint8_t *data, size_t len)
{
	struct kmes_event event;
	struct printed p;
	unsigned int width;
	size_t type_len;

	wrong = NULL;
	if (len < 6)
		return true;
	width = 1 + data[0];
	type_len = data[1] % 64;
	if (type_len > len - 6)
		type_len = len - 6;
	event = sample_event(data + 6 + type_len, len - 6 - type_len);
	event.type = (const char *)data + 6;
	event.type_len = type_len;
	event.origin = data[2];
	event.cpu = data[3];
	event.seq = data[4] * 0x0123456789abcdefull;
	event.ts_ns = data[5] * 0x0123456789abcdefull;
	if (len - 6 >= 16 && data[5] % 2)
		event.process_guid = data + 6;

	check_text(&kmesp_format_text, &event, width);
	check_text(&kmesp_format_pretty, &event, width);
	check_text(&kmesp_format_hex, &event, width);
	p = print(&kmesp_format_json, &event, (struct kmes_format_options){ 0 });
	check_harmless(&p);
	check_one_line(&p);
	check_json(&p);
	check_small_memory(&kmesp_format_json, &event, (struct kmes_format_options){ 0 },
			   &p);
	free(p.text);
	return !wrong;
}

static void show(const uint8_t *data, size_t len)
{
	char hex[2 * INPUT_MAX + 1];

	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 * i, "%02x", data[i]);
	tap_note("%s: %.*s", wrong, (int)(2 * len), hex);
}

#ifdef KMES_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len <= INPUT_MAX && !check_input(data, len)) {
		show(data, len);
		abort();
	}
	return 0;
}

#else

static size_t make_input(struct hostile *h, uint8_t *data)
{
	size_t len = 6;

	for (int i = 0; i < 6; i++)
		data[i] = hostile_number(h) >> 56;
	len += hostile_text(h, data + len, 63);
	data[1] = len - 6;
	if (hostile_below(h, 64) == 0) {
		for (uint32_t n = hostile_below(h, 64); n; n--)
			data[len++] = hostile_number(h) >> 56;
		return len;
	}
	len += hostile_value(h, data + len, hostile_below(h, 8) ? 600 : INPUT_MAX - len);
	if (hostile_below(h, 4) == 0)
		len = 6 + data[1] +
		      hostile_damage(h, data + 6 + data[1], len - 6 - data[1]);
	return len;
}

int main(int argc, char **argv)
{
	struct hostile h = { argc > 1 ? strtoull(argv[1], NULL, 10) : SEED_DEFAULT };
	time_t end = time(NULL) + tap_fuzz_seconds();
	uint64_t inputs = 0, failures = 0;
	uint8_t data[INPUT_MAX];

	tap_note("seed %llu", (unsigned long long)h.state);
	do {
		size_t len = make_input(&h, data);

		inputs++;
		if (!check_input(data, len) && failures++ < 5)
			show(data, len);
	} while (time(NULL) < end || inputs < 1000);
	tap_note("%llu inputs", (unsigned long long)inputs);
	tap_ok(failures == 0, "every format keeps its invariants for any event");
	return tap_done();
}

#endif
