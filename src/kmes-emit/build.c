// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* build.c - a MessagePack value, written part by part; counts are stored at the end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "emit.h"

/* A value begins: counts it in its container. */
static void count_value(struct build *b)
{
	struct build_level *level;

	if (!b->depth)
		return;
	level = &b->levels[b->depth - 1];
	if (!level->is_map)
		level->count++;
}

int build_nil(struct build *b)
{
	count_value(b);
	kmes_pack_nil(b->out);
	return 0;
}

int build_bool(struct build *b, bool value)
{
	count_value(b);
	kmes_pack_bool(b->out, value);
	return 0;
}

/* Digits only; the sign has been removed. */
static int build_integer(struct build *b, bool is_negative, const char *digits,
			 size_t len)
{
	uint64_t number = 0;
	int rc = kmesp_scan_number(&digits, digits + len, &number);

	if (rc == 0 && !is_negative)
		kmes_pack_uint(b->out, number);
	else if (rc == 0 && number <= UINT64_C(1) << 63)
		kmes_pack_int(b->out, (int64_t)(0 - number));
	else
		return kmes_error_set(b->why, -EINVAL, "integer outside i64 and u64");
	return 0;
}

/* The byte after the number must not be one that could continue it. */
int build_number(struct build *b, const char *text, size_t len)
{
	bool is_negative = *text == '-';
	double real;
	uint64_t bits;

	count_value(b);
	if (!memchr(text, '.', len) && !memchr(text, 'e', len) && !memchr(text, 'E', len))
		return build_integer(b, is_negative, text + is_negative,
				     len - is_negative);
	real = strtod(text, NULL);
	if (isinf(real))
		return kmes_error_set(b->why, -EINVAL, "number too large for a float");
	memcpy(&bits, &real, sizeof(bits));
	kmes_pack_form(b->out, 0xcb, bits, 8);
	return 0;
}

int build_string(struct build *b, const char *text, size_t len)
{
	count_value(b);
	kmes_pack_str(b->out, text, (uint32_t)len);
	return 0;
}

int build_key(struct build *b, const char *text, size_t len)
{
	struct build_level *level = &b->levels[b->depth - 1];

	if (!level->count)
		level->tag = tag_find(text, len);
	if (len >= 2 && text[0] == '$' && text[1] == '$') {
		text++;
		len--;
	}
	kmes_pack_str(b->out, text, (uint32_t)len);
	if (!level->count++)
		level->value = b->out->len;
	return 0;
}

int build_open(struct build *b, bool is_map)
{
	count_value(b);
	if (b->depth == BUILD_LEVELS)
		return kmes_error_set(b->why, -EINVAL, "nested deeper than %u",
				      KMES_DEPTH_MAX);
	b->levels[b->depth++] = (struct build_level){
		.start = b->out->len,
		.is_map = is_map,
	};
	/* most have fewer than 16 elements: the count fits in one byte */
	kmes_pack_map(b->out, 0);
	return 0;
}

/* Stores the container's head before its elements, which it may have to move. */
static void write_head(struct kmes_pack *out, const struct build_level *level)
{
	uint32_t extra = level->count < 16 ? 0 : level->count <= 0xFFFF ? 2 : 4;
	uint32_t end = out->len + extra;

	if (out->cut || extra > out->size - out->len) {
		out->cut = true;
		return;
	}
	if (extra)
		memmove(out->buf + level->start + 1 + extra, out->buf + level->start + 1,
			out->len - level->start - 1);
	out->len = level->start;
	if (level->is_map)
		kmes_pack_map(out, level->count);
	else
		kmes_pack_array(out, level->count);
	out->len = end;
}

int build_close(struct build *b)
{
	struct build_level *level = &b->levels[--b->depth];

	if (level->tag != TAG_NONE && level->count == 1)
		return tag_resolve(b->out, level->start, level->value, level->tag,
				   b->why);
	write_head(b->out, level);
	return 0;
}
