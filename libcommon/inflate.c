/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* inflate.c - reads a file that is plain, or gzip members one after the other. */
#define ZLIB_CONST
#include "inflate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum mode {
	MODE_START, /* nothing known yet */
	MODE_PLAIN,
	MODE_MEMBER,  /* within a member */
	MODE_BETWEEN, /* behind one */
	MODE_JUNK,    /* what follows is passed over */
};

struct kmes_inflate {
	int fd;
	enum mode mode;
	z_stream z;
	size_t start, len; /* unread input is buf[start..len) */
	uint8_t buf[128 << 10];
};

int kmes_inflate_new(struct kmes_inflate **out, int fd)
{
	struct kmes_inflate *in = calloc(1, sizeof(*in));

	if (!in || inflateInit2(&in->z, 15 + 16) != Z_OK) {
		free(in);
		close(fd);
		return -ENOMEM;
	}
	in->fd = fd;
	*out = in;
	return 0;
}

void kmes_inflate_free(struct kmes_inflate *in)
{
	if (!in)
		return;
	inflateEnd(&in->z);
	close(in->fd);
	free(in);
}

/* More input behind what is there: bytes, 0 at the end, -errno. */
static int64_t more_input(struct kmes_inflate *in)
{
	ssize_t n;

	if (in->start) {
		memmove(in->buf, in->buf + in->start, in->len - in->start);
		in->len -= in->start;
		in->start = 0;
	}
	n = read(in->fd, in->buf + in->len, sizeof(in->buf) - in->len);
	if (n < 0)
		return -errno;
	in->len += (size_t)n;
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

/* What the input goes on with, of which at least two bytes are needed to tell. */
static void find_mode(struct kmes_inflate *in)
{
	const uint8_t *b = in->buf + in->start;

	if (in->len - in->start >= 2 && b[0] == 0x1f && b[1] == 0x8b) {
		inflateReset(&in->z);
		in->mode = MODE_MEMBER;
	} else if (in->mode == MODE_START) {
		in->mode = MODE_PLAIN;
	} else {
		in->mode = MODE_JUNK;
	}
}

/* Bytes out of the input at hand; 0 when it is used up; or -EBADMSG. */
static int64_t unpack(struct kmes_inflate *in, uint8_t *buf, size_t size)
{
	int r;

	in->z.next_in = in->buf + in->start;
	in->z.avail_in = (uInt)(in->len - in->start);
	in->z.next_out = buf;
	in->z.avail_out = (uInt)(size > UINT32_MAX ? UINT32_MAX : size);
	size = in->z.avail_out;
	r = inflate(&in->z, Z_SYNC_FLUSH);
	in->start = in->len - in->z.avail_in;
	if (r == Z_STREAM_END)
		in->mode = MODE_BETWEEN;
	else if (r != Z_OK && r != Z_BUF_ERROR)
		return -EBADMSG;
	return (int64_t)(size - in->z.avail_out);
}

int64_t kmes_inflate_read(struct kmes_inflate *in, uint8_t *buf, size_t size)
{
	for (;;) {
		size_t at_hand = in->len - in->start;
		int64_t n = 0;

		if (in->mode == MODE_START || in->mode == MODE_BETWEEN) {
			if (at_hand >= 2) {
				find_mode(in);
				continue;
			}
		} else if (in->mode == MODE_PLAIN && at_hand) {
			return (int64_t)copy_plain(in, buf, size);
		} else if (in->mode == MODE_MEMBER && at_hand) {
			n = unpack(in, buf, size);
			if (n)
				return n;
			if (in->mode == MODE_BETWEEN || in->start == in->len)
				continue;
		} else if (in->mode == MODE_JUNK) {
			in->start = in->len;
		}
		n = more_input(in);
		if (n < 0)
			return n;
		if (n > 0)
			continue;
		/* One last byte cannot begin a member; at the start it is all there is. */
		if (in->len - in->start == 1 && in->buf[in->start] != 0x1f)
			find_mode(in);
		if (in->mode == MODE_PLAIN && in->len > in->start)
			continue;
		return 0;
	}
}

int kmes_inflate_is_cut(const struct kmes_inflate *in)
{
	return in->mode == MODE_MEMBER ||
	       (in->mode != MODE_PLAIN && in->mode != MODE_JUNK && in->len > in->start);
}

const char *kmes_inflate_warning(const struct kmes_inflate *in)
{
	return in->mode == MODE_JUNK ? "what follows the last gzip member is passed over"
				     : "";
}
