// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * emit_json.c - kmes-emit's JSON parser against a strict recognizer of RFC 8259: both
 * accept the same input, and the result is well-formed MessagePack [E3]. Inputs are
 * generated values and damaged copies of them.
 *
 * usage: emit_json [SEED]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kmes_msgpack.h"
#include "src/kmes-emit/emit.h"
#include "tap.h"

#define INPUT_MAX 4096
#define ROOM 65536
#define SEED_DEFAULT 20261129
#define MUTANTS 9

/* ---- the recognizer: each function consumes its input or fails ---- */

struct text {
	const uint8_t *p, *end;
	unsigned int depth;
};

static bool value(struct text *t);

static void blanks(struct text *t)
{
	while (t->p < t->end && strchr(" \t\n\r", *t->p) && *t->p)
		t->p++;
}

static bool literal(struct text *t, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(t->end - t->p) < len || memcmp(t->p, word, len) != 0)
		return false;
	t->p += len;
	return true;
}

static bool digits(struct text *t)
{
	const uint8_t *start = t->p;

	while (t->p < t->end && *t->p >= '0' && *t->p <= '9')
		t->p++;
	return t->p > start;
}

static bool number(struct text *t)
{
	literal(t, "-");
	if (!literal(t, "0") && !digits(t))
		return false;
	if (literal(t, ".") && !digits(t))
		return false;
	if (literal(t, "e") || literal(t, "E")) {
		if (!literal(t, "+"))
			literal(t, "-");
		return digits(t);
	}
	return true;
}

static int unit(struct text *t)
{
	static const char hex[] = "0123456789abcdef0123456789ABCDEF";
	const char *at;
	int i, v = 0;

	for (i = 0; i < 4; i++, t->p++) {
		if (t->p == t->end || !*t->p || !(at = strchr(hex, *t->p)))
			return -1;
		v = v * 16 + (int)(at - hex) % 16;
	}
	return v;
}

/* After the backslash. Surrogates come in pairs. */
static bool escape(struct text *t)
{
	int v;

	if (t->p == t->end)
		return false;
	if (*t->p != 'u')
		return *t->p && strchr("\"\\/bfnrt", *t->p++);
	t->p++;
	v = unit(t);
	if (v < 0 || (v >= 0xdc00 && v <= 0xdfff))
		return false;
	if (v < 0xd800 || v > 0xdbff)
		return true;
	if (!literal(t, "\\u"))
		return false;
	v = unit(t);
	return v >= 0xdc00 && v <= 0xdfff;
}

static bool string(struct text *t)
{
	if (!literal(t, "\""))
		return false;
	while (t->p < t->end) {
		uint8_t c = *t->p++;

		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !escape(t)))
			return false;
	}
	return false;
}

static bool member(struct text *t, bool is_map)
{
	if (!is_map)
		return value(t);
	blanks(t);
	if (!string(t))
		return false;
	blanks(t);
	return literal(t, ":") && value(t);
}

static bool container(struct text *t, bool is_map)
{
	const char *close = is_map ? "}" : "]";

	t->p++;
	blanks(t);
	if (literal(t, close))
		return true;
	do {
		if (!member(t, is_map))
			return false;
	} while (literal(t, ","));
	return literal(t, close);
}

static bool value(struct text *t)
{
	bool ok = false;

	blanks(t);
	if (t->p == t->end || ++t->depth > INPUT_MAX)
		return false;
	if (*t->p == '{' || *t->p == '[')
		ok = container(t, *t->p == '{');
	else if (*t->p == '"')
		ok = string(t);
	else
		ok = literal(t, "null") || literal(t, "true") || literal(t, "false") ||
		     number(t);
	t->depth--;
	blanks(t);
	return ok;
}

static bool is_json(const char *text, size_t len)
{
	struct text t = { (const uint8_t *)text, (const uint8_t *)text + len, 0 };

	return kmes_utf8_valid(text, (uint32_t)len) && value(&t) && t.p == t.end;
}

/* ---- inputs ---- */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

struct sample_text {
	char text[INPUT_MAX];
	size_t len;
};

static void add(struct sample_text *in, const char *text)
{
	size_t len = strlen(text);

	if (in->len + len < INPUT_MAX) {
		memcpy(in->text + in->len, text, len);
		in->len += len;
	}
}

static const char *const scalars[] = {
	"0",
	"-0",
	"1.5",
	"1e3",
	"-12E-7",
	"18446744073709551615",
	"-9223372036854775808",
	"null",
	"true",
	"false",
	"\"\"",
	"\"text\"",
	"\"\\u00e9\\n\"",
	"\"\\ud83d\\ude00\"",
	"\"\xc3\xa9\xe2\x82\xac\"",
	"\"\\\\u\"",
	"\"$bin\"",
	"0.0001",
	"1e300",
	"9007199254740993",
};

static const char *const pieces[] = {
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\"",
	"\\",
	"\\u",
	"\\ud800",
	"\\udc00",
	"'",
	"-",
	"+",
	".",
	"e",
	"E",
	"0",
	"01",
	"NaN",
	"Infinity",
	"nul",
	" ",
	"\t",
	"\n",
	"\r",
	"\v",
	"\f",
	"\x1b",
	"\x7f",
	"\x80",
	"\xc0\x80",
	"\xed\xa0\x80",
	"\xef\xbb\xbf",
	"\xc2\xa0",
	"//",
	"/*",
	"*/",
	"#",
	"\\x",
	"\\'",
	"tru",
	"1e",
	"0x1",
	"\\u12",
	"a",
};

#define PICK(list) list[below(sizeof(list) / sizeof(list[0]))]

static void generate(struct sample_text *in, unsigned int depth)
{
	unsigned int i, count = below(5);
	bool is_map = below(2);

	if (depth == 0 || below(3) == 0) {
		add(in, PICK(scalars));
		return;
	}
	add(in, is_map ? "{" : "[");
	for (i = 0; i < count; i++) {
		add(in, i ? "," : "");
		add(in, below(8) ? "" : " ");
		if (is_map) {
			add(in, "\"k\\u0041\"");
			add(in, below(8) ? ":" : " : ");
		}
		generate(in, depth - 1);
	}
	add(in, is_map ? "}" : "]");
}

/* Inserts a piece, removes some bytes, or flips a bit. */
static void damage(struct sample_text *in)
{
	size_t at = below((uint32_t)in->len + 1), n;
	const char *piece = PICK(pieces);
	unsigned int kind = below(4);

	if (kind <= 1) {
		n = strlen(piece);
		if (in->len + n > INPUT_MAX)
			return;
		memmove(in->text + at + n, in->text + at, in->len - at);
		memcpy(in->text + at, piece, n);
		in->len += n;
	} else if (kind == 2) {
		n = below(4);
		if (n > in->len - at)
			n = in->len - at;
		memmove(in->text + at, in->text + at + n, in->len - at - n);
		in->len -= n;
	} else if (at < in->len) {
		in->text[at] ^= (char)(1 << below(8));
	}
}

/* ---- the comparison ---- */

static struct kmes_pack out;
static struct kmes_mp_scratch scratch;
static uint64_t accepted, refused, beyond;

/* A refusal for more than syntax: the input may be JSON or not. */
static bool is_about_more(const struct kmes_error *why)
{
	return strncmp(why->text, "not JSON", 8) != 0;
}

static bool agree(struct json *json, const struct sample_text *in)
{
	char *text = malloc(in->len + 1);
	struct kmes_error why = { "" };
	bool expected, ok;
	int r;

	/* its own allocation: any overrun is noticed */
	memcpy(text, in->text, in->len);
	expected = is_json(text, in->len);
	out.len = 0;
	r = json_value(json, text, in->len, &out, &why);
	free(text);
	if (r < 0 && is_about_more(&why)) {
		beyond++;
		return out.len == 0;
	}
	*(r < 0 ? &refused : &accepted) += 1;
	ok = expected == (r == 0) &&
	     (r < 0 ? out.len == 0 : !kmes_mp_validate(out.buf, out.len, 256, &scratch));
	if (!ok) {
		tap_note("input: %.*s", (int)in->len, in->text);
		tap_note("kmes-emit: %s, RFC 8259: %s", r < 0 ? why.text : "accepted",
			 expected ? "JSON" : "not JSON");
	}
	return ok;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + tap_fuzz_seconds();
	struct json *json = json_new();
	struct sample_text in;
	bool ok = true;
	int i, j;

	random_state = argc > 1 ? strtoull(argv[1], NULL, 10) : SEED_DEFAULT;
	out = kmes_pack_begin(malloc(ROOM), ROOM);
	while (ok && time(NULL) < end) {
		for (i = 0; ok && i < 1000; i++) {
			in.len = 0;
			generate(&in, 5);
			ok = agree(json, &in);
			for (j = 0; ok && j < MUTANTS; j++) {
				damage(&in);
				ok = agree(json, &in);
			}
		}
	}
	tap_note("%llu accepted, %llu refused, %llu refused for more than their syntax",
		 (unsigned long long)accepted, (unsigned long long)refused,
		 (unsigned long long)beyond);
	tap_ok(ok, "kmes-emit and RFC 8259 agree");
	tap_ok(accepted > 1000 && refused > 1000, "both outcomes are frequent");
	json_free(json);
	free(out.buf);
	return tap_done();
}
