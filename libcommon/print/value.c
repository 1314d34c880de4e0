// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* value.c - values of a payload in the text form. */
#include "print/value.h"

#include "base/bytes16.h"
#include "base/float.h"
#include "print/sid_guid.h"
#include "print/time_text.h"

/* Marks bytes that need quotes in a key: not letters, digits or any of "_.-". */
static inline kmes_marks16 strange_marks(kmes_bytes16 v)
{
	kmes_marks16 letters = ((kmes_bytes16)((v | 0x20) - 'a') < 26);
	kmes_marks16 others = ((kmes_bytes16)(v - '-') < 13) & (v != '/');

	return ~(letters | others | (v == '_'));
}

/* Words that are values. */
static bool is_literal_word(const uint8_t *key, uint32_t len)
{
	switch (len) {
	case 3:
		return !memcmp(key, "nil", 3) || !memcmp(key, "nan", 3) ||
		       !memcmp(key, "inf", 3);
	case 4:
		return !memcmp(key, "true", 4);
	case 5:
		return !memcmp(key, "false", 5);
	default:
		return false;
	}
}

static bool copy_bare_long(char *p, const uint8_t *key, uint32_t len)
{
	kmes_marks16 strange = { 0 };

	for (uint32_t n = 0; n < len; n += 16) {
		if (n > len - 16) /* the last sixteen bytes, which overlap */
			n = len - 16;
		strange |= strange_marks(kmesp_bytes16_copy(p + n, key + n));
	}
	return !kmesp_marks16_any(strange);
}

/* Copies a key; false: it needs quotes. A digit, dot or sign begins a number. */
static inline bool copy_bare(char *p, const uint8_t *key, uint32_t len)
{
	if (!len || key[0] <= '9' || is_literal_word(key, len))
		return false;
	if (len >= 16)
		return copy_bare_long(p, key, len);
	return !kmesp_marks16_any(strange_marks(kmesp_bytes16_copy_short(p, key, len)));
}

static char *put_ext(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok)
{
	p = kmesp_put_lit(p, "ext(");
	p = kmesp_put_i64(p, tok->ext_type);
	p = kmesp_put_lit(p, ", 0x");
	p = kmesp_put_hex_all(out, p, tok->data, tok->len);
	return kmesp_put_char(p, ')');
}

static char *put_quoted(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	p = kmesp_put_char(p, '"');
	p = kmesp_put_escaped(out, p, s, len);
	return kmesp_put_char(p, '"');
}

static char *put_plain(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok)
{
	switch (tok->type) {
	case KMES_MP_NIL:
		return kmesp_put_lit(p, "nil");
	case KMES_MP_BOOL:
		return tok->value.u ? kmesp_put_lit(p, "true")
				    : kmesp_put_lit(p, "false");
	case KMES_MP_UINT:
		return kmesp_put_u64(p, tok->value.u);
	case KMES_MP_INT:
		return kmesp_put_i64(p, tok->value.i);
	case KMES_MP_FLOAT32:
		return kmesp_put_float32(p, tok->value.u);
	case KMES_MP_FLOAT64:
		return kmesp_put_float64(p, tok->value.u);
	case KMES_MP_STR:
		return put_quoted(out, p, tok->data, tok->len);
	case KMES_MP_BIN:
		p = kmesp_put_lit(p, "0x");
		return kmesp_put_hex_all(out, p, tok->data, tok->len);
	case KMES_MP_EXT:
		return put_ext(out, p, tok);
	case KMES_MP_ARRAY:
		return kmesp_put_lit(p, "[]");
	case KMES_MP_MAP:
		return kmesp_put_lit(p, "{}");
	}
	return p;
}

char *kmesp_put_scalar(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok,
		       enum kmes_hint hint)
{
	struct kmes_moment moment;

	/* most values */
	if (tok->type == KMES_MP_UINT && hint != KMES_HINT_ACCESS)
		return kmesp_put_u64(p, tok->value.u);
	if (tok->type == KMES_MP_STR)
		return put_quoted(out, p, tok->data, tok->len);

	p = kmesp_out_room(out, p, KMES_MASK_TEXT_MAX + KMES_TEXT_SLACK);
	switch (kmesp_special_of(tok, hint, &moment)) {
	case KMES_PLAIN:
		break;
	case KMES_SID:
		return kmesp_put_sid(p, tok->data);
	case KMES_GUID:
		return kmesp_put_guid(p, tok->data);
	case KMES_MASK:
		return kmesp_put_mask(p, tok->value.u);
	case KMES_TIME:
		return kmesp_put_time_iso(p, moment.second, moment.ns);
	}
	return put_plain(out, p, tok);
}

/* A key longer than a piece of output is quoted. */
static inline char *put_string_key(struct kmes_outbuf *out, char *p, const uint8_t *key,
				   uint32_t len)
{
	if (len <= KMES_OUT_PIECE - KMES_TEXT_SLACK) {
		p = kmesp_out_room(out, p, len + KMES_TEXT_SLACK);
		if (copy_bare(p, key, len))
			return p + len;
	}
	return put_quoted(out, p, key, len);
}

char *kmesp_put_key(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok,
		    bool color)
{
	if (color)
		p = kmesp_put_lit(p, KMES_SGR_KEY);
	if (tok->type == KMES_MP_STR)
		p = put_string_key(out, p, tok->data, tok->len);
	else
		p = kmesp_put_scalar(out, p, tok, KMES_HINT_NONE);
	return color ? kmesp_put_lit(p, KMES_SGR_RESET) : p;
}

/* The usual kind of key, if it is next; NULL for others. */
static inline char *put_short_key(struct kmes_outbuf *out, char *p, struct kmes_walk *w)
{
	const uint8_t *key;
	uint32_t len;

	if (!kmesp_walk_short_key(w, &key, &len))
		return NULL;
	return kmesp_put_lit(put_string_key(out, p, key, len), ": ");
}

/* Unsigned numbers in a list, up to its last item. */
static inline char *put_numbers(struct kmes_outbuf *out, char *p, struct kmes_walk *w)
{
	uint64_t number;

	while (w->level.left > 1 && kmesp_walk_uint(w, &number)) {
		w->level.left--;
		p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
		p = kmesp_put_lit(kmesp_put_u64(p, number), ", ");
	}
	return p;
}

char *kmesp_put_value(struct kmes_outbuf *out, char *p, struct kmes_walk *w,
		      bool key_color)
{
	struct kmes_mp_token tok;
	enum kmes_then then;
	uint64_t number;
	char *end;

	for (;;) {
		enum kmes_place place = kmesp_walk_place(w);
		enum kmes_hint hint;

		p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
		if (place == KMES_AT_KEY && !key_color) {
			end = put_short_key(out, p, w);
			if (end) {
				p = end;
				place = KMES_AT_VALUE;
			}
		}
		hint = w->hint;
		if (place != KMES_AT_KEY && hint != KMES_HINT_ACCESS &&
		    kmesp_walk_uint(w, &number)) {
			p = kmesp_put_u64(p, number);
			then = kmesp_walk_done(w, NULL);
		} else {
			kmesp_walk_next(w, &tok);
			if (kmesp_token_opens(&tok)) {
				bool is_map = tok.type == KMES_MP_MAP;

				p = kmesp_put_char(p, is_map ? '{' : '[');
				if (!is_map)
					p = put_numbers(out, p, w);
				continue;
			}
			if (place == KMES_AT_KEY)
				p = kmesp_put_key(out, p, &tok, key_color);
			else
				p = kmesp_put_scalar(out, p, &tok, hint);
			then = kmesp_walk_done(w, &tok);
		}
		for (; then == KMES_THEN_CLOSE; then = kmesp_walk_done(w, NULL))
			p = kmesp_put_char(p, w->closed_map ? '}' : ']');
		if (then == KMES_THEN_END)
			return kmesp_out_room(out, p, KMES_TEXT_SLACK);
		p = kmesp_put_char(p, then == KMES_THEN_VALUE ? ':' : ',');
		p = kmesp_put_char(p, ' ');
	}
}
