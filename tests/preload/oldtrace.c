// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * oldtrace.c - preloaded: trace buffers as in other kernels or in rare situations.
 * TRACE_FAULT is the number of the errno with which mapping a buffer fails, or
 *
 *	poll	there are no wake-ups
 *	gone	the event sched_process_exit disappears after it was listed
 *	early	$PROG runs before sched_process_exit is enabled
 *	resize	another process sets the sub-buffers to a page, just before one is mapped
 *		for the second time
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "fdpath.h"

static int has_fault(const char *name)
{
	const char *fault = getenv("TRACE_FAULT");

	return fault && !strcmp(fault, name);
}

static int is_buffer(int fd)
{
	char path[4096];

	fd_path(fd, path);
	return strstr(path, "/trace_pipe_raw") != NULL;
}

/* What happens to a buffer's instance. */
static void resize(int fd)
{
	char path[4096 + 32];
	char *end;

	fd_path(fd, path);
	end = strstr(path, "/per_cpu/");
	if (!end)
		return;
	strcpy(end, "/buffer_subbuf_size_kb");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	/* It is expected to be refused. */
	(void)!write(fd, "4", 1);
	close(fd);
}

static void *map(const char *name, void *at, size_t len, int prot, int flags, int fd,
		 off_t offset)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);
	const char *fault = getenv("TRACE_FAULT");
	static int maps;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, name);
	if (fault && is_buffer(fd)) {
		if (atoi(fault)) {
			errno = atoi(fault);
			return MAP_FAILED;
		}
		if (has_fault("resize") && ++maps == 2)
			resize(fd);
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

int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	mode_t mode = 0;
	va_list args;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "open");
	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (has_fault("gone") && strstr(path, "/sched_process_exit/")) {
		errno = ENOENT;
		return -1;
	}
	if (has_fault("early") && strstr(path, "/sched_process_exit/enable"))
		(void)!system("$PROG");
	return real(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	struct timespec ts = { .tv_sec = timeout_ms / 1000,
			       .tv_nsec = timeout_ms % 1000 * 1000000l };

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "poll");
	if (!has_fault("poll"))
		return real(fds, count, timeout_ms);
	nanosleep(&ts, NULL);
	return 0;
}
