/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * store.h - writes all bytes to a file or a pipe.
 */
#ifndef KMES_STORE_H
#define KMES_STORE_H
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

struct kmes_store {
	int fd;
	bool is_file; /* else writing may wait for a reader */
	const struct kmes_capture_options *options;
	uint64_t unsent; /* bytes without writeback */
};

/* `fd` and `options` remain owned by the caller and must outlive the store. */
void kmesp_store_init(struct kmes_store *store, int fd,
		      const struct kmes_capture_options *options);

/*
 * Writes `len` bytes; `*done` counts those written, also on failure. Waits for the disk,
 * or for the reader of a pipe until options->is_stopping. 0 or -errno. One thread at a
 * time.
 */
int kmesp_store_write(struct kmes_store *store, const uint8_t *data, size_t len,
		      size_t *done);

/* Syncs and closes. 0 or -errno; `*is_lost`: the contents of the disk are unknown. */
int kmesp_store_close(struct kmes_store *store, bool *is_lost);

#endif
