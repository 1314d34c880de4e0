// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* store.c - writes all bytes, retrying on EINTR, EAGAIN and a full disk. */
#include "capture/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Poll interval of a full pipe, and its timeout once the program is to stop. */
#define POLL_MS 100
#define STOP_PATIENCE_NS KMES_NS_PER_S

/* Writeback is started after this many bytes. */
#define SEND_BYTES (8u << 20)

/*
 * Waits until a pipe accepts data without blocking. Returns the number of bytes to write,
 * or -ETIMEDOUT: the pipe stays full and the program is to stop.
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
			since_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
		if (kmesp_clock_ns(CLOCK_MONOTONIC) - since_ns >= STOP_PATIENCE_NS)
			return -ETIMEDOUT;
	}
	return (ssize_t)(len < PIPE_BUF ? len : PIPE_BUF);
}

/* After an error of write(2): 0 to retry, or -errno. */
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

/* Starts writeback early, so that closing the file takes less time. */
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

/* A pipe cannot be synced (EINVAL). */
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
