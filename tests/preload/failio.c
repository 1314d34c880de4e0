/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * failio.c - to be preloaded: the call that FAIL_CALL names (write, fdatasync, close) fails
 * with EIO for files whose path contains FAIL_NAME, close after having closed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(const char *call, int fd)
{
	const char *wanted = getenv("FAIL_CALL"), *name = getenv("FAIL_NAME");
	char link[64], path[4096];
	ssize_t len;

	if (!wanted || !name || strcmp(wanted, call) != 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return 0;
	path[len] = '\0';
	return strstr(path, name) != NULL;
}

ssize_t write(int fd, const void *data, size_t len)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "write");
	if (fails("write", fd)) {
		errno = EIO;
		return -1;
	}
	return real(fd, data, len);
}

int fdatasync(int fd)
{
	static int (*real)(int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fdatasync");
	if (fails("fdatasync", fd)) {
		errno = EIO;
		return -1;
	}
	return real(fd);
}

int close(int fd)
{
	static int (*real)(int);
	int failed = fails("close", fd), r;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "close");
	r = real(fd);
	if (failed) {
		errno = EIO;
		return -1;
	}
	return r;
}
