/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* watch.h - a full-screen display that is redrawn at intervals. */
#ifndef STAT_WATCH_H
#define STAT_WATCH_H

#include "sample.h"

/*
 * Called between samples; reopens a source that was restarted. 1: go on, 0: the source
 * ended, or -errno.
 */
typedef int watch_follow(void *arg, struct kmes_error *err);

/*
 * Displays a sample every `interval_ns` (0: a second) until `count` samples (0: no
 * limit), `q`, or a signal to stop; then restores the terminal. 1, 0 when the source
 * ended, or -errno.
 */
int watch_run(struct stat_sampler *s, uint64_t interval_ns, uint64_t count,
	      watch_follow *follow, void *arg, struct kmes_error *err);

#endif
