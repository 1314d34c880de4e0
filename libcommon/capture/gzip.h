/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* gzip.h - compresses a block into a gzip member. */
#ifndef KMES_GZIP_H
#define KMES_GZIP_H

#include "capture/block.h"

struct kmes_gzip;

/* NULL: out of memory. */
struct kmes_gzip *kmesp_gzip_new(int level);
void kmesp_gzip_free(struct kmes_gzip *gz);

/* Makes a complete member of a block; enlarges `member` as needed. 0 or -ENOMEM. */
int kmesp_gzip_member(struct kmes_gzip *gz, const struct kmes_block *block,
		      struct kmes_block *member);

#endif
