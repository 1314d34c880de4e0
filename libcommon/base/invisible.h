/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* invisible.h - code points without a glyph: controls, joiners, changes of direction. */
#ifndef KMES_INVISIBLE_H
#define KMES_INVISIBLE_H
#include <stdbool.h>
#include <stdint.h>

static inline bool kmesp_is_hidden(uint32_t cp)
{
	if (cp < 0x200b)
		return (cp >= 0x80 && cp <= 0x9f) || cp == 0x061c;
	return cp <= 0x200f || (cp >= 0x2028 && cp <= 0x202e) ||
	       (cp >= 0x2060 && cp <= 0x2069) || cp == 0xfeff ||
	       (cp >= 0xfff9 && cp <= 0xfffb) || (cp >= 0xe0000 && cp <= 0xe007f);
}

#endif
