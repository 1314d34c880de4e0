/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* rings.h - what kmes-stat does with the rings of a source. */
#ifndef STAT_RINGS_H
#define STAT_RINGS_H

#include "options.h"

/* The exit status. */
int stat_rings_run(const struct stat_opts *opts, struct cli *cli);

#endif
