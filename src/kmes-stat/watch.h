/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* watch.h - a screen that redraws itself. */
#ifndef STAT_WATCH_H
#define STAT_WATCH_H

#include "sample.h"

/*
 * Called between samples: whether the rings are still there, perhaps those of a source
 * that was started anew. 1: go on, 0: the source ended, or -errno.
 */
typedef int watch_follow(void *arg, struct kmes_error *err);

/*
 * Shows samples on the terminal, every `interval_ns` (0: a second), until `count` of them
 * (0: no end), `q`, or a signal to stop; the terminal is then as it was. 1, 0 when the
 * source ended, or -errno.
 */
int watch_run(struct stat_sampler *s, uint64_t interval_ns, uint64_t count,
	      watch_follow *follow, void *arg, struct kmes_error *err);

#endif
