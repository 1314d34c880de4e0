// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * failio.c - preloaded: the call named by FAIL_CALL (open, write, fdatasync, close) fails
 * for files whose path contains FAIL_NAME, close after closing; with FAIL_ERRNO, or EIO;
 * FAIL_TIMES times, or always.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fdpath.h"

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EIO", EIO },	      { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT },
	{ "EACCES", EACCES }, { "EMFILE", EMFILE }, { "EROFS", EROFS },
};

static int error_wanted(void)
{
	const char *name = getenv("FAIL_ERRNO");
	size_t i;

	for (i = 0; name && i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	if (name)
		abort();
	return EIO;
}

/* Does the call fail? Sets errno. */
static int fails_at(const char *call, const char *path)
{
	static int times_left = -1;
	const char *wanted = getenv("FAIL_CALL"), *name = getenv("FAIL_NAME");
	const char *times = getenv("FAIL_TIMES");

	if (!wanted || !name || strcmp(wanted, call) != 0 || !strstr(path, name))
		return 0;
	if (times && times_left < 0)
		times_left = atoi(times);
	if (times && times_left-- <= 0) {
		times_left = 0;
		return 0;
	}
	errno = error_wanted();
	return 1;
}

static int fails(const char *call, int fd)
{
	char path[4096];

	fd_path(fd, path);
	return *path && fails_at(call, path);
}

int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	mode_t mode = 0;
	va_list args;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "open");
	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return fails_at("open", path) ? -1 : real(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t len)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	return fails("write", fd) ? -1 : real(fd, data, len);
}

int fdatasync(int fd)
{
	static int (*real)(int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
	return fails("fdatasync", fd) ? -1 : real(fd);
}

int close(int fd)
{
	static int (*real)(int);
	int error = errno, failed = fails("close", fd), r;

	if (failed)
		error = errno;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "close");
	r = real(fd);
	if (!failed)
		return r;
	errno = error;
	return -1;
}
