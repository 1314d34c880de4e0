// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * match_walk.c - follows a condition's path through a payload, and compares the fields.
 */
#include <string.h>

#include "filter/match_private.h"

/* ---- comparing ---- */

static bool is_container(const struct kmes_mp_token *tok)
{
	return tok->type == KMES_MP_ARRAY || tok->type == KMES_MP_MAP;
}

/* A value, from `start` to `end`, and what its key says of it. */
struct value {
	const uint8_t *start, *end;
	struct kmes_mp_token tok; /* the first one */
	enum kmes_hint hint;
};

static bool decimal_matches(const struct kmes_glob *glob, const struct kmes_mp_token *tok)
{
	char text[24];
	char *end = tok->type == KMES_MP_INT ? kmesp_put_i64(text, tok->value.i)
					     : kmesp_put_u64(text, tok->value.u);

	return kmesp_glob_matches(glob, text, (size_t)(end - text));
}

/* With the text that kmes-dump prints for the value. */
static bool printed_matches(struct kmes_match *match, const struct value *value)
{
	struct kmes_outbuf *out = &match->text;
	struct kmes_walk walk;
	char *p;

	if (kmesp_payload_check(value->start, (uint32_t)(value->end - value->start)))
		return false;
	out->len = 0;
	out->error = 0;
	kmesp_walk_init(&walk, value->start, value->end);
	walk.hint = value->hint;
	p = kmesp_put_value(out, kmesp_out_begin(out), &walk, false);
	kmesp_out_end(out, p);
	return !out->error && kmesp_glob_matches(match->glob, out->data, out->len);
}

static bool text_matches(struct kmes_match *match, const struct value *value)
{
	const struct kmes_mp_token *tok = &value->tok;

	switch (tok->type) {
	case KMES_MP_STR:
		return kmesp_glob_matches(match->glob, tok->data, tok->len);
	case KMES_MP_INT:
		return decimal_matches(match->glob, tok);
	case KMES_MP_UINT:
		if (decimal_matches(match->glob, tok))
			return true;
		return value->hint == KMES_HINT_ACCESS && printed_matches(match, value);
	default:
		return printed_matches(match, value);
	}
}

static bool number_passes(const struct kmes_match *match, const struct kmes_mp_token *tok)
{
	struct kmes_number number;
	int order;

	if (!kmesp_number_from_token(&number, tok))
		return false;
	order = kmesp_number_compare(&number, &match->number);
	if (order == KMES_NUMBER_UNORDERED)
		return false;
	switch (match->op) {
	case OP_LESS:
		return order < 0;
	case OP_LESS_EQUAL:
		return order <= 0;
	case OP_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}

static bool value_passes(struct kmes_match *match, const struct value *value)
{
	switch (match->op) {
	case OP_PRESENT:
		return true;
	case OP_EQUAL:
		return text_matches(match, value);
	case OP_UNEQUAL:
		return !text_matches(match, value);
	default:
		return number_passes(match, &value->tok);
	}
}

/* ---- walking ---- */

/* A container on the way down the path. */
struct level {
	uint32_t left;	/* remaining elements or pairs */
	uint32_t index; /* of the next element of a list */
	bool is_map;
	enum kmes_hint hint; /* for the elements of a list */
};

/*
 * Skips the contents of a container, if it is one; a count suffices for that, without a
 * depth. False if malformed, as below.
 */
static bool skip_inside(const uint8_t **pos, const uint8_t *end,
			const struct kmes_mp_token *container)
{
	uint64_t left = is_container(container) ? kmes_mp_values(container) : 0;
	struct kmes_mp_token tok;

	while (left) {
		if (kmes_mp_step(pos, end, &tok))
			return false;
		left--;
		if (is_container(&tok))
			left += kmes_mp_values(&tok);
	}
	return true;
}

/* Whether a key of a map is the one. Keys other than strings are compared as text. */
static bool is_key(const struct step *step, const struct kmes_mp_token *key)
{
	char text[24], *end;

	if (step->any)
		return true;
	switch (key->type) {
	case KMES_MP_STR:
		return key->len == step->len && !memcmp(key->data, step->key, step->len);
	case KMES_MP_UINT:
		end = kmesp_put_u64(text, key->value.u);
		break;
	case KMES_MP_INT:
		end = kmesp_put_i64(text, key->value.i);
		break;
	case KMES_MP_NIL:
		end = kmesp_put_lit(text, "nil");
		break;
	case KMES_MP_BOOL:
		end = key->value.u ? kmesp_put_lit(text, "true")
				   : kmesp_put_lit(text, "false");
		break;
	default:
		return false;
	}
	return (size_t)(end - text) == step->len && !memcmp(text, step->key, step->len);
}

/*
 * Advances to the next element of a level; returns whether the step of the path matches
 * it, and what its key says about its value.
 */
static bool next_element(struct level *level, const struct step *step,
			 const uint8_t **pos, const uint8_t *end, bool *taken,
			 enum kmes_hint *hint)
{
	struct kmes_mp_token key;

	level->left--;
	*hint = level->hint;
	if (!level->is_map) {
		*taken = step->any || step->index == level->index;
		level->index++;
		return true;
	}
	if (kmes_mp_step(pos, end, &key))
		return false;
	*taken = is_key(step, &key);
	if (*taken && key.type == KMES_MP_STR)
		*hint = kmesp_hint_of_key(key.data, key.len);
	return skip_inside(pos, end, &key);
}

static void open_level(struct level *level, const struct value *value)
{
	level->left = value->tok.count;
	level->index = 0;
	level->is_map = value->tok.type == KMES_MP_MAP;
	level->hint = KMES_HINT_NONE;
	if (!level->is_map && value->hint == KMES_HINT_SIDS)
		level->hint = KMES_HINT_SID;
}

bool kmesp_match_passes(struct kmes_match *match, const uint8_t *payload, uint32_t len)
{
	struct level levels[KMES_MP_DEPTH_MAX];
	const uint8_t *pos = payload, *end = payload + len;
	struct value value = { .hint = KMES_HINT_NONE };
	uint32_t depth = 0; /* steps taken so far */
	bool taken;

	if (kmes_mp_step(&pos, end, &value.tok) || !is_container(&value.tok))
		return false;
	open_level(&levels[0], &value);
	for (;;) {
		while (!levels[depth].left) {
			if (!depth)
				return false;
			depth--;
		}
		if (!next_element(&levels[depth], &match->steps[depth], &pos, end, &taken,
				  &value.hint))
			return false;
		value.start = pos;
		if (kmes_mp_step(&pos, end, &value.tok))
			return false;
		if (taken && depth + 1 < match->count && is_container(&value.tok)) {
			open_level(&levels[++depth], &value);
			continue;
		}
		if (!skip_inside(&pos, end, &value.tok))
			return false;
		value.end = pos;
		if (taken && depth + 1 == match->count && value_passes(match, &value))
			return true;
	}
}
