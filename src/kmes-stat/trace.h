/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* trace.h - what kmes-stat does with the kernel's trace buffers. */
#ifndef STAT_TRACE_H
#define STAT_TRACE_H

#include "options.h"

/* Does -S NAME mean the trace buffers? */
bool stat_trace_is_source(const char *name);

/* The exit status. */
int stat_trace_run(const struct stat_opts *opts, struct cli *cli);

#endif
