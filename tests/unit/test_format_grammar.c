// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An adversarial corpus printed as text and as JSON: format_grammar.py parses every line
 * and compares the values, jq reads every line of JSON, and no locale changes a byte.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"
#include "payload.h"
#include "sample.h"
#include "unit.h"

#define EVENTS 1500
#define JQ_DEPTH 255

static char folder[] = "/tmp/kmes-format-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[2][100];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static FILE *create(const char *name)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	return file;
}

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int run(const char *format, ...)
{
	char command[500];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command);
}

/* ---- the corpus, from a fixed seed ---- */

struct hostile_event {
	struct kmes_event event;
	uint8_t payload[4096], type[100], guids[3][16];
};

/* A value of each type, each length and count form, and past mistakes. */
static const struct {
	const char *bytes;
	size_t len;
} literals[] = {
#define L(bytes)                                                                         \
	{                                                                                \
		bytes, sizeof(bytes) - 1                                                 \
	}
	L("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
	L("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"),
	L("\xcf\x00\x20\x00\x00\x00\x00\x00\x01"),
	L("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"),
	L("\xcb\xff\xf0\x00\x00\x00\x00\x00\x00"),
	L("\xca\x7f\xc0\x00\x00"),
	L("\xcb\x80\x00\x00\x00\x00\x00\x00\x00"),
	L("\x81\xa1m\xa5\xe2\x94\x94\xc3\xa9"),
	L("\x92\xa1\x00\xa4\xff\xfe\xc0\x80"),
	L("\x83\xa1k\x01\xa1k\x02\x01\x03"),
	L("\x95\xc4\x00\xc5\x00\x01z\xc6\x00\x00\x00\x01z\xc7\x00\x05\xc8\x00\x01\x05z"),
	L("\x95\xd9\x01z\xda\x00\x01z\xdb\x00\x00\x00\x01z\xdc\x00\x01\x07\xdd\x00\x00\x00"
	  "\x00"),
	L("\x92\xde\x00\x01\x01\x02\xdf\x00\x00\x00\x01\xa0\x80"),
	L("\x95\xd4\x01z\xd5\x01zz\xd6\x01zzzz\xd7\x01zzzzzzzz\xd8\x01zzzzzzzzzzzzzzzz"),
	L("\x81\x81\x92\x01\xa1\"\xc0\x80"),
	L("\xdb\xff\xff\xff\xff"),
	L("\xdf\x80\x00\x00\x01\x01\x02"),
	L("\x92\x01"),
	L(""),
#undef L
};

#define LITERALS (COUNT(literals))
#define NESTS 2

static size_t corpus_payload(struct hostile *h, int n, uint8_t *buf)
{
	size_t len;

	if ((size_t)n < LITERALS) {
		memcpy(buf, literals[n].bytes, literals[n].len);
		return literals[n].len;
	}
	if (n < (int)LITERALS + NESTS) {
		len = n == (int)LITERALS ? 250 : 256;
		for (size_t i = 0; i < len - 1; i++)
			buf[i] = 0x91;
		buf[len - 1] = 0x80;
		return len;
	}
	len = hostile_value(h, buf, 600 + hostile_below(h, 3000));
	return hostile_below(h, 10) ? len : hostile_damage(h, buf, len);
}

static void corpus_event(struct hostile *h, int n, struct hostile_event *e)
{
	memset(e->guids, 0, sizeof(e->guids));
	for (int i = 0; i < 3; i++)
		if (hostile_below(h, 2))
			for (int j = 0; j < 16; j++)
				e->guids[i][j] = hostile_number(h) >> 30;
	e->event = (struct kmes_event){
		.payload = e->payload,
		.payload_len = corpus_payload(h, n, e->payload),
		.type = (const char *)e->type,
		.type_len = hostile_text(h, e->type, sizeof(e->type)),
		.ts_ns = hostile_below(h, 4) ? SAMPLE_NS + n : hostile_number(h),
		.seq = hostile_below(h, 4) ? (uint64_t)n : hostile_number(h),
		.cpu = hostile_number(h) >> (hostile_below(h, 2) ? 48 : 62),
		.origin = hostile_number(h) >> 56,
		.process_guid = e->guids[0],
		.effective_token_guid = e->guids[1],
		.true_token_guid = e->guids[2],
	};
	if (hostile_below(h, 2))
		e->event.origin = (uint8_t)(254 + hostile_below(h, 6));
	if (!e->event.type_len) {
		e->type[0] = 't';
		e->event.type_len = 1;
	}
}

static void print_hex(FILE *file, const char *name, const void *bytes, size_t len)
{
	fprintf(file, ", \"%s\": \"", name);
	for (size_t i = 0; i < len; i++)
		fprintf(file, "%02x", ((const uint8_t *)bytes)[i]);
	fputc('"', file);
}

static void print_fields(FILE *file, const struct kmes_event *e)
{
	enum kmes_mp_fault fault = kmesp_payload_check(e->payload, e->payload_len);

	fprintf(file, "{\"cpu\": %u, \"seq\": %llu, \"ts_ns\": %llu, \"origin\": %u",
		e->cpu, (unsigned long long)e->seq, (unsigned long long)e->ts_ns,
		e->origin);
	fprintf(file, ", \"fault\": \"%s\"", fault ? kmesp_mp_reason(fault) : "");
	print_hex(file, "type", e->type, e->type_len);
	print_hex(file, "payload", e->payload, e->payload_len);
	print_hex(file, "process", e->process_guid, 16);
	print_hex(file, "token", e->effective_token_guid, 16);
	print_hex(file, "true_token", e->true_token_guid, 16);
	fputs("}\n", file);
}

static const char *print_event(FILE *file, const struct kmes_format *format,
			       const struct kmes_event *event)
{
	struct kmes_formatter f;
	const char *line;

	kmesp_formatter_init(&f, format, &(struct kmes_format_options){ 0 });
	line = sample_format(&f, event);
	fwrite(line, 1, sample_length(), file);
	return line;
}

/* jq's parser stack has 256 entries; a list takes one, an object two. */
static int jq_depth(const char *line)
{
	int depth = 0, deepest = 0;
	bool in_string = false;

	for (; *line; line++) {
		if (in_string && *line == '\\')
			line++;
		else if (*line == '"')
			in_string = !in_string;
		else if (!in_string && strchr("[{", *line))
			depth += *line == '[' ? 1 : 2;
		else if (!in_string && strchr("]}", *line))
			depth -= *line == ']' ? 1 : 2;
		if (depth > deepest)
			deepest = depth;
	}
	return deepest;
}

static void print_corpus(const char *name, const char *json_name)
{
	struct hostile h = { 20261129 };
	static struct hostile_event e;
	FILE *all = create(name), *json = json_name ? create(json_name) : NULL;
	const char *line;

	for (int n = 0; n < EVENTS; n++) {
		corpus_event(&h, n, &e);
		print_fields(all, &e.event);
		print_event(all, &kmesp_format_text, &e.event);
		line = print_event(all, &kmesp_format_json, &e.event);
		if (json && jq_depth(line) <= JQ_DEPTH)
			fputs(line, json);
	}
	assert_int_equal(fclose(all), 0);
	if (json)
		assert_int_equal(fclose(json), 0);
}

/* ---- tests ---- */

TEST(grammar_every_line_parses_to_its_values)
{
	print_corpus("corpus", "json");
	assert_int_equal(run("python3 -B tests/unit/format_grammar.py %s >&2",
			     path_of("corpus")),
			 0);
}

TEST(grammar_jq_reads_every_line_of_json)
{
	assert_int_equal(run("test $(jq -c .seq <%s | wc -l) -eq $(wc -l <%s)",
			     path_of("json"), path_of("json")),
			 0);
	/* and there are enough, including 250 levels */
	assert_int_equal(
		run("test $(wc -l <%s) -gt %d", path_of("json"), EVENTS / 10 * 9), 0);
	assert_int_equal(
		run("jq -en '[inputs.payload | [paths | length] | max] | max >= 249' "
		    "<%s >/dev/null",
		    path_of("json")),
		0);
}

/* A locale with a decimal comma; built here if none is installed. */
static bool use_locale_with_comma(void)
{
	const char *names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8", "de_DE" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (setlocale(LC_ALL, names[i]))
			return true;
	if (run("localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null", folder))
		return false;
	setenv("LOCPATH", folder, 1);
	return setlocale(LC_ALL, "de_DE.UTF-8");
}

TEST(grammar_no_locale_changes_a_byte)
{
	char number[10];

	if (!use_locale_with_comma()) {
		print_message(
			"no locale with a decimal comma, and none could be built\n");
		skip();
	}
	snprintf(number, sizeof(number), "%.1f", 1.5);
	assert_string_equal(number, "1,5");
	print_corpus("corpus-comma", NULL);
	setlocale(LC_ALL, "C");
	assert_int_equal(run("cmp %s %s", path_of("corpus"), path_of("corpus-comma")), 0);
	print_corpus("corpus-c", NULL);
	assert_int_equal(run("cmp %s %s", path_of("corpus"), path_of("corpus-c")), 0);
}

static void make_folder(void)
{
	assert_non_null(mkdtemp(folder));
}

static void remove_folder(void)
{
	assert_int_equal(run("rm -rf %s", folder), 0);
}
ALL_TESTS(make_folder, remove_folder);
