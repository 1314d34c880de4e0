// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* print.c - pieces of text that all forms of output have in common. */
#include "print.h"

#include "base/clock.h"
#include "base/escape.h"
#include "print/time_text.h"

size_t stat_time_text(char *text, uint64_t ns)
{
	char *end = kmesp_put_time_iso(text, (int64_t)(ns / KMES_NS_PER_S),
				       (uint32_t)(ns % KMES_NS_PER_S));

	*end = '\0';
	return (size_t)(end - text);
}

void stat_print_type(struct cli_out *out, const char *type, size_t len)
{
	kmesp_out_end(&out->buf, kmesp_put_type(&out->buf, kmesp_out_begin(&out->buf),
						(const uint8_t *)type, (uint32_t)len));
}
