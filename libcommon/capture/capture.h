/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * capture.h - events in a file, to be read later.
 *
 * A capture is a header of 64 bytes and then records, each an event as it stood in its
 * ring. A record without a type, which no event is, is the capture's own; its payload is
 * a map:
 *
 *	{"first": u, "last": u}   these sequences of its CPU were lost
 *	{"end": n}                the end: n events since the header
 *
 * A capture without its end was cut, or is still being written. A header may stand
 * wherever a record may, so that captures can be joined by cat(1), and appended to.
 *
 *	offset 0   magic "KMESCAP1"
 *	       8   u32 version, 1
 *	       12  u32 flags: in which order it was recorded, where that was asked for
 *	       16  stream id, 16 bytes: (cpu, sequence) names an event within it
 *	       32  boot id, 16 bytes
 *	       48  u64 start, ns since the epoch
 *	       56  u32 slot count
 *	       60  zero
 *
 * Compressed captures are gzip members one after the other, each complete in itself.
 */
#ifndef KMES_CAPTURE_H
#define KMES_CAPTURE_H

#include "kmes.h"

#define KMES_CAPTURE_MAGIC "KMESCAP1"
#define KMES_CAPTURE_HEADER_SIZE 64
#define KMES_CAPTURE_VERSION 1

/* Recorded with --order=time or --order=cpu; by time, too, where neither is said. */
#define KMES_CAPTURE_BY_TIME 1u
#define KMES_CAPTURE_BY_CPU 2u

struct kmes_capture_info {
	uint8_t stream_id[16];
	uint8_t boot_id[16];
	uint64_t start_ns;
	uint32_t slots;
	uint32_t flags;
};

/* Headers of one recording, which goes on in another file or behind a join, are the same. */
bool kmesp_capture_is_same_info(const struct kmes_capture_info *a,
				const struct kmes_capture_info *b);

/* ---- writing ---- */

struct kmes_capture_writer;

struct kmes_capture_options {
	int gzip_level; /* 0: plain, 1 to 9 */
	/*
	 * Asked when the file system is full: 1 after something was removed, so that
	 * writing is tried again. NULL: never. Called from any thread, one at a time.
	 */
	int (*make_space)(void *arg);
	/*
	 * Asked while a pipe takes nothing: true when the program is to end, so that it is
	 * given up a second later (-ETIMEDOUT). NULL: never. Called from any thread.
	 */
	bool (*is_stopping)(void *arg);
	void *arg;
};

/*
 * Begins a capture at the end of `fd`, which belongs to the writer from now on, also on
 * failure. 0 or -errno.
 */
int kmesp_capture_begin(struct kmes_capture_writer **out, int fd,
			const struct kmes_capture_info *info,
			const struct kmes_capture_options *options);

/* An end and another header, as what follows is from elsewhere. 0 or -errno, as below. */
int kmesp_capture_add_header(struct kmes_capture_writer *w,
			     const struct kmes_capture_info *info);

/*
 * Adds an event or a loss. Waits for a disk, a pipe's reader or a compressor that is behind
 * by 16 MiB. 0, or the first -errno that writing met by now; nothing is written after it.
 */
int kmesp_capture_add_event(struct kmes_capture_writer *w,
			    const struct kmes_event *event);
int kmesp_capture_add_loss(struct kmes_capture_writer *w, const struct kmes_loss *loss);

/*
 * Sends on what was added so far. It is on its way when this returns, not yet written. 0
 * or -errno, as above.
 */
int kmesp_capture_push(struct kmes_capture_writer *w);

/*
 * Whether the file has grown to `size` bytes: by what was added so far, or where it is
 * compressed, by what was written; so it waits for what is on its way if that may be enough.
 */
bool kmesp_capture_has_grown_to(struct kmes_capture_writer *w, uint64_t size);

/* Events that were written whole. */
uint64_t kmesp_capture_safe_events(struct kmes_capture_writer *w);

/*
 * Writes the end, waits for all of it, fdatasync(2)s and closes; `*safe_events` (NULL:
 * not wanted) as above, but none when the disk could not take them. Frees the writer. 0
 * or the first -errno.
 */
int kmesp_capture_end(struct kmes_capture_writer *w, uint64_t *safe_events);

/* ---- reading ---- */

struct kmes_capture_reader;

/*
 * A descriptor of a file, for kmesp_capture_open; "-" is standard input. A FIFO is waited
 * for by kmesp_capture_wait, also until somebody opens it for writing. Or -errno.
 */
int kmesp_capture_open_file(const char *file);

/*
 * Reads a capture, plain or gzip, from `fd`, which belongs to the reader from now on, also
 * on failure. `follow`: a file's end is only where it has grown to so far. 0 or -errno.
 */
int kmesp_capture_open(struct kmes_capture_reader **out, int fd, bool follow);
void kmesp_capture_close(struct kmes_capture_reader *r);

/*
 * The next event, loss, or note of damage that was passed over: 1; 0: nothing now, or so
 * much of no interest that the caller may want to look at its signals; -ENODATA: a
 * complete end; another -errno: all whole events before it were handed out, and
 * kmesp_capture_error has a sentence without the file's name. Never waits for who writes.
 */
int kmesp_capture_next(struct kmes_capture_reader *r, struct kmes_item *item);

/*
 * After a 0: sleeps until there may be more, at most `timeout_ms`. Returns true when
 * `watch_fd` (-1: none) has an error or hung up.
 */
bool kmesp_capture_wait(const struct kmes_capture_reader *r, int timeout_ms,
			int watch_fd);
const char *kmesp_capture_error(const struct kmes_capture_reader *r);

/* What is odd but no error, such as bytes behind the last member; "" if nothing is. */
const char *kmesp_capture_warning(const struct kmes_capture_reader *r);

/* Of the header read last; NULL before the first one. */
const struct kmes_capture_info *kmesp_capture_info(const struct kmes_capture_reader *r);

#endif
