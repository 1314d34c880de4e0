// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Writing captures: full disks, blocked pipes, the backlog, and what is safely stored. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "captured.h"
#include "unit.h"

struct space {
	int calls, give;
};

static int make_space(void *arg)
{
	struct space *space = arg;

	errno = EACCES; /* the caller's errno is preserved */
	return ++space->calls <= space->give;
}

static void fill_the_full(int level)
{
	struct space space = { .give = 3 };
	struct kmes_capture_options options = {
		.gzip_level = level,
		.make_space = make_space,
		.arg = &space,
	};
	struct kmes_capture_writer *w;
	uint64_t safe = 1;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(kmesp_capture_begin(&w, fd, &captured_info, &options), 0);
	captured_add(w, 1, 10);
	kmesp_capture_push(w);
	assert_int_equal(kmesp_capture_end(w, &safe), -ENOSPC);
	assert_int_equal(safe, 0);
	assert_int_equal(space.calls, 4);
}

TEST(capture_on_a_full_disk_calls_for_space_first)
{
	fill_the_full(0);
	fill_the_full(1);
}

TEST(capture_rejects_events_after_an_error)
{
	struct kmes_loss lost = { 1, 1, 1, 1 };
	struct kmes_capture_writer *w;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_int_equal(kmesp_capture_begin(&w, fd, &captured_info, &captured_plain), 0);
	/* Pushed blocks fail when they are written, which may be later. */
	alarm(60);
	while (kmesp_capture_push(w) == 0)
		usleep(1000);
	alarm(0);
	assert_int_equal(kmesp_capture_push(w), -ENOSPC);
	kmesp_capture_add_loss(w, &lost);
	assert_int_equal(kmesp_capture_safe_events(w), 0);
	assert_int_equal(kmesp_capture_end(w, NULL), -ENOSPC);
}

static bool is_stopping(void *arg)
{
	(void)arg;
	return true;
}

TEST(capture_into_a_blocked_pipe_is_given_up)
{
	struct kmes_capture_options options = { .is_stopping = is_stopping };
	int fds[2];

	for (options.gzip_level = 0; options.gzip_level < 2; options.gzip_level++) {
		struct kmes_capture_writer *w;
		uint64_t safe;

		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		assert_int_equal(fcntl(fds[1], F_SETPIPE_SZ, 4096), 4096);
		assert_int_equal(write(fds[1], &options, 1), 1);
		assert_int_equal(
			kmesp_capture_begin(&w, fds[1], &captured_info, &options), 0);
		captured_add(w, 1, 100);
		assert_int_equal(kmesp_capture_end(w, &safe), -ETIMEDOUT);
		assert_int_equal(safe, 0);
		close(fds[0]);
	}
}

/* Reads a pipe to its end and returns its content. */
struct drain {
	int fd;
	uint64_t events;
	int end;
};

static void *drain_main(void *arg)
{
	struct drain *d = arg;
	struct kmes_capture_reader *r;
	struct kmes_item item;

	if (kmesp_capture_open(&r, d->fd, false) < 0)
		return NULL;
	while ((d->end = kmesp_capture_next(r, &item)) >= 0) {
		if (!d->end)
			kmesp_capture_wait(r, 100, -1);
		else if (item.kind == KMES_ITEM_EVENT && item.event->seq == d->events + 1)
			d->events++;
	}
	kmesp_capture_close(r);
	return NULL;
}

static void take_more(const struct kmes_capture_options *options)
{
	enum { BLOCKS = 120 };
	struct kmes_capture_writer *w;
	struct drain drain = { 0 };
	pthread_t thread;
	uint64_t seq, safe;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(kmesp_capture_begin(&w, dup(fds[1]), &captured_info, options),
			 0);
	/* The first blocks fill the pipe, which is not read: its writer is blocked. */
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) > 0);
	alarm(60);
	for (seq = 1; seq <= BLOCKS; seq++) {
		captured_add(w, seq, 100000);
		assert_int_equal(kmesp_capture_push(w), 0);
	}
	assert_true(kmesp_capture_safe_events(w) < BLOCKS);
	close(fds[1]);
	drain.fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, drain_main, &drain), 0);
	assert_int_equal(kmesp_capture_end(w, &safe), 0);
	assert_int_equal(safe, BLOCKS);
	assert_int_equal(pthread_join(thread, NULL), 0);
	alarm(0);
	assert_int_equal(drain.events, BLOCKS);
	assert_int_equal(drain.end, -ENODATA);
}

TEST(capture_accepts_events_while_its_writer_is_blocked)
{
	take_more(&captured_plain);
	take_more(&captured_packed);
}

TEST(capture_safe_events_are_those_in_the_file)
{
	struct kmes_capture_writer *w;
	int fd = captured_file(&w, &captured_plain);

	captured_add(w, 1, 10);
	captured_add(w, 2, 10);
	assert_int_equal(kmesp_capture_safe_events(w), 0);
	assert_int_equal(kmesp_capture_push(w), 0);
	alarm(60);
	while (kmesp_capture_safe_events(w) == 0)
		usleep(1000);
	alarm(0);
	assert_int_equal(kmesp_capture_safe_events(w), 2);
	assert_true(kmesp_capture_has_grown_to(w, 64 + 2 * 96));
	assert_false(kmesp_capture_has_grown_to(w, 64 + 2 * 96 + 1));
	assert_int_equal(lseek(fd, 0, SEEK_END), 64 + 2 * 96);
	captured_add(w, 3, 10);
	assert_int_equal(kmesp_capture_end(w, NULL), 0);
	close(fd);
}

/* The file ends within the second event, which the next write cannot complete. */
TEST(capture_safe_events_are_complete_ones)
{
	struct rlimit before, limit;
	struct kmes_capture_writer *w;
	int fd = captured_file(&w, &captured_plain);
	uint64_t safe;

	captured_add(w, 1, 10);
	captured_add(w, 2, 10);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 64 + 96 + 90;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(kmesp_capture_end(w, &safe), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(lseek(fd, 0, SEEK_END), 64 + 96 + 90);
	assert_int_equal(safe, 1);
	close(fd);
}

TEST(capture_compressed_size_is_waited_for)
{
	struct kmes_capture_writer *w;
	int fd = captured_file(&w, &captured_packed);
	uint64_t seq = 0;

	while (!kmesp_capture_has_grown_to(w, 20000)) {
		seq++;
		captured_add(w, seq, captured_size(seq));
	}
	assert_true(lseek(fd, 0, SEEK_END) >= 20000);
	/* Seen within a hundred blocks. */
	assert_int_equal(kmesp_capture_end(w, NULL), 0);
	assert_true(lseek(fd, 0, SEEK_END) < 100000);
	close(fd);
}
