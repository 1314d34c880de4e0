/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_select.h - which of the kernel's trace events are meant; private to the library.
 */
#ifndef KMES_TRACE_SELECT_H
#define KMES_TRACE_SELECT_H

#include "kmes.h"

struct kmes_trace_name {
	const char *system, *event; /* terminated */
};

struct kmes_trace_names {
	struct kmes_trace_name *name;
	size_t count;
	char *text; /* that the names point into */
};

/*
 * Chooses out of `available`, the text of the file available_events, what `wanted` asks
 * for: a comma list of SYSTEM, SYSTEM/EVENT (or SYSTEM:EVENT) or globs of them. A word
 * without a slash that is no system may be an event of any system. One that nothing
 * matches is -ENOENT, with the nearest names in `err`.
 */
int kmesp_trace_select(struct kmes_trace_names *out, const char *available,
		       const char *wanted, struct kmes_error *err);
void kmesp_trace_names_free(struct kmes_trace_names *names);

#endif
