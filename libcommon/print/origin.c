// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* origin.c - the names of origin classes. */
#include "print/origin.h"

#include <stdbool.h>

#include "base/outbuf.h"
#include "base/scan.h"
#include "kmes.h"

static const struct {
	const char *name, *short_name;
} origins[256] = {
	[KMES_ORIGIN_USERSPACE] = { "userspace", "USR" },
	[KMES_ORIGIN_KMES] = { "kmes", "KMES" },
	[KMES_ORIGIN_KACS] = { "kacs", "KACS" },
	[KMES_ORIGIN_LCS] = { "lcs", "LCS" },
	[KMES_ORIGIN_TRACE] = { "trace", "TRACE" },
	[KMES_ORIGIN_HOST] = { "host", "HOST" },
};

static const char *number_name(uint8_t origin, struct kmes_origin_room *room)
{
	room->text[0] = 'c';
	*kmesp_put_u64(room->text + 1, origin) = 0;
	return room->text;
}

const char *kmesp_origin_name(uint8_t origin, struct kmes_origin_room *room)
{
	return origins[origin].name ? origins[origin].name : number_name(origin, room);
}

const char *kmesp_origin_short_name(uint8_t origin, struct kmes_origin_room *room)
{
	return origins[origin].name ? origins[origin].short_name
				    : number_name(origin, room);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Only ASCII has case here, whatever the locale. */
static bool is_same_word(const char *a, const char *b)
{
	for (; *a && lower(*a) == lower(*b); a++)
		b++;
	return *a == *b;
}

int kmesp_origin_parse(const char *text)
{
	uint64_t number;
	int i;

	for (i = 0; i < 256; i++)
		if (origins[i].name && (is_same_word(text, origins[i].name) ||
					is_same_word(text, origins[i].short_name)))
			return i;
	if (is_same_word(text, "user"))
		return KMES_ORIGIN_USERSPACE;
	text += lower(*text) == 'c';
	if (kmesp_scan_number(&text, NULL, &number) || *text || number > 255)
		return -EINVAL;
	return (int)number;
}
