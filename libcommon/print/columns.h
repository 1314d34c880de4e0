/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* columns.h - the width of text on a screen, and lines truncated to a width. */
#ifndef KMES_COLUMNS_H
#define KMES_COLUMNS_H
#include <stdbool.h>

#include "base/outbuf.h"

/* The columns that a code point takes: 0, 1 or 2, in any locale. */
unsigned int kmesp_code_point_columns(uint32_t cp);

/*
 * An output that passes lines on to another, truncated to a width. Escapes (\n, \x1b,
 * \u202e) are not divided; colors take no columns, and are reset where a line is
 * truncated. The input must be in the text form: UTF-8, backslashes in escapes only.
 */
struct kmes_cutter {
	struct kmes_outbuf out; /* write here */
	struct kmes_outbuf *target;
	unsigned int width;
	unsigned int column;
	bool is_cut;	 /* the rest of this line is dropped */
	bool is_colored; /* an SGR sequence is in effect */
	char room[2 * KMES_OUT_PIECE];
};

void kmesp_cutter_init(struct kmes_cutter *cutter, struct kmes_outbuf *target,
		       unsigned int width);

/* Passes the rest on; to be called at the end of a line. */
void kmesp_cutter_flush(struct kmes_cutter *cutter);

#endif
