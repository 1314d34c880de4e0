// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The search for an intact gzip member: what is accepted, and the cost limit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "capture/member.h"
#include "unit.h"

static bool is_start(void *arg, const uint8_t *bytes, size_t len)
{
	(*(int *)arg)++;
	return len >= 4 && !memcmp(bytes, "good", 4);
}

/* A member of `len` bytes that begin with a given word; returns its length. */
static size_t pack(const char *word, size_t len, uint8_t *to, size_t size)
{
	uint8_t *data = calloc(1, len);
	z_stream z = { 0 };

	assert_non_null(data);
	memcpy(data, word, 4);
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	z.next_in = data;
	z.avail_in = (uInt)len;
	z.next_out = to;
	z.avail_out = (uInt)size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	free(data);
	return size - z.avail_out;
}

static int find(int fd, uint64_t from, uint64_t *at, uint64_t budget, int *asked)
{
	struct kmes_member_search search = {
		.fd = fd,
		.at = from,
		.budget = budget,
		.is_start = is_start,
		.arg = asked,
	};
	int rc, rounds = 0;

	*asked = 0;
	while ((rc = kmesp_member_find(&search)) == -EINTR)
		assert_between(++rounds, 1, 10);
	*at = search.at;
	return rc;
}

static int new_file(void)
{
	int fd = memfd_create("members", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void put(int fd, const void *bytes, size_t len)
{
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

TEST(member_must_be_intact_and_begin_with_a_record)
{
	uint8_t good[4096], bad[4096], other[4096];
	size_t len = pack("good", 1000, good, sizeof(good));
	size_t other_len = pack("else", 1000, other, sizeof(other));
	int asked, fd = new_file();
	uint64_t at;

	memcpy(bad, good, len);
	bad[len - 8] ^= 1; /* in the checksum */
	put(fd, "junk\x1f\x8b\x08\0junk", 12);
	put(fd, other, other_len);
	put(fd, bad, len);
	put(fd, good, len);
	put(fd, good, len);
	assert_int_equal(find(fd, 0, &at, 1 << 20, &asked), 1);
	assert_int_equal(at, 12 + other_len + len);
	assert_int_equal(find(fd, at + 1, &at, 1 << 20, &asked), 1);
	assert_int_equal(at, 12 + other_len + 2 * len);
	assert_int_equal(find(fd, at + 1, &at, 1 << 20, &asked), 0);
	/* Truncated at the end of the file: accepted. */
	assert_int_equal(ftruncate(fd, (off_t)(12 + other_len + 2 * len - 3)), 0);
	assert_int_equal(find(fd, 0, &at, 1 << 20, &asked), 1);
	assert_int_equal(at, 12 + other_len + len);
	close(fd);
}

TEST(member_search_crosses_pieces_and_returns_between_them)
{
	static uint8_t zeros[9 << 20];
	uint8_t good[4096];
	size_t len = pack("good", 100000, good, sizeof(good)), before;
	uint64_t at;
	int asked, fd;

	/* Each way in which the magic can straddle the end of a piece of 64 KiB. */
	for (before = 65536 - 5; before <= 65536 + 2; before++) {
		fd = new_file();
		put(fd, zeros, before);
		put(fd, good, len);
		assert_int_equal(find(fd, 0, &at, 1 << 20, &asked), 1);
		assert_int_equal(at, before);
		close(fd);
	}
	fd = new_file();
	put(fd, zeros, sizeof(zeros));
	put(fd, good, len);
	assert_int_equal(find(fd, 0, &at, 1 << 20, &asked), 1);
	assert_int_equal(at, sizeof(zeros));
	close(fd);
}

TEST(member_search_of_false_members_keeps_the_budget)
{
	static uint8_t bomb[64 << 10];
	size_t len = pack("good", 10 << 20, bomb, sizeof(bomb));
	int i, asked, fd = new_file();
	uint8_t good[4096];
	uint64_t at;

	bomb[len - 8] ^= 1;
	for (i = 0; i < 20; i++)
		put(fd, bomb, len);
	put(fd, good, pack("good", 10, good, sizeof(good)));
	/* Each costs 10 MiB: the fourth exhausts the budget. */
	assert_int_equal(find(fd, 0, &at, 35 << 20, &asked), 0);
	assert_between(asked, 4, 8);
	assert_int_equal(find(fd, 0, &at, 300 << 20, &asked), 1);
	assert_int_equal(at, 20 * len);
	close(fd);
}

/* The name in its header is as long as the file, and each byte of it begins the next. */
TEST(member_search_of_endless_headers_keeps_the_budget)
{
	static const char named[] = "\x1f\x8b\x08\x08name";
	int i, asked, fd = new_file();
	uint64_t at;

	for (i = 0; i < 100000; i++)
		put(fd, named, sizeof(named) - 1);
	alarm(60);
	assert_int_equal(find(fd, 0, &at, 8 << 20, &asked), 0);
	alarm(0);
	/* The first ones are read to the end of the file. */
	assert_between(asked, 8, 12);
	close(fd);
}
