// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* match.c - parses a condition on a payload field. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "filter/match_private.h"

/* The operator at `s`, and its length, or 0. */
static size_t operator_at(const char *s, enum match_op *op)
{
	bool with_equal = s[0] && s[1] == '=';

	switch (*s) {
	case '=':
		*op = OP_EQUAL;
		return 1;
	case '!':
		*op = OP_UNEQUAL;
		return with_equal ? 2 : 0;
	case '<':
		*op = with_equal ? OP_LESS_EQUAL : OP_LESS;
		return 1 + with_equal;
	case '>':
		*op = with_equal ? OP_GREATER_EQUAL : OP_GREATER;
		return 1 + with_equal;
	default:
		return 0;
	}
}

/* The list index that a key may also mean: digits without leading zeros. */
static uint32_t index_from_key(const char *key, uint32_t len)
{
	const char *end = key + len;
	uint64_t v;

	if (len > 1 && key[0] == '0')
		return UINT32_MAX;
	if (kmesp_scan_number(&key, end, &v) || key != end || v > UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)v;
}

/* Completes the step whose key ends at `end`. NULL, or what is wrong. */
static const char *finish_step(struct kmes_match *match, const char *key, const char *end,
			       bool any)
{
	struct step *step;

	if (key == end)
		return "an empty key";
	if (match->count == KMES_MP_DEPTH_MAX)
		return "more keys than levels of nesting";
	step = &match->steps[match->count++];
	step->key = key;
	step->len = (uint32_t)(end - key);
	step->any = any && step->len == 1;
	step->index = index_from_key(key, step->len);
	return NULL;
}

/*
 * Splits the path, up to the first operator, into steps; their keys, without escapes, are
 * stored in match->keys. `*rest` is what follows the operator.
 */
static const char *parse_path(struct kmes_match *match, const char *s, const char **rest)
{
	char *key = match->keys, *out = key;
	bool star = false; /* the step has an unescaped one */
	const char *why;
	size_t len = 0;

	for (; *s && !(len = operator_at(s, &match->op)); s++) {
		if (*s == '.') {
			why = finish_step(match, key, out, star);
			if (why)
				return why;
			key = out;
			star = false;
			continue;
		}
		if (*s == '\\') {
			if (!*++s)
				return "nothing after the last '\\'";
			if (!strchr(".=\\!<>*", *s))
				return "an escaped character that is not special";
		} else if (*s == '*') {
			star = true;
		}
		*out++ = *s;
	}
	*rest = s + len;
	return finish_step(match, key, out, star);
}

/* Parses what follows the operator. NULL, or what is wrong; `*rc` may be -ENOMEM. */
static const char *parse_operand(struct kmes_match *match, const char *text, int *rc)
{
	const char *why = NULL;

	switch (match->op) {
	case OP_PRESENT:
		return NULL;
	case OP_EQUAL:
	case OP_UNEQUAL:
		*rc = kmesp_glob_new(&match->glob, text, strlen(text), &why);
		return why;
	default:
		*rc = kmesp_number_parse(&match->number, text);
		if (*rc == -EINVAL)
			return "not compared with a number";
		return *rc == -ERANGE ? "compared with a number out of range" : NULL;
	}
}

int kmesp_match_new(struct kmes_match **out, const char *expr, struct kmes_error *err)
{
	struct kmes_match *match = calloc(1, sizeof(*match));
	const char *rest, *why;
	int rc = 0;

	*out = NULL;
	if (match)
		match->keys = malloc(strlen(expr) + 1);
	if (!match || !match->keys || kmesp_outbuf_init(&match->text)) {
		kmesp_match_free(match);
		return kmes_error_set(err, -ENOMEM, "out of memory");
	}
	why = parse_path(match, expr, &rest);
	if (!why)
		why = parse_operand(match, rest, &rc);
	if (why || rc) {
		kmesp_match_free(match);
		if (!why)
			return kmes_error_set(err, rc, "out of memory");
		return kmes_error_set(err, -EINVAL, "%s in the condition: '%s'", why,
				      expr);
	}
	*out = match;
	return 0;
}

void kmesp_match_free(struct kmes_match *match)
{
	if (!match)
		return;
	kmesp_outbuf_fini(&match->text);
	kmesp_glob_free(match->glob);
	free(match->keys);
	free(match);
}
