/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * json_out.h - JSON objects and arrays, written member by member.
 *
 * Commas, quotes and escapes are written here, so a caller cannot forget them. Nothing is
 * allocated: output goes to a kmes_outbuf, which a tool usually empties into a file.
 * `key` is NULL for the elements of arrays and for the outermost value; keys are literals
 * of the program and need no escapes.
 */
#ifndef KMES_JSON_OUT_H
#define KMES_JSON_OUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outbuf.h"

#define KMES_JSON_DEPTH_MAX 32

struct kmes_json_out {
	struct kmes_outbuf *out;
	unsigned int depth;
	uint32_t is_array;    /* a bit per level */
	uint32_t has_members; /* the same: the next one needs a comma */
};

static inline void kmesp_json_begin(struct kmes_json_out *j, struct kmes_outbuf *out)
{
	*j = (struct kmes_json_out){ .out = out };
}

void kmesp_json_open_object(struct kmes_json_out *j, const char *key);
void kmesp_json_open_array(struct kmes_json_out *j, const char *key);

/* Closes what was opened last. The outermost value ends with a newline. */
void kmesp_json_close(struct kmes_json_out *j);

void kmesp_json_null(struct kmes_json_out *j, const char *key);
void kmesp_json_bool(struct kmes_json_out *j, const char *key, bool value);
void kmesp_json_u64(struct kmes_json_out *j, const char *key, uint64_t value);

/* A finite number, with `places` digits after the point. */
void kmesp_json_fixed(struct kmes_json_out *j, const char *key, double value, int places);

/* Nanoseconds as seconds, with all nine digits after the point. */
void kmesp_json_seconds(struct kmes_json_out *j, const char *key, uint64_t ns);

/* Any bytes: escaped as by kmesp_put_json. */
void kmesp_json_bytes(struct kmes_json_out *j, const char *key, const void *s,
		      size_t len);
void kmesp_json_text(struct kmes_json_out *j, const char *key, const char *text);

#endif
