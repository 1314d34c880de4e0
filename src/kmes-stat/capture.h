/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* capture.h - kmes-stat -r: totals, times, loss and types of a capture. */
#ifndef STAT_CAPTURE_H
#define STAT_CAPTURE_H

#include "options.h"

/* The exit status. */
int stat_capture_run(const struct stat_opts *opts, struct cli *cli);

#endif
