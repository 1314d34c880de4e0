/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * block.h - a queue of blocks to be written to a file, plain or compressed.
 *
 * The caller fills a block and enqueues it; it waits for the disk only when the queue is
 * full. A thread writes the blocks in order. With compression there is a thread per CPU,
 * and each block becomes a gzip member, so that a kill leaves complete members.
 */
#ifndef KMES_BLOCK_H
#define KMES_BLOCK_H
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

/* Blocks are enqueued at this size, which fits into a CPU's cache. */
#define KMES_BLOCK_SIZE (128u << 10)

struct kmes_block {
	uint8_t *data;
	size_t used, room;
	uint64_t events; /* in it */
};

struct kmes_block_sink;

/* Takes ownership of `fd`, also on failure. 0 or -errno. */
int kmesp_block_sink_new(struct kmes_block_sink **out, int fd,
			 const struct kmes_capture_options *options);

/*
 * An empty block with room for at least `len` bytes; waits while all are pending. NULL:
 * out of memory.
 */
struct kmes_block *kmesp_block_get(struct kmes_block_sink *s, size_t len);

/* Enqueues the block of the last kmesp_block_get(), if any. 0 or the first -errno. */
int kmesp_block_put(struct kmes_block_sink *s);

/* The first -errno of writing, or 0. */
int kmesp_block_error(struct kmes_block_sink *s);

/* Were `size` bytes written? Waits for pending blocks that may suffice. */
bool kmesp_block_has_grown_to(struct kmes_block_sink *s, uint64_t size);

uint64_t kmesp_block_safe_events(struct kmes_block_sink *s);

/* Waits for all writes, syncs, closes and frees. 0 or the first -errno. */
int kmesp_block_sink_close(struct kmes_block_sink *s, uint64_t *safe_events);

#endif
