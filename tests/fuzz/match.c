// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * match.c - conditions on payload fields compared with msgpack-c's objects, and over
 * damaged payloads under a sanitizer.
 *
 * Payloads and paths use few keys, so that they match often. The oracle follows the path
 * by recursion over the unpacked object.
 */
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filter/match.h"
#include "tap.h"

#define LEVELS_MAX 4

static uint64_t state = 20261129;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- payloads ---- */

static const char *const words[] = { "a", "b", "0", "1", "*", "a.b", "" };

static void pack_word(msgpack_packer *pk, const char *word)
{
	msgpack_pack_str(pk, strlen(word));
	msgpack_pack_str_body(pk, word, strlen(word));
}

static void pack_scalar(msgpack_packer *pk)
{
	switch (random_below(6)) {
	case 0:
		msgpack_pack_nil(pk);
		break;
	case 1:
		msgpack_pack_true(pk);
		break;
	case 2:
		msgpack_pack_int64(pk, (int64_t)random_below(4) - 2);
		break;
	case 3:
		msgpack_pack_double(pk, random_below(5) / 2.0 - 1);
		break;
	default:
		pack_word(pk, words[random_below(7)]);
	}
}

static void pack_value(msgpack_packer *pk, int levels)
{
	uint32_t i, n = random_below(4);

	switch (levels ? random_below(4) : 0) {
	case 0:
		pack_scalar(pk);
		break;
	case 1:
		msgpack_pack_array(pk, n);
		for (i = 0; i < n; i++)
			pack_value(pk, levels - 1);
		break;
	default:
		msgpack_pack_map(pk, n);
		for (i = 0; i < n; i++) {
			pack_value(pk, random_below(8) ? 0 : levels - 1);
			pack_value(pk, levels - 1);
		}
	}
}

static void damage(char *bytes, size_t len)
{
	uint32_t n = 1 + random_below(3);

	while (n--)
		bytes[random_below((uint32_t)len)] = (char)random_below(256);
}

/* ---- conditions ---- */

enum kind { PRESENT, EQUAL, UNEQUAL, LESS, KINDS };

struct condition {
	const char *keys[LEVELS_MAX + 1];
	int count;
	enum kind kind;
	const char *word; /* EQUAL, UNEQUAL */
	int number;	  /* LESS */
	char text[128];
};

static const char *const path_texts[] = { "a", "b", "0", "1", "\\*", "a\\.b" };
static const char *const any = "any";

static void make_condition(struct condition *c)
{
	static const char *const plain_words[] = {
		"a", "b", "0", "1", "true", "nil", "-1"
	};
	size_t len = 0;
	int i, pick;

	c->count = 1 + (int)random_below(LEVELS_MAX);
	for (i = 0; i < c->count; i++) {
		pick = (int)random_below(7);
		c->keys[i] = pick == 6 ? any : words[pick];
		len += (size_t)sprintf(c->text + len, "%s%s", i ? "." : "",
				       pick == 6 ? "*" : path_texts[pick]);
	}
	c->kind = (enum kind)random_below(KINDS);
	c->word = plain_words[random_below(7)];
	c->number = (int)random_below(4) - 2;
	if (c->kind == EQUAL || c->kind == UNEQUAL)
		sprintf(c->text + len, "%s%s", c->kind == EQUAL ? "=" : "!=", c->word);
	else if (c->kind == LESS)
		sprintf(c->text + len, "<%d", c->number);
}

/* ---- the oracle ---- */

/* The text of what pack_scalar writes, by printf. */
static bool has_text(const msgpack_object *o, const char *word)
{
	char text[64] = "";

	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		return !strcmp(word, "nil");
	case MSGPACK_OBJECT_BOOLEAN:
		return !strcmp(word, o->via.boolean ? "true" : "false");
	case MSGPACK_OBJECT_STR:
		return o->via.str.size == strlen(word) &&
		       !memcmp(o->via.str.ptr, word, o->via.str.size);
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		sprintf(text, "%llu", (unsigned long long)o->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		sprintf(text, "%lld", (long long)o->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT64:
		sprintf(text, "%.1f", o->via.f64);
		break;
	default:
		return false;
	}
	return !strcmp(text, word);
}

static bool is_less(const msgpack_object *o, int number)
{
	switch (o->type) {
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return (double)o->via.u64 < number;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return (double)o->via.i64 < number;
	case MSGPACK_OBJECT_FLOAT64:
		return o->via.f64 < number;
	default:
		return false;
	}
}

static bool fulfils(const msgpack_object *o, const struct condition *c)
{
	switch (c->kind) {
	case PRESENT:
		return true;
	case EQUAL:
		return has_text(o, c->word);
	case UNEQUAL:
		return !has_text(o, c->word);
	default:
		return is_less(o, c->number);
	}
}

/* Floats, lists and maps as keys have no text for a path. */
static bool is_key(const msgpack_object *key, const char *word)
{
	return word == any ||
	       (key->type != MSGPACK_OBJECT_FLOAT64 && has_text(key, word));
}

static bool oracle(const msgpack_object *o, const struct condition *c, int step)
{
	char index[16];
	uint32_t i;

	if (step == c->count)
		return fulfils(o, c);
	if (o->type == MSGPACK_OBJECT_MAP) {
		for (i = 0; i < o->via.map.size; i++)
			if (is_key(&o->via.map.ptr[i].key, c->keys[step]) &&
			    oracle(&o->via.map.ptr[i].val, c, step + 1))
				return true;
	} else if (o->type == MSGPACK_OBJECT_ARRAY) {
		for (i = 0; i < o->via.array.size; i++) {
			sprintf(index, "%u", i);
			if ((c->keys[step] == any || !strcmp(index, c->keys[step])) &&
			    oracle(&o->via.array.ptr[i], c, step + 1))
				return true;
		}
	}
	return false;
}

/* ---- comparing ---- */

/* At the end of an allocation, so that an overrun is noticed. */
static bool ours(struct kmes_match *match, const char *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	bool passes;

	if (!copy)
		abort();
	memcpy(copy, bytes, len);
	passes = kmesp_match_passes(match, copy, (uint32_t)len);
	free(copy);
	return passes;
}

static void note_payload(const char *bytes, size_t len)
{
	char hex[512];
	size_t i;

	for (i = 0; i < len && i < 250; i++)
		sprintf(hex + 2 * i, "%02x", (uint8_t)bytes[i]);
	tap_note("payload %s", hex);
}

/* One condition on one payload, then on damaged copies of it. */
static bool try_pair(const struct condition *c, struct kmes_match *match,
		     msgpack_sbuffer *payload, uint64_t *passed)
{
	msgpack_unpacked unpacked;
	size_t off = 0;
	bool expected, got;
	int i;

	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, payload->data, payload->size, &off) !=
	    MSGPACK_UNPACK_SUCCESS)
		return false;
	/* A scalar at the top has no fields. */
	expected = oracle(&unpacked.data, c, 0);
	got = ours(match, payload->data, payload->size);
	msgpack_unpacked_destroy(&unpacked);
	if (expected != got) {
		tap_note("'%s': expected %d, got %d", c->text, expected, got);
		note_payload(payload->data, payload->size);
		return false;
	}
	*passed += got;
	for (i = 0; i < 3; i++) {
		damage(payload->data, payload->size);
		ours(match, payload->data, payload->size);
		ours(match, payload->data, random_below((uint32_t)payload->size + 1));
	}
	return true;
}

int main(void)
{
	time_t end = time(NULL) + tap_fuzz_seconds();
	uint64_t tried = 0, passed = 0;
	bool ok = true;

	while (ok && (tried < 20000 || time(NULL) < end)) {
		struct condition c;
		struct kmes_match *match;
		struct kmes_error err;
		msgpack_sbuffer payload;
		msgpack_packer pk;

		make_condition(&c);
		if (kmesp_match_new(&match, c.text, &err)) {
			tap_note("'%s' is refused: %s", c.text, err.text);
			ok = false;
			break;
		}
		msgpack_sbuffer_init(&payload);
		msgpack_packer_init(&pk, &payload, msgpack_sbuffer_write);
		pack_value(&pk, LEVELS_MAX);
		ok = try_pair(&c, match, &payload, &passed);
		msgpack_sbuffer_destroy(&payload);
		kmesp_match_free(match);
		tried++;
	}
	tap_note("%llu payloads, of which %llu passed", (unsigned long long)tried,
		 (unsigned long long)passed);
	tap_ok(ok, "conditions on fields agree with msgpack-c's objects");
	tap_ok(passed > tried / 100, "conditions match often enough");
	return tap_done();
}
