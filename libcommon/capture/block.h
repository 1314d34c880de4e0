/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * block.h - blocks of bytes on their way into a file, as they are or compressed; private
 * to the library.
 *
 * The caller fills a block and hands it over, and never waits for the disk while it is not
 * far behind: a thread writes them in their order. Compressing has a thread for each core,
 * and each block becomes a gzip member: a kill at any moment leaves whole members behind it.
 */
#ifndef KMES_BLOCK_H
#define KMES_BLOCK_H
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

/* Handed over when they have grown to this, which a core's cache holds. */
#define KMES_BLOCK_SIZE (128u << 10)

struct kmes_block {
	uint8_t *data;
	size_t used, room;
	uint64_t events; /* in it */
};

struct kmes_block_sink;

/* Takes over `fd`, also on failure. 0 or -errno. */
int kmesp_block_sink_new(struct kmes_block_sink **out, int fd,
			 const struct kmes_capture_options *options);

/*
 * The block to fill, empty, with room for `len` bytes at least; waits while all are on
 * their way. NULL: no memory.
 */
struct kmes_block *kmesp_block_get(struct kmes_block_sink *s, size_t len);

/* Hands over the block of the last kmesp_block_get, if any. 0 or the first -errno. */
int kmesp_block_put(struct kmes_block_sink *s);

/* The first -errno that writing met, or 0. */
int kmesp_block_error(struct kmes_block_sink *s);

/* Whether so many bytes were written; waits for what may make them so many. */
bool kmesp_block_has_grown_to(struct kmes_block_sink *s, uint64_t size);

uint64_t kmesp_block_safe_events(struct kmes_block_sink *s);

/* Waits for everything, syncs, closes, frees. 0 or the first -errno. */
int kmesp_block_sink_close(struct kmes_block_sink *s, uint64_t *safe_events);

#endif
