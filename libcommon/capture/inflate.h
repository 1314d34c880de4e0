/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* inflate.h - the bytes of a file, plain or gzip, members in a row; library-private. */
#ifndef KMES_INFLATE_H
#define KMES_INFLATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmes_inflate;

/* Takes over `fd`, also on failure. 0 or -ENOMEM. */
int kmesp_inflate_new(struct kmes_inflate **out, int fd);
void kmesp_inflate_free(struct kmes_inflate *in);

/*
 * Reads up to `size` bytes: how many, 0 at the end of the file so far, -EAGAIN when a pipe
 * holds nothing now, -EINTR when the caller should look around before the next call,
 * -EBADMSG for damaged compression behind all bytes that could be unpacked, or what read(2)
 * said.
 */
int64_t kmesp_inflate_read(struct kmes_inflate *in, uint8_t *buf, size_t size);

/*
 * Sleeps until there may be more to read, at most `timeout_ms`, or until `watch_fd` (-1:
 * none) has an error or hangs up, which is when it returns true.
 */
bool kmesp_inflate_wait(const struct kmes_inflate *in, int timeout_ms, int watch_fd);

/* A file that can grow, unlike a pipe, whose end is its end. */
bool kmesp_inflate_can_grow(const struct kmes_inflate *in);

/* The file is shorter by now than what was read of it. */
bool kmesp_inflate_has_shrunk(const struct kmes_inflate *in);

/*
 * After -EBADMSG, or behind junk: finds the next sound member whose first bytes satisfy
 * `is_start` and goes on there: 1; 0: there is none, or the input is a pipe, or grows;
 * -EINTR: look around and call again; -ENOMEM.
 */
int kmesp_inflate_resume(struct kmes_inflate *in,
			 bool (*is_start)(void *arg, const uint8_t *bytes, size_t len),
			 void *arg);

/*
 * The bytes handed out last whose member has not come to its end, where its checksum is:
 * damage may have changed them. All before them are sound.
 */
uint64_t kmesp_inflate_unchecked(const struct kmes_inflate *in);

bool kmesp_inflate_is_packed(const struct kmes_inflate *in);

/* Something else than a member stands behind one. */
bool kmesp_inflate_is_junk(const struct kmes_inflate *in);

/* At the end: inside a gzip member, so that something is missing. */
int kmesp_inflate_is_cut(const struct kmes_inflate *in);

/* What stood behind the last member and was passed over; "" if nothing did. */
const char *kmesp_inflate_warning(const struct kmes_inflate *in);

#endif
