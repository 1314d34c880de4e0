// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* format.c - what all formats share: options and the names of time styles. */
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
