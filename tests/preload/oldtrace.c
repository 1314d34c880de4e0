/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * oldtrace.c - to be preloaded: trace buffers as other kernels, and other moments, have
 * them. TRACE_FAULT is the errno, as a number, that mapping a buffer fails with, or "poll":
 * no wake-up ever comes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int is_buffer(int fd)
{
	char link[64], path[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return 0;
	path[len] = '\0';
	return strstr(path, "/trace_pipe_raw") != NULL;
}

static void *map(const char *name, void *at, size_t len, int prot, int flags, int fd,
		 off_t offset)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);
	const char *fault = getenv("TRACE_FAULT");

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, name);
	if (fault && atoi(fault) && is_buffer(fd)) {
		errno = atoi(fault);
		return MAP_FAILED;
	}
	return real(at, len, prot, flags, fd, offset);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return map("mmap", at, len, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return map("mmap64", at, len, prot, flags, fd, offset);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	const char *fault = getenv("TRACE_FAULT");
	struct timespec ts = { .tv_sec = timeout_ms / 1000,
			       .tv_nsec = timeout_ms % 1000 * 1000000l };

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "poll");
	if (!fault || strcmp(fault, "poll") != 0)
		return real(fds, count, timeout_ms);
	nanosleep(&ts, NULL);
	return 0;
}
