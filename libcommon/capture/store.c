// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* store.c - bytes into a file or a pipe, all of them, whatever is in the way. */
#include "capture/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A pipe that takes nothing is asked after so often, and so long when we are to stop. */
#define POLL_MS 100
#define STOP_PATIENCE_NS 1000000000ull

/* After so many bytes the disk is asked to take what it has not yet. */
#define SEND_BYTES (8u << 20)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Waits until a pipe takes a piece without blocking, and says how long a piece that is;
 * -ETIMEDOUT when it takes none and we are to stop.
 */
static ssize_t wait_for_room(const struct kmes_store *store, size_t len)
{
	struct pollfd fd = { .fd = store->fd, .events = POLLOUT };
	uint64_t since_ns = 0;

	if (store->is_file)
		return (ssize_t)len;
	while (poll(&fd, 1, POLL_MS) <= 0) {
		if (!store->options->is_stopping ||
		    !store->options->is_stopping(store->options->arg))
			continue;
		if (!since_ns)
			since_ns = now_ns();
		if (now_ns() - since_ns >= STOP_PATIENCE_NS)
			return -ETIMEDOUT;
	}
	return (ssize_t)(len < PIPE_BUF ? len : PIPE_BUF);
}

/* After an error of write(2): 0 to try again, or -errno. */
static int judge_error(const struct kmes_store *store, int error)
{
	if (error == EINTR || error == EAGAIN)
		return 0;
	if ((error == ENOSPC || error == EDQUOT) && store->options->make_space &&
	    store->options->make_space(store->options->arg) > 0)
		return 0;
	return error == ECONNRESET ? -EPIPE : -error;
}

void kmesp_store_init(struct kmes_store *store, int fd,
		      const struct kmes_capture_options *options)
{
	struct stat st;

	*store = (struct kmes_store){
		.fd = fd,
		.is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode),
		.options = options,
	};
}

/* The disk begins early, so that little is left to wait for when the file is closed. */
static void send_on(struct kmes_store *store, size_t len)
{
	store->unsent += len;
	if (!store->is_file || store->unsent < SEND_BYTES)
		return;
	store->unsent = 0;
	sync_file_range(store->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int kmesp_store_write(struct kmes_store *store, const uint8_t *data, size_t len,
		      size_t *done)
{
	*done = 0;
	while (*done < len) {
		ssize_t n = wait_for_room(store, len - *done);
		int rc;

		if (n < 0)
			return (int)n;
		n = write(store->fd, data + *done, (size_t)n);
		if (n > 0)
			*done += (size_t)n;
		rc = n < 0 ? judge_error(store, errno) : 0;
		if (rc < 0)
			return rc;
	}
	send_on(store, len);
	return 0;
}

/* A pipe cannot be synced, and need not be. */
int kmesp_store_close(struct kmes_store *store, bool *is_lost)
{
	int rc = 0;

	if (fdatasync(store->fd) < 0 && errno != EINVAL && errno != EROFS)
		rc = -errno;
	*is_lost = rc < 0;
	if (close(store->fd) < 0 && errno != EINTR && rc == 0)
		rc = -errno;
	return rc;
}
