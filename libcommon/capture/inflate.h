/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* inflate.h - reads a plain or gzip file with any number of members. */
#ifndef KMES_INFLATE_H
#define KMES_INFLATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmes_inflate;

/* Takes ownership of `fd`, also on failure. 0 or -ENOMEM. */
int kmesp_inflate_new(struct kmes_inflate **out, int fd);
void kmesp_inflate_free(struct kmes_inflate *in);

/*
 * Reads up to `size` bytes and returns their number; 0: the present end of the file;
 * -EAGAIN: the pipe is empty; -EINTR: the caller should check for signals and call again;
 * -EBADMSG: damaged, after all bytes that could be unpacked; or the error of read(2).
 */
int64_t kmesp_inflate_read(struct kmes_inflate *in, uint8_t *buf, size_t size);

/*
 * Sleeps until there may be more to read, at most `timeout_ms`. True: `watch_fd` (-1:
 * none) has an error or hung up.
 */
bool kmesp_inflate_wait(const struct kmes_inflate *in, int timeout_ms, int watch_fd);

/* Is it a regular file, which can grow after its end was read? */
bool kmesp_inflate_can_grow(const struct kmes_inflate *in);

/* Is the file now shorter than what was read from it? */
bool kmesp_inflate_has_shrunk(const struct kmes_inflate *in);

/*
 * After -EBADMSG or junk: continues at the next valid member whose first bytes satisfy
 * `is_start`. 1; 0: there is none, or the input is a pipe; -EINTR: check for signals and
 * call again; -ENOMEM.
 */
int kmesp_inflate_resume(struct kmes_inflate *in,
			 bool (*is_start)(void *arg, const uint8_t *bytes, size_t len),
			 void *arg);

/*
 * The number of bytes returned last whose checksum, at the end of their member, has not
 * been read: damage may have changed them. All bytes before them are valid.
 */
uint64_t kmesp_inflate_unchecked(const struct kmes_inflate *in);

bool kmesp_inflate_is_packed(const struct kmes_inflate *in);

/* Is there something other than a member after a member? */
bool kmesp_inflate_is_junk(const struct kmes_inflate *in);

/* At the end: is the last gzip member truncated? */
int kmesp_inflate_is_truncated(const struct kmes_inflate *in);

/* A warning about skipped data after the last member; "" if there is none. */
const char *kmesp_inflate_warning(const struct kmes_inflate *in);

#endif
