/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * capture.h - the format of captures, and functions to write and read them.
 *
 * A capture is a header (struct kmes_capture_header) followed by records, each an event
 * as it was in its ring. A record without a type is metadata, since every event has a
 * type; its payload is a map:
 *
 *	{"first": u, "last": u}   these sequences of its CPU were lost
 *	{"end": n}                the end: n events since the header
 *
 * A capture without an end record was truncated or is still being written. A header may
 * occur wherever a record may, so that captures can be concatenated and appended to.
 *
 * A compressed capture is a series of complete gzip members.
 */
#ifndef KMES_CAPTURE_H
#define KMES_CAPTURE_H
#include <stddef.h>

#include "kmes.h"

#define KMES_CAPTURE_MAGIC "KMESCAP1"
#define KMES_CAPTURE_VERSION 1

/* Flags: recorded with --order=time or --order=cpu; without either, also by time. */
#define KMES_CAPTURE_BY_TIME 1u
#define KMES_CAPTURE_BY_CPU 2u

struct kmes_capture_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t flags;
	uint8_t stream_id[16]; /* (CPU, sequence) identifies an event within a stream */
	uint8_t boot_id[16];
	uint64_t start_ns; /* since the epoch */
	uint32_t slots;	   /* 0: unknown */
	uint32_t reserved; /* 0 */
};

#define KMES_CAPTURE_HEADER_SIZE sizeof(struct kmes_capture_header)

_Static_assert(sizeof(struct kmes_capture_header) == 64, "header size");
_Static_assert(offsetof(struct kmes_capture_header, version) == 8, "version");
_Static_assert(offsetof(struct kmes_capture_header, flags) == 12, "flags");
_Static_assert(offsetof(struct kmes_capture_header, stream_id) == 16, "stream_id");
_Static_assert(offsetof(struct kmes_capture_header, boot_id) == 32, "boot_id");
_Static_assert(offsetof(struct kmes_capture_header, start_ns) == 48, "start_ns");
_Static_assert(offsetof(struct kmes_capture_header, slots) == 56, "slots");

struct kmes_capture_info {
	uint8_t stream_id[16];
	uint8_t boot_id[16];
	uint64_t start_ns;
	uint32_t slots;
	uint32_t flags;
};

/* Equal headers belong to one recording, possibly in several files. */
bool kmesp_capture_is_same_info(const struct kmes_capture_info *a,
				const struct kmes_capture_info *b);

/* ---- writing ---- */

struct kmes_capture_writer;

struct kmes_capture_options {
	int gzip_level; /* 0: plain, 1 to 9 */
	/*
	 * Called when the file system is full. Returns 1 after removing something, and
	 * the write is retried. NULL: no retry. Called from any thread, one at a time.
	 */
	int (*make_space)(void *arg);
	/*
	 * Called while a pipe is full. True: the program is to end, so the write fails
	 * with -ETIMEDOUT a second later. NULL: wait forever. Called from any thread.
	 */
	bool (*is_stopping)(void *arg);
	void *arg;
};

/*
 * Begins a capture at the end of `fd`. Takes ownership of `fd`, also on failure. 0 or
 * -errno.
 */
int kmesp_capture_begin(struct kmes_capture_writer **out, int fd,
			const struct kmes_capture_info *info,
			const struct kmes_capture_options *options);

/*
 * Adds an end record and a new header, for events of another stream. 0 or -errno, as
 * below.
 */
int kmesp_capture_add_header(struct kmes_capture_writer *w,
			     const struct kmes_capture_info *info);

/*
 * Adds an event or a loss. Blocks while 16 MiB wait for the disk, the reader of a pipe or
 * compression. 0, or the first -errno of writing so far; nothing is written after it.
 */
int kmesp_capture_add_event(struct kmes_capture_writer *w,
			    const struct kmes_event *event);
int kmesp_capture_add_loss(struct kmes_capture_writer *w, const struct kmes_loss *loss);

/*
 * Enqueues everything added so far for writing; it is not yet written on return. 0 or
 * -errno, as above.
 */
int kmesp_capture_push(struct kmes_capture_writer *w);

/*
 * Has the file grown to `size` bytes? Counts bytes added, or for a compressed capture
 * bytes written; in that case it waits for pending blocks that may suffice.
 */
bool kmesp_capture_has_grown_to(struct kmes_capture_writer *w, uint64_t size);

/* The number of events written completely. */
uint64_t kmesp_capture_safe_events(struct kmes_capture_writer *w);

/*
 * Writes the end record, waits for all writes, calls fdatasync(2), closes the file and
 * frees the writer. `*safe_events` (may be NULL) as above, but 0 if fdatasync(2) failed.
 * 0 or the first -errno.
 */
int kmesp_capture_end(struct kmes_capture_writer *w, uint64_t *safe_events);

/* ---- reading ---- */

struct kmes_capture_reader;

/*
 * Opens a file for kmesp_capture_open(); "-" is standard input. Does not block on a FIFO:
 * kmesp_capture_wait() waits for its writer. A descriptor or -errno.
 */
int kmesp_capture_open_file(const char *file);

/*
 * Reads a capture, plain or gzip, from `fd`. Takes ownership of `fd`, also on failure.
 * `follow`: wait at the end of a file for it to grow. 0 or -errno.
 */
int kmesp_capture_open(struct kmes_capture_reader **out, int fd, bool follow);
void kmesp_capture_close(struct kmes_capture_reader *r);

/*
 * The next event, loss, or note about damage that was skipped: 1; 0: nothing now, or many
 * ignored records, so that the caller can check for signals; -ENODATA: a complete end;
 * another -errno: all complete events before it were returned, and kmesp_capture_error()
 * has a message without the file's name. Never waits for the writer.
 */
int kmesp_capture_next(struct kmes_capture_reader *r, struct kmes_item *item);

/*
 * After a 0: sleeps until there may be more data, at most `timeout_ms`. True: `watch_fd`
 * (-1: none) has an error or hung up.
 */
bool kmesp_capture_wait(const struct kmes_capture_reader *r, int timeout_ms,
			int watch_fd);
const char *kmesp_capture_error(const struct kmes_capture_reader *r);

/* A warning, such as bytes after the last member; "" if there is none. */
const char *kmesp_capture_warning(const struct kmes_capture_reader *r);

/* The last header read; NULL before the first one. */
const struct kmes_capture_info *kmesp_capture_info(const struct kmes_capture_reader *r);

#endif
