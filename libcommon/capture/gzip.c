// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* gzip.c - compresses blocks by zlib. */
#define ZLIB_CONST
#include "capture/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

struct kmes_gzip {
	z_stream z;
};

struct kmes_gzip *kmesp_gzip_new(int level)
{
	struct kmes_gzip *gz = calloc(1, sizeof(*gz));

	if (!gz || deflateInit2(&gz->z, level, Z_DEFLATED, 15 + 16, 8,
				Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gz);
		return NULL;
	}
	return gz;
}

void kmesp_gzip_free(struct kmes_gzip *gz)
{
	if (!gz)
		return;
	deflateEnd(&gz->z);
	free(gz);
}

int kmesp_gzip_member(struct kmes_gzip *gz, const struct kmes_block *block,
		      struct kmes_block *member)
{
	z_stream *z = &gz->z;
	size_t bound;

	/* Before the bound: that of a finished stream omits most of the gzip header. */
	deflateReset(z);
	bound = deflateBound(z, block->used);
	if (bound > member->room) {
		free(member->data);
		member->data = malloc(bound);
		member->room = member->data ? bound : 0;
		if (!member->data)
			return -ENOMEM;
	}
	z->next_in = block->data;
	z->avail_in = (uInt)block->used;
	z->next_out = member->data;
	z->avail_out = (uInt)member->room;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	member->used = member->room - z->avail_out;
	return 0;
}
