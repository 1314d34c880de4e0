/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * store.h - bytes into a file or a pipe, all of them, whatever is in the way; private to
 * the library.
 */
#ifndef KMES_STORE_H
#define KMES_STORE_H
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

struct kmes_store {
	int fd;
	bool is_file; /* else writing may have to wait for who reads */
	const struct kmes_capture_options *options;
	uint64_t unsent; /* bytes that the disk was not asked to take yet */
};

/* `fd` and `options` are the caller's as long as the store is used. */
void kmesp_store_init(struct kmes_store *store, int fd,
		      const struct kmes_capture_options *options);

/*
 * Writes all of it: 0 or -errno, `*done` bytes having gone out. Waits for the disk, or for
 * a pipe's reader until the options say that we are to stop. For one thread at a time.
 */
int kmesp_store_write(struct kmes_store *store, const uint8_t *data, size_t len,
		      size_t *done);

/* Syncs and closes. 0 or -errno; `*is_lost`: nobody knows what the disk has. */
int kmesp_store_close(struct kmes_store *store, bool *is_lost);

#endif
