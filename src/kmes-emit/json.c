// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * json.c - JSON text to MessagePack, and the object around an event.
 *
 * yajl parses the text, without recursion.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "emit.h"

/* The field of the next or current value. */
enum field {
	FIELD_NONE, /* none: outside of the object, or between its pairs */
	FIELD_TYPE,
	FIELD_PAYLOAD,
	FIELD_OTHER, /* known, but ignored */
};

enum part {
	PART_NIL,
	PART_FALSE,
	PART_TRUE,
	PART_NUMBER,
	PART_STRING,
	PART_KEY,
	PART_OPEN_MAP,
	PART_OPEN_ARRAY,
	PART_CLOSE,
};

struct json {
	yajl_handle parser; /* NULL: to be allocated */
	struct build build;
	struct place place;
	enum field field;
	bool is_in_object;
	bool is_done; /* a value is complete */
	bool has_type, has_payload, has_lost;
	uint32_t depth; /* within an ignored value */
};

/* ---- the object around an event ---- */

static int take_field(struct json *j, const char *key, size_t len)
{
	static const struct {
		const char *name;
		enum field field;
	} fields[] = {
		{ "type", FIELD_TYPE },	   { "payload", FIELD_PAYLOAD },
		{ "time", FIELD_OTHER },   { "ts_ns", FIELD_OTHER },
		{ "cpu", FIELD_OTHER },	   { "seq", FIELD_OTHER },
		{ "origin", FIELD_OTHER }, { "process", FIELD_OTHER },
		{ "token", FIELD_OTHER },  { "true_token", FIELD_OTHER },
		{ "boot", FIELD_OTHER },   { "lost", FIELD_OTHER },
		{ "first", FIELD_OTHER },  { "last", FIELD_OTHER },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strlen(fields[i].name) != len ||
		    memcmp(fields[i].name, key, len) != 0)
			continue;
		j->field = fields[i].field;
		if (j->field == FIELD_TYPE ? j->has_type
					   : j->field == FIELD_PAYLOAD && j->has_payload)
			return kmes_error_set(j->build.why, -EINVAL, "duplicate key '%s'",
					      fields[i].name);
		j->has_type |= j->field == FIELD_TYPE;
		j->has_payload |= j->field == FIELD_PAYLOAD;
		j->has_lost |= key[0] == 'l' && key[1] == 'o';
		j->place.payload = j->field == FIELD_PAYLOAD ? j->build.out->len
							     : j->place.payload;
		return 0;
	}
	return kmes_error_set(j->build.why, -EINVAL, "unknown key '%.*s'",
			      len < 60 ? (int)len : 60, key);
}

/* Outside of values. */
static int take_around(struct json *j, enum part part, const char *text, size_t len)
{
	if (j->is_in_object && part == PART_KEY)
		return take_field(j, text, len);
	if (j->is_in_object) { /* only its end is possible */
		j->is_in_object = false;
		j->is_done = true;
		return 0;
	}
	if (j->is_done)
		return kmes_error_set(j->build.why, -EINVAL,
				      "not JSON: more than one value");
	if (part != PART_OPEN_MAP)
		return kmes_error_set(j->build.why, -EINVAL, "not an object");
	j->is_in_object = true;
	return 0;
}

static int take_type(struct json *j, enum part part, const char *text, size_t len)
{
	j->field = FIELD_NONE;
	if (part != PART_STRING)
		return kmes_error_set(j->build.why, -EINVAL, "'type' is not a string");
	if (!len || len > UINT16_MAX)
		return kmes_error_set(j->build.why, -EINVAL, "'type' is %s",
				      len ? "longer than 65535 bytes" : "empty");
	j->place.type = j->build.out->len;
	j->place.type_len = (uint16_t)len;
	kmes_pack_bytes(j->build.out, text, (uint32_t)len);
	return 0;
}

static int build_part(struct build *b, enum part part, const char *text, size_t len)
{
	switch (part) {
	case PART_NIL:
		return build_nil(b);
	case PART_FALSE:
	case PART_TRUE:
		return build_bool(b, part == PART_TRUE);
	case PART_NUMBER:
		return build_number(b, text, len);
	case PART_STRING:
		return build_string(b, text, len);
	case PART_KEY:
		return build_key(b, text, len);
	case PART_OPEN_MAP:
	case PART_OPEN_ARRAY:
		return build_open(b, part == PART_OPEN_MAP);
	case PART_CLOSE:
		return build_close(b);
	}
	return -EINVAL;
}

static int take_payload(struct json *j, enum part part, const char *text, size_t len)
{
	struct build *b = &j->build;
	int rc = build_part(b, part, text, len);

	if (b->depth == 0) {
		j->field = FIELD_NONE;
		j->is_done = !j->is_in_object;
		j->place.payload_len = b->out->len - j->place.payload;
	}
	return rc;
}

static int take_other(struct json *j, enum part part)
{
	if (part == PART_OPEN_MAP || part == PART_OPEN_ARRAY)
		j->depth++;
	else if (part == PART_CLOSE)
		j->depth--;
	if (j->depth == 0)
		j->field = FIELD_NONE;
	if (j->depth > KMES_DEPTH_MAX) /* yajl grows its stack in small steps */
		return kmes_error_set(j->build.why, -EINVAL, "nested deeper than %u",
				      KMES_DEPTH_MAX);
	return 0;
}

/* Called by yajl's callbacks; 1 to continue. */
static int take(void *ctx, enum part part, const char *text, size_t len)
{
	struct json *j = ctx;

	switch (j->field) {
	case FIELD_NONE:
		return take_around(j, part, text, len) == 0;
	case FIELD_TYPE:
		return take_type(j, part, text, len) == 0;
	case FIELD_PAYLOAD:
		return take_payload(j, part, text, len) == 0;
	case FIELD_OTHER:
		return take_other(j, part) == 0;
	}
	return 0;
}

static int on_null(void *ctx)
{
	return take(ctx, PART_NIL, NULL, 0);
}

static int on_bool(void *ctx, int value)
{
	return take(ctx, value ? PART_TRUE : PART_FALSE, NULL, 0);
}

static int on_number(void *ctx, const char *text, size_t len)
{
	return take(ctx, PART_NUMBER, text, len);
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	return take(ctx, PART_STRING, (const char *)text, len);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	return take(ctx, PART_KEY, (const char *)text, len);
}

static int on_open_map(void *ctx)
{
	return take(ctx, PART_OPEN_MAP, NULL, 0);
}

static int on_open_array(void *ctx)
{
	return take(ctx, PART_OPEN_ARRAY, NULL, 0);
}

static int on_close(void *ctx)
{
	return take(ctx, PART_CLOSE, NULL, 0);
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_bool,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_open_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_close,
	.yajl_start_array = on_open_array,
	.yajl_end_array = on_close,
};

/* ---- the text ---- */

static int parser_make(struct json *j)
{
	if (j->parser)
		return 0;
	j->parser = yajl_alloc(&callbacks, NULL, j);
	if (!j->parser)
		return kmes_error_set(j->build.why, -EINVAL, "out of memory");
	yajl_config(j->parser, yajl_allow_multiple_values, 1);
	yajl_config(j->parser, yajl_dont_validate_strings, 1);
	return 0;
}

static void parser_drop(struct json *j)
{
	if (j->parser)
		yajl_free(j->parser);
	j->parser = NULL;
}

/* yajl's message, without what follows its first line. */
static int set_syntax_reason(struct json *j)
{
	unsigned char *words = yajl_get_error(j->parser, 0, NULL, 0);
	size_t len = words ? strcspn((char *)words, "\n") : 0;

	if (len && words[len - 1] == '.')
		len--;
	kmes_error_set(j->build.why, -EINVAL, "not JSON: %.*s",
		       len < 120 ? (int)len : 120, words ? (char *)words : "");
	yajl_free_error(j->parser, words);
	return -EINVAL;
}

/* Parses all of the text, which ends with a newline. */
static int parse(struct json *j, const char *text, size_t len)
{
	int rc = strict_check(text, len, j->build.why);

	if (rc == 0)
		rc = parser_make(j);
	if (rc < 0)
		return rc;
	switch (yajl_parse(j->parser, (const unsigned char *)text, len)) {
	case yajl_status_ok:
		break;
	case yajl_status_client_canceled:
		return -EINVAL;
	default:
		return set_syntax_reason(j);
	}
	if (j->field != FIELD_NONE || j->is_in_object)
		return kmes_error_set(j->build.why, -EINVAL,
				      "not JSON: ends inside a value");
	if (j->build.out->cut)
		return kmes_error_set(j->build.why, -EINVAL,
				      "larger than an event can be");
	return 0;
}

/* Prepares for a line; keeps the parser. */
static void reset(struct json *j, struct kmes_pack *out, struct kmes_error *why)
{
	j->build.out = out;
	j->build.why = why;
	j->build.depth = 0;
	j->place = (struct place){ 0 };
	j->field = FIELD_NONE;
	j->is_in_object = j->is_done = false;
	j->has_type = j->has_payload = j->has_lost = false;
	j->depth = 0;
}

static int undo(struct json *j, uint32_t start)
{
	j->build.out->len = start;
	j->build.out->cut = false;
	parser_drop(j);
	return -EINVAL;
}

/* Completes the object: 1, 0 or -EINVAL. */
static int finish_event(struct json *j)
{
	if (!j->is_done || (j->has_lost && !j->has_type && !j->has_payload))
		return 0;
	if (j->has_lost)
		return kmes_error_set(j->build.why, -EINVAL,
				      "both an event and a loss record");
	if (!j->has_type)
		return kmes_error_set(j->build.why, -EINVAL, "no 'type'");
	if (!j->has_payload) {
		j->place.payload = j->build.out->len;
		j->place.payload_len = 1;
		kmes_pack_map(j->build.out, 0);
	}
	return 1;
}

int json_event(struct json *j, const char *line, size_t len, struct kmes_pack *out,
	       struct place *place, struct kmes_error *why)
{
	uint32_t start = out->len;
	int rc;

	reset(j, out, why);
	rc = parse(j, line, len + 1);
	if (rc == 0)
		rc = finish_event(j);
	if (rc < 0)
		return undo(j, start);
	*place = j->place;
	return rc;
}

int json_value(struct json *j, const char *text, size_t len, struct kmes_pack *out,
	       struct kmes_error *why)
{
	uint32_t start = out->len;
	char *copy = malloc(len + 1);
	int rc;

	if (!copy)
		return kmes_error_set(why, -EINVAL, "out of memory");
	memcpy(copy, text, len);
	copy[len] = '\n';
	reset(j, out, why);
	j->field = FIELD_PAYLOAD;
	rc = parse(j, copy, len + 1);
	free(copy);
	return rc < 0 ? undo(j, start) : 0;
}

struct json *json_new(void)
{
	return calloc(1, sizeof(struct json));
}

void json_free(struct json *j)
{
	if (!j)
		return;
	parser_drop(j);
	free(j);
}
