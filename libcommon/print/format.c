// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* format.c - what all formats share: options, names of styles and origins. */
#include "print/format.h"

#include <errno.h>

void kmesp_formatter_init(struct kmes_formatter *f, const struct kmes_format *format,
			  const struct kmes_format_options *options)
{
	*f = (struct kmes_formatter){ .format = format, .options = *options };
}

int kmesp_time_style_find(const char *name)
{
	static const char *const names[] = {
		[KMES_TIME_CLOCK] = "clock", [KMES_TIME_LOCAL] = "local",
		[KMES_TIME_ISO] = "iso",     [KMES_TIME_EPOCH] = "epoch",
		[KMES_TIME_DELTA] = "delta", [KMES_TIME_NONE] = "none",
	};

	for (int i = 0; i <= KMES_TIME_NONE; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -EINVAL;
}

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
