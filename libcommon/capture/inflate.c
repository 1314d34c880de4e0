// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* inflate.c - reads a file that is plain, or a series of gzip members. */
#define ZLIB_CONST
#include "capture/inflate.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "capture/member.h"

/* After this many empty members or skipped reads the caller can check for signals. */
#define ROUNDS_MAX 1000
/* Poll interval for the growth of a file. */
#define GROW_MS 50

enum mode {
	MODE_START, /* undetermined */
	MODE_PLAIN,
	MODE_MEMBER,  /* within a member */
	MODE_BETWEEN, /* after one */
	MODE_JUNK,    /* the rest is skipped */
};

struct kmes_inflate {
	int fd;
	enum mode mode;
	bool is_file;	/* else reading may block */
	bool is_broken; /* all valid data has been returned */
	bool is_full;	/* the last output was filled; zlib may have more */
	bool is_searching;
	uint64_t base;	/* initial offset of the file */
	uint64_t pos;	/* bytes read from the file */
	uint64_t begun; /* offset of the member, or of the junk */
	struct kmes_member_search search;
	z_stream z;
	size_t start, len; /* unread input is buf[start..len) */
	uint8_t buf[128 << 10];
};

int kmesp_inflate_new(struct kmes_inflate **out, int fd)
{
	struct kmes_inflate *in = calloc(1, sizeof(*in));
	struct stat st;

	if (!in || inflateInit2(&in->z, 15 + 16) != Z_OK) {
		free(in);
		close(fd);
		return -ENOMEM;
	}
	in->fd = fd;
	in->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (in->is_file)
		in->base = (uint64_t)lseek(fd, 0, SEEK_CUR);
	in->search.budget = KMES_MEMBER_BUDGET;
	*out = in;
	return 0;
}

void kmesp_inflate_free(struct kmes_inflate *in)
{
	if (!in)
		return;
	inflateEnd(&in->z);
	close(in->fd);
	free(in);
}

bool kmesp_inflate_can_grow(const struct kmes_inflate *in)
{
	return in->is_file;
}

bool kmesp_inflate_has_shrunk(const struct kmes_inflate *in)
{
	struct stat st;

	return in->is_file && fstat(in->fd, &st) == 0 &&
	       (uint64_t)st.st_size < in->base + in->pos;
}

bool kmesp_inflate_wait(const struct kmes_inflate *in, int timeout_ms, int watch_fd)
{
	struct pollfd fds[] = {
		{ .fd = watch_fd },
		{ .fd = in->is_file ? -1 : in->fd, .events = POLLIN },
	};

	if (in->is_file && timeout_ms > GROW_MS)
		timeout_ms = GROW_MS;
	return poll(fds, 2, timeout_ms) > 0 && fds[0].revents;
}

static bool has_input(const struct kmes_inflate *in)
{
	struct pollfd fd = { .fd = in->fd, .events = POLLIN };

	return in->is_file || poll(&fd, 1, 0) > 0;
}

/* Reads more input: its size, 0 at the end, or -errno. */
static int64_t more_input(struct kmes_inflate *in)
{
	ssize_t n;

	if (in->start) {
		memmove(in->buf, in->buf + in->start, in->len - in->start);
		in->len -= in->start;
		in->start = 0;
	}
	if (!has_input(in))
		return -EAGAIN;
	n = read(in->fd, in->buf + in->len, sizeof(in->buf) - in->len);
	if (n < 0)
		return -errno;
	in->len += (size_t)n;
	in->pos += (uint64_t)n;
	return n;
}

static size_t copy_plain(struct kmes_inflate *in, uint8_t *buf, size_t size)
{
	size_t n = in->len - in->start;

	if (n > size)
		n = size;
	memcpy(buf, in->buf + in->start, n);
	in->start += n;
	return n;
}

/* Determines what follows from at least two bytes of input. */
static void find_mode(struct kmes_inflate *in)
{
	const uint8_t *b = in->buf + in->start;

	in->begun = in->base + in->pos - (in->len - in->start);
	if (in->len - in->start >= 2 && b[0] == 0x1f && b[1] == 0x8b) {
		inflateReset(&in->z);
		in->mode = MODE_MEMBER;
	} else if (in->mode == MODE_START) {
		in->mode = MODE_PLAIN;
	} else {
		in->mode = MODE_JUNK;
	}
}

/* Unpacks buffered input: bytes; 0: more is needed; -EBADMSG after all valid bytes. */
static int64_t unpack(struct kmes_inflate *in, uint8_t *buf, size_t size)
{
	int rc;

	if (in->is_broken)
		return -EBADMSG;

	in->z.next_in = in->buf + in->start;
	in->z.avail_in = (uInt)(in->len - in->start);
	in->z.next_out = buf;
	in->z.avail_out = (uInt)(size > UINT32_MAX ? UINT32_MAX : size);
	size = in->z.avail_out;
	rc = inflate(&in->z, Z_SYNC_FLUSH);
	in->start = in->len - in->z.avail_in;
	if (rc == Z_STREAM_END)
		in->mode = MODE_BETWEEN;
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		in->is_broken = true;
	in->is_full = !in->z.avail_out;
	if (in->is_broken && size == in->z.avail_out)
		return -EBADMSG;
	return (int64_t)(size - in->z.avail_out);
}

int64_t kmesp_inflate_read(struct kmes_inflate *in, uint8_t *buf, size_t size)
{
	unsigned int rounds = 0;

	while (rounds++ < ROUNDS_MAX) {
		size_t at_hand = in->len - in->start;
		int64_t n = 0;

		if (in->mode == MODE_START || in->mode == MODE_BETWEEN) {
			if (at_hand >= 2) {
				find_mode(in);
				continue;
			}
		} else if (in->mode == MODE_PLAIN && at_hand) {
			return (int64_t)copy_plain(in, buf, size);
		} else if (in->mode == MODE_MEMBER && (at_hand || in->is_full)) {
			n = unpack(in, buf, size);
			if (n)
				return n;
			if (in->mode == MODE_BETWEEN)
				continue;
		} else if (in->mode == MODE_JUNK) {
			/* Keep reading a pipe, so that its writer does not block. */
			if (in->is_file)
				return 0;
			in->start = in->len;
		}
		n = more_input(in);
		if (n < 0)
			return n;
		if (n > 0)
			continue;
		/* A single last byte is no member; at the start it is plain data. */
		if (in->len - in->start == 1 && in->buf[in->start] != 0x1f)
			find_mode(in);
		if (in->mode == MODE_PLAIN && in->len > in->start)
			continue;
		return 0;
	}
	return -EINTR;
}

uint64_t kmesp_inflate_unchecked(const struct kmes_inflate *in)
{
	return in->mode == MODE_MEMBER ? in->z.total_out : 0;
}

bool kmesp_inflate_is_packed(const struct kmes_inflate *in)
{
	return in->mode != MODE_START && in->mode != MODE_PLAIN;
}

bool kmesp_inflate_is_junk(const struct kmes_inflate *in)
{
	return in->mode == MODE_JUNK;
}

int kmesp_inflate_resume(struct kmes_inflate *in,
			 bool (*is_start)(void *arg, const uint8_t *bytes, size_t len),
			 void *arg)
{
	int rc;

	if (!in->is_file)
		return 0;
	in->search.fd = in->fd;
	in->search.is_start = is_start;
	in->search.arg = arg;
	/*
	 * Search from the start of the member: damage may have hidden valid members in
	 * it.
	 */
	if (!in->is_searching)
		in->search.at = in->begun + (in->mode != MODE_JUNK);
	rc = kmesp_member_find(&in->search);
	in->is_searching = rc == -EINTR;
	if (rc <= 0)
		return rc;
	if (lseek(in->fd, (off_t)in->search.at, SEEK_SET) < 0)
		return -errno;
	in->pos = in->search.at - in->base;
	in->start = in->len = 0;
	in->is_broken = in->is_full = false;
	in->mode = MODE_BETWEEN;
	return 1;
}

int kmesp_inflate_is_truncated(const struct kmes_inflate *in)
{
	return in->mode == MODE_MEMBER ||
	       (in->mode != MODE_PLAIN && in->mode != MODE_JUNK && in->len > in->start);
}

const char *kmesp_inflate_warning(const struct kmes_inflate *in)
{
	return in->mode == MODE_JUNK ? "ignoring data after the last gzip member" : "";
}
