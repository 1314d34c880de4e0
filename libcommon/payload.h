/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * payload.h - walks a payload token by token, with hints from the names of keys.
 *
 * Only bytes that kmesp_payload_check() has accepted may be walked. A walk is a loop of
 * kmesp_walk_next(), which returns one token; kmesp_walk_place() is where it is. A
 * scalar and an empty container complete a value, and so does the last value of a
 * container: kmesp_walk_done() returns what follows.
 */
#ifndef KMES_PAYLOAD_H
#define KMES_PAYLOAD_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kmes.h"
#include "kmes_msgpack.h"

/* Describes a fault, for messages. */
static inline const char *kmesp_mp_reason(enum kmes_mp_fault fault)
{
	switch (fault) {
	case KMES_MP_OK:
		return "well-formed";
	case KMES_MP_EMPTY:
		return "empty";
	case KMES_MP_TRUNCATED:
		return "ends inside a value";
	case KMES_MP_RESERVED:
		return "reserved byte 0xc1";
	case KMES_MP_LENGTH:
		return "length exceeds the payload";
	case KMES_MP_COUNT:
		return "count exceeds the payload";
	case KMES_MP_DEEP:
		return "nested too deep";
	case KMES_MP_TRAILING:
		return "bytes after the value";
	}
	return "unknown";
}

/* What the name of a key suggests about its value. */
enum kmes_hint {
	KMES_HINT_NONE,
	KMES_HINT_SID,	  /* ...sid: a binary value may be a SID */
	KMES_HINT_SIDS,	  /* ...sids: the same for each of a list */
	KMES_HINT_GUID,	  /* ...guid: 16 bytes are a GUID */
	KMES_HINT_ACCESS, /* access, ..._access but not last_access: an access mask */
};

/* The place of a token. */
enum kmes_place {
	KMES_AT_TOP,
	KMES_AT_ITEM,  /* of a list */
	KMES_AT_KEY,   /* of a map */
	KMES_AT_VALUE, /* of a map */
};

/* What follows a complete value. */
enum kmes_then {
	KMES_THEN_END,	 /* nothing: it was the top value */
	KMES_THEN_VALUE, /* the value of this key */
	KMES_THEN_NEXT,	 /* another item or key */
	KMES_THEN_CLOSE, /* the end of its container, which is now complete, too */
};

/* An open container (KMES_AT_ITEM: a list, KMES_AT_KEY: a map), or the top. */
struct kmes_level {
	uint32_t left; /* values that follow, including keys; even at the keys of a map */
	enum kmes_place place;
	enum kmes_hint hint; /* for the items of a list */
};

struct kmes_walk {
	const uint8_t *pos;
	const uint8_t *end;
	enum kmes_hint hint;	 /* for the next value */
	bool closed_map;	 /* the container that has just ended was a map */
	uint32_t depth;		 /* containers that are open */
	struct kmes_level level; /* the innermost */
	struct kmes_level outer[KMES_MP_DEPTH_MAX];
};

/* Is this exactly one value that can be walked? KMES_MP_OK, or why not. */
enum kmes_mp_fault kmesp_payload_check(const uint8_t *payload, uint32_t len);

/* The same for the payload of an event; one made by the library needs no check. */
static inline enum kmes_mp_fault kmesp_event_check(const struct kmes_event *e)
{
	return e->payload_is_trusted ? KMES_MP_OK
				     : kmesp_payload_check(e->payload, e->payload_len);
}

enum kmes_hint kmesp_hint_of_key(const uint8_t *key, uint32_t len);

static inline void kmesp_walk_init(struct kmes_walk *w, const uint8_t *pos,
				   const uint8_t *end)
{
	w->pos = pos;
	w->end = end;
	w->hint = KMES_HINT_NONE;
	w->depth = 0;
	w->level = (struct kmes_level){ .place = KMES_AT_TOP };
}

static inline enum kmes_place kmesp_walk_place(const struct kmes_walk *w)
{
	if (w->level.place == KMES_AT_KEY && w->level.left % 2)
		return KMES_AT_VALUE;
	return w->level.place;
}

static inline bool kmesp_token_opens(const struct kmes_mp_token *tok)
{
	return (tok->type == KMES_MP_ARRAY || tok->type == KMES_MP_MAP) && tok->count;
}

static inline void kmesp_walk_open(struct kmes_walk *w, const struct kmes_mp_token *tok)
{
	bool is_map = tok->type == KMES_MP_MAP;

	w->outer[w->depth++] = w->level;
	w->level.left = kmes_mp_values(tok);
	w->level.place = is_map ? KMES_AT_KEY : KMES_AT_ITEM;
	w->level.hint = !is_map && w->hint == KMES_HINT_SIDS ? KMES_HINT_SID
							     : KMES_HINT_NONE;
	w->hint = w->level.hint;
}

/* The next token. A container that is not empty is open after it. */
static inline void kmesp_walk_next(struct kmes_walk *w, struct kmes_mp_token *tok)
{
	if (kmes_mp_step(&w->pos, w->end, tok)) {
		/* Cannot happen after a check; end the walk anyway. */
		tok->type = KMES_MP_NIL;
		w->depth = 0;
		w->level.place = KMES_AT_TOP;
		return;
	}
	if (kmesp_token_opens(tok))
		kmesp_walk_open(w, tok);
}

/* A value is complete; `tok` is that value if it was one token, else NULL. */
static inline enum kmes_then kmesp_walk_done(struct kmes_walk *w,
					     const struct kmes_mp_token *tok)
{
	if (w->level.place == KMES_AT_TOP)
		return KMES_THEN_END;
	w->level.left--;
	if (w->level.place == KMES_AT_KEY && w->level.left % 2) {
		w->hint = tok && tok->type == KMES_MP_STR
				  ? kmesp_hint_of_key(tok->data, tok->len)
				  : KMES_HINT_NONE;
		return KMES_THEN_VALUE;
	}
	w->hint = w->level.hint;
	if (w->level.left)
		return KMES_THEN_NEXT;
	w->closed_map = w->level.place == KMES_AT_KEY;
	w->level = w->outer[--w->depth];
	return KMES_THEN_CLOSE;
}

/*
 * At a key: if it is a string of less than 32 bytes, as most are, skips it, so that its
 * value is next; otherwise leaves it to kmesp_walk_next().
 */
static inline bool kmesp_walk_short_key(struct kmes_walk *w, const uint8_t **key,
					uint32_t *len)
{
	uint8_t form = *w->pos;

	if ((form & 0xe0) != 0xa0)
		return false;
	*key = w->pos + 1;
	*len = form & 31;
	w->pos += 1 + *len;
	w->level.left--;
	w->hint = kmesp_hint_of_key(*key, *len);
	return true;
}

/*
 * If the next token is an unsigned number, and eight bytes follow its first one, skips
 * it. One load and a shift serve all sizes, so there is no branch to mispredict.
 */
static inline bool kmesp_walk_uint(struct kmes_walk *w, uint64_t *v)
{
	const uint8_t *pos = w->pos;
	unsigned int size;

	if (w->end - pos <= (int)sizeof(*v))
		return false;
	if (*pos < 0x80) {
		*v = *pos;
		w->pos++;
		return true;
	}
	if ((*pos & 0xfc) != 0xcc)
		return false;
	size = 1u << (*pos & 3);
	*v = kmes_mp_number(pos + 1, sizeof(*v)) >> (64 - 8 * size);
	w->pos += 1 + size;
	return true;
}

#endif
