/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* columns.h - how wide text is on a screen, and lines cut to a width. */
#ifndef KMES_COLUMNS_H
#define KMES_COLUMNS_H
#include <stdbool.h>

#include "base/outbuf.h"

/* The columns that a code point takes: 0, 1 or 2. The locale has no say. */
unsigned int kmesp_code_point_columns(uint32_t cp);

/*
 * An output that passes lines on to another one, each cut to a width. An escape (\n, \x1b,
 * \u202e) is kept whole or left out, colours take no columns and are reset where a line
 * is cut. What is written must be the text form: UTF-8, backslashes only in escapes.
 */
struct kmes_cutter {
	struct kmes_outbuf out; /* write here */
	struct kmes_outbuf *target;
	unsigned int width;
	unsigned int column;
	bool is_cut;	 /* the rest of this line is left out */
	bool is_colored; /* an SGR sequence is in force */
	char room[2 * KMES_OUT_PIECE];
};

void kmesp_cutter_init(struct kmes_cutter *cutter, struct kmes_outbuf *target,
		       unsigned int width);

/* Pass on what is left, at the end of a line. */
void kmesp_cutter_flush(struct kmes_cutter *cutter);

#endif
