// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The backlog of blocks is bounded in bytes, whatever the blocks' size and content. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/block.h"
#include "capture/inflate.h"
#include "unit.h"

/* A sink into a pipe of one page, and what was read from the pipe. */
struct pipe_sink {
	struct kmes_block_sink *sink;
	int fd;
	pthread_t reader;
	uint64_t bytes;
	bool is_right; /* byte n is that of its number */
};

static void begin(struct pipe_sink *p, const struct kmes_capture_options *options)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) > 0);
	assert_int_equal(kmesp_block_sink_new(&p->sink, fds[1], options), 0);
	p->fd = fds[0];
	p->bytes = 0;
	p->is_right = true;
	alarm(60);
}

/* Incompressible data: the member is longer than the block and needs all of its bound. */
static uint8_t byte_at(uint64_t at)
{
	at = (at ^ at >> 29) * 0xbf58476d1ce4e5b9u;
	at = (at ^ at >> 32) * 0x94d049bb133111ebu;
	return (uint8_t)(at >> 56);
}

/* Passes on bytes from `at`; returns where they end. */
static uint64_t put(struct pipe_sink *p, uint64_t at, size_t len)
{
	struct kmes_block *block = kmesp_block_get(p->sink, len);

	assert_non_null(block);
	for (; len; len--)
		block->data[block->used++] = byte_at(at++);
	block->events++;
	assert_int_equal(kmesp_block_put(p->sink), 0);
	return at;
}

static void *read_main(void *arg)
{
	static uint8_t buf[1 << 20];
	struct pipe_sink *p = arg;
	struct kmes_inflate *in;
	int64_t n, i;

	if (kmesp_inflate_new(&in, p->fd) < 0)
		return NULL;
	while ((n = kmesp_inflate_read(in, buf, sizeof(buf)))) {
		for (i = 0; i < n; i++)
			p->is_right &= buf[i] == byte_at(p->bytes++);
		if (n < 0)
			kmesp_inflate_wait(in, 100, -1);
	}
	kmesp_inflate_free(in);
	return NULL;
}

static void start_reader(struct pipe_sink *p)
{
	assert_int_equal(pthread_create(&p->reader, NULL, read_main, p), 0);
}

/* Drains the pipe and closes: these bytes and events came through, in order. */
static void end(struct pipe_sink *p, uint64_t bytes, uint64_t events)
{
	uint64_t safe;

	assert_int_equal(kmesp_block_sink_close(p->sink, &safe), 0);
	assert_int_equal(pthread_join(p->reader, NULL), 0);
	alarm(0);
	assert_true(p->is_right);
	assert_int_equal(p->bytes, bytes);
	assert_int_equal(safe, events);
}

/* At a piece per quarter of a second, 40 minutes of them. */
TEST(block_small_pieces_fill_the_backlog)
{
	struct kmes_capture_options options = { 0 };

	for (options.gzip_level = 0; options.gzip_level < 2; options.gzip_level++) {
		struct pipe_sink p;
		uint64_t at = 0, pieces;

		begin(&p, &options);
		for (pieces = 0; pieces < 10000; pieces++)
			at = put(&p, at, 1 + pieces % 1000);
		start_reader(&p);
		end(&p, at, pieces);
	}
}

/* Passes on blocks of one huge event each until the backlog is full. */
struct giver {
	struct pipe_sink pipe;
	atomic_uint given, asked; /* blocks; calls of `stop` since the last one */
};

enum { HUGE = 5 << 20, HUGE_BLOCKS = 8 };

/* Called while the pipe is full; never stops. */
static bool count_asked(void *arg)
{
	struct giver *giver = arg;

	atomic_fetch_add(&giver->asked, 1);
	return false;
}

static void *give_main(void *arg)
{
	struct giver *giver = arg;
	uint64_t at = 0;
	int i;

	for (i = 0; i < HUGE_BLOCKS; i++) {
		at = put(&giver->pipe, at, HUGE);
		atomic_store(&giver->asked, 0);
		atomic_fetch_add(&giver->given, 1);
	}
	return NULL;
}

TEST(block_huge_ones_fill_the_backlog)
{
	struct giver giver = { 0 };
	struct kmes_capture_options options = { .is_stopping = count_asked,
						.arg = &giver };
	pthread_t thread;

	for (options.gzip_level = 0; options.gzip_level < 2; options.gzip_level++) {
		begin(&giver.pipe, &options);
		atomic_store(&giver.given, 0);
		assert_int_equal(pthread_create(&thread, NULL, give_main, &giver), 0);
		/* Blocked: half a second is far longer than a copy takes. */
		while (!atomic_load(&giver.given) || atomic_load(&giver.asked) < 5)
			usleep(1000);
		assert_between(atomic_load(&giver.given), 1, 4);
		start_reader(&giver.pipe);
		assert_int_equal(pthread_join(thread, NULL), 0);
		end(&giver.pipe, (uint64_t)HUGE * HUGE_BLOCKS, HUGE_BLOCKS);
	}
}

static void put_block(struct kmes_block_sink *sink, bool is_noise)
{
	struct kmes_block *block = kmesp_block_get(sink, KMES_BLOCK_SIZE);

	assert_non_null(block);
	for (; block->used < KMES_BLOCK_SIZE; block->used++)
		block->data[block->used] = is_noise ? byte_at(block->used) : 0;
	block->events++;
	assert_int_equal(kmesp_block_put(sink), 0);
}

/* The ratio of earlier blocks predicts nothing about the next. */
TEST(block_size_is_waited_for_when_data_becomes_incompressible)
{
	const struct kmes_capture_options options = { .gzip_level = 1 };
	const uint64_t size = 1 << 20;
	struct kmes_block_sink *sink;
	int fd = memfd_create("blocks", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(kmesp_block_sink_new(&sink, dup(fd), &options), 0);
	alarm(60);
	for (int i = 0; i < 200; i++)
		put_block(sink, false);
	while (kmesp_block_safe_events(sink) < 200)
		usleep(1000);
	assert_false(kmesp_block_has_grown_to(sink, size));
	while (!kmesp_block_has_grown_to(sink, size))
		put_block(sink, true);
	alarm(0);
	assert_int_equal(kmesp_block_sink_close(sink, NULL), 0);
	assert_between(lseek(fd, 0, SEEK_END), size, size + 2 * KMES_BLOCK_SIZE);
	close(fd);
}
