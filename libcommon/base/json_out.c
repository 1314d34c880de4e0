// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* json_out.c - JSON objects and arrays, written member by member. */
#include "base/json_out.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/escape.h"

/* Room for punctuation and any number but those of kmesp_json_fixed. */
#define MEMBER_ROOM 64

/* The comma and the key; returns where the value goes, with MEMBER_ROOM free. */
static char *begin_member(struct kmes_json_out *j, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	char *p = kmesp_out_room(j->out, kmesp_out_begin(j->out), len + 2 * MEMBER_ROOM);

	if (j->depth && j->has_members & 1u << (j->depth - 1))
		p = kmesp_put_char(p, ',');
	if (j->depth)
		j->has_members |= 1u << (j->depth - 1);
	if (key) {
		p = kmesp_put_char(p, '"');
		p = kmesp_put_bytes(p, key, len);
		p = kmesp_put_lit(p, "\":");
	}
	return p;
}

static void end_member(struct kmes_json_out *j, char *p)
{
	kmesp_out_end(j->out, p);
}

static void open_level(struct kmes_json_out *j, const char *key, bool is_array)
{
	char *p = begin_member(j, key);
	uint32_t level = 1u << j->depth++;

	j->has_members &= ~level;
	j->is_array = is_array ? j->is_array | level : j->is_array & ~level;
	end_member(j, kmesp_put_char(p, is_array ? '[' : '{'));
}

void kmesp_json_open_object(struct kmes_json_out *j, const char *key)
{
	open_level(j, key, false);
}

void kmesp_json_open_array(struct kmes_json_out *j, const char *key)
{
	open_level(j, key, true);
}

void kmesp_json_close(struct kmes_json_out *j)
{
	char *p = kmesp_out_room(j->out, kmesp_out_begin(j->out), MEMBER_ROOM);

	p = kmesp_put_char(p, j->is_array & 1u << --j->depth ? ']' : '}');
	if (!j->depth)
		p = kmesp_put_char(p, '\n');
	end_member(j, p);
}

void kmesp_json_null(struct kmes_json_out *j, const char *key)
{
	end_member(j, kmesp_put_lit(begin_member(j, key), "null"));
}

void kmesp_json_bool(struct kmes_json_out *j, const char *key, bool value)
{
	char *p = begin_member(j, key);

	end_member(j, value ? kmesp_put_lit(p, "true") : kmesp_put_lit(p, "false"));
}

void kmesp_json_u64(struct kmes_json_out *j, const char *key, uint64_t value)
{
	end_member(j, kmesp_put_u64(begin_member(j, key), value));
}

void kmesp_json_fixed(struct kmes_json_out *j, const char *key, double value, int places)
{
	char text[352]; /* DBL_MAX has 309 digits before the point */
	int len = snprintf(text, sizeof(text), "%.*f", places, value);
	char *p = begin_member(j, key);

	p = kmesp_out_room(j->out, p, sizeof(text));
	end_member(j, kmesp_put_bytes(p, text, (size_t)len));
}

void kmesp_json_seconds(struct kmes_json_out *j, const char *key, uint64_t ns)
{
	char *p = kmesp_put_u64(begin_member(j, key), ns / KMES_NS_PER_S);

	p = kmesp_put_char(p, '.');
	end_member(j, kmesp_put_9(p, (uint32_t)(ns % KMES_NS_PER_S)));
}

void kmesp_json_bytes(struct kmes_json_out *j, const char *key, const void *s, size_t len)
{
	char *p = kmesp_put_char(begin_member(j, key), '"');

	p = kmesp_put_json(j->out, p, s, (uint32_t)len);
	end_member(j, kmesp_put_char(p, '"'));
}

void kmesp_json_text(struct kmes_json_out *j, const char *key, const char *text)
{
	kmesp_json_bytes(j, key, text, strlen(text));
}
