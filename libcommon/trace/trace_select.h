/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_select.h - selects trace events by name.
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
	char *text; /* the names point into it */
};

/*
 * Selects from `available`, the contents of available_events, the events of `wanted`: a
 * comma-separated list of SYSTEM, SYSTEM/EVENT (or SYSTEM:EVENT) or globs of them. A word
 * without a slash that matches no system may match an event of any system. -ENOENT: a
 * word matches nothing; `err` suggests similar names.
 */
int kmesp_trace_select(struct kmes_trace_names *out, const char *available,
		       const char *wanted, struct kmes_error *err);
void kmesp_trace_names_free(struct kmes_trace_names *names);

#endif
