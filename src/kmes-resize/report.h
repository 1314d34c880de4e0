/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* report.h - the two formats of the report on a change of capacity. */
#ifndef REPORT_H
#define REPORT_H
#include "cli/cli.h"
#include "resize.h"

struct resize_change {
	const struct resize_rings *rings;
	uint64_t old_capacity, capacity; /* bytes */
	bool forecast;			 /* nothing was changed */
};

struct resize_format {
	void (*change)(struct cli_out *out, const struct resize_change *change);
	void (*same)(struct cli_out *out, const struct resize_change *change);
	void (*state)(struct cli_out *out, const struct resize_rings *rings,
		      uint64_t capacity);
};

extern const struct resize_format resize_text;
extern const struct resize_format resize_json;

#endif
