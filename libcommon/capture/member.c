// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* member.c - searches for valid gzip members after damage by unpacking candidates. */
#define ZLIB_CONST
#include "capture/member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define PIECE (64u << 10)
/* Bytes searched per call. */
#define LOOK_BYTES (4u << 20)
/* Magic, method and flags: the constant part of a member's header. */
#define FIXED 4

/* The first offset at which a member may begin, or `len`. */
static size_t find_magic(const uint8_t *piece, size_t len)
{
	const uint8_t *at = piece, *end = piece + len;

	while (end - at >= FIXED &&
	       (at = memchr(at, 0x1f, (size_t)(end - at) - FIXED + 1))) {
		/* deflate, and no reserved flag */
		if (at[1] == 0x8b && at[2] == 8 && !(at[3] & 0xe0))
			return (size_t)(at - piece);
		at++;
	}
	return len;
}

struct trial {
	z_stream z;
	uint8_t piece[PIECE], in[PIECE], out[PIECE];
	uint8_t head[KMES_MEMBER_HEAD];
	size_t head_len;
	uint64_t cost; /* bytes read and unpacked */
};

static void keep_head(struct trial *t, size_t n)
{
	size_t room = sizeof(t->head) - t->head_len;

	if (n > room)
		n = room;
	memcpy(t->head + t->head_len, t->out, n);
	t->head_len += n;
}

/* Unpacks the present input. 1: end of the member; 0: more is needed; -1: no member. */
static int unpack_some(struct trial *t, struct kmes_member_search *search)
{
	int rc;

	do {
		t->z.next_out = t->out;
		t->z.avail_out = sizeof(t->out);
		t->cost += t->z.avail_in;
		rc = inflate(&t->z, Z_NO_FLUSH);
		t->cost += sizeof(t->out) - t->z.avail_out;
		t->cost -= t->z.avail_in;
		if (t->head_len < sizeof(t->head)) {
			keep_head(t, sizeof(t->out) - t->z.avail_out);
			if (t->head_len == sizeof(t->head) &&
			    !search->is_start(search->arg, t->head, t->head_len))
				return -1;
		}
		if (rc == Z_STREAM_END)
			return 1;
		if ((rc != Z_OK && rc != Z_BUF_ERROR) || t->cost > search->budget)
			return -1;
	} while (!t->z.avail_out);
	return 0;
}

/*
 * Is there a valid member with the expected start at search->at? `bytes` are its first.
 */
static bool is_member(struct trial *t, struct kmes_member_search *search,
		      const uint8_t *bytes, size_t len)
{
	uint64_t at = search->at;
	ssize_t n = (ssize_t)len;
	int rc = 0;

	t->head_len = 0;
	t->cost = 0;
	inflateReset(&t->z);
	/* A member that is truncated by the end of the file counts as valid. */
	while (rc == 0 && n > 0) {
		t->z.next_in = bytes;
		t->z.avail_in = (uInt)n;
		at += (uint64_t)n;
		rc = unpack_some(t, search);
		bytes = t->in;
		if (rc == 0)
			n = pread(search->fd, t->in, sizeof(t->in), (off_t)at);
	}
	if (rc >= 0 && search->is_start(search->arg, t->head, t->head_len))
		return true;
	search->budget -= t->cost < search->budget ? t->cost : search->budget;
	return false;
}

/* Tries the candidates in a piece of the file; leaves its last bytes for the next one. */
static bool look_through(struct kmes_member_search *search, struct trial *t,
			 const uint8_t *piece, size_t len)
{
	size_t at = 0, found;

	while (search->budget && (found = find_magic(piece + at, len - at)) < len - at) {
		at += found;
		search->at += found;
		if (is_member(t, search, piece + at, len - at))
			return true;
		at++;
		search->at++;
	}
	/* A member may begin in the last bytes. */
	search->at += len - at < FIXED ? 0 : len - at - (FIXED - 1);
	return false;
}

static int look_on(struct kmes_member_search *search, struct trial *t)
{
	uint64_t end = search->at + LOOK_BYTES;

	while (search->at < end) {
		ssize_t n =
			pread(search->fd, t->piece, sizeof(t->piece), (off_t)search->at);

		if (n < FIXED || !search->budget)
			return 0;
		if (look_through(search, t, t->piece, (size_t)n))
			return 1;
	}
	return -EINTR;
}

int kmesp_member_find(struct kmes_member_search *search)
{
	struct trial *t = calloc(1, sizeof(*t));
	int rc;

	if (!t || inflateInit2(&t->z, 15 + 16) != Z_OK) {
		free(t);
		return -ENOMEM;
	}
	rc = look_on(search, t);
	inflateEnd(&t->z);
	free(t);
	return rc;
}
