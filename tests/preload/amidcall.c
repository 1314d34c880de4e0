// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * amidcall.c - preloaded into kmes-run: interference between the steps of a call.
 *
 * AMID_FAULT=eintr: each request to the listener fails once, and each wait for it ends
 * with POLLERR once, as when kmes-run is stopped while another thread holds the listener.
 *
 * AMID_WAIT: if the file `armed` exists in the current folder kmes-run removes it,
 * creates `waits`, and continues when that has been removed:
 *
 *	received	after receiving a call
 *	asking		before the listener is asked whether the call still waits
 *	before		before the module's call, the one with the array to be emitted
 *	behind		after it
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../module/shared/kmes_abi.h"

static int is_set(const char *name, const char *value)
{
	const char *set = getenv(name);

	return set && !strcmp(set, value);
}

static int fails_now(unsigned long request)
{
	static int even;

	return _IOC_TYPE(request) == SECCOMP_IOC_MAGIC &&
	       request != SECCOMP_IOCTL_NOTIF_RECV && is_set("AMID_FAULT", "eintr") &&
	       (even = !even);
}

static int is_listener(int fd)
{
	char path[32], name[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "seccomp");
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	static int even;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "poll");
	if (timeout < 0 && is_set("AMID_FAULT", "eintr") && is_listener(fds[0].fd) &&
	    (even = !even)) {
		for (nfds_t i = 1; i < count; i++)
			fds[i].revents = 0;
		fds[0].revents = POLLERR;
		return 1;
	}
	return real(fds, count, timeout);
}

/* The first request of a batch has no array. */
static int is_first_look(unsigned long request, const void *arg)
{
	const struct kmes_ioc_batch_for *batch = arg;

	return request == KMES_IOC_BATCH_FOR && batch->call.entries < 4096;
}

static void wait_at(const char *step)
{
	if (!is_set("AMID_WAIT", step) || unlink("armed") < 0)
		return;
	close(open("waits", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	while (access("waits", F_OK) == 0)
		usleep(1000);
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list args;
	void *arg;
	int is_device, r;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	if (fails_now(request)) {
		errno = EINTR;
		return -1;
	}
	if (request == SECCOMP_IOCTL_NOTIF_ID_VALID)
		wait_at("asking");
	is_device = _IOC_TYPE(request) == KMES_IOC_MAGIC && !is_first_look(request, arg);
	if (is_device)
		wait_at("before");
	r = real(fd, request, arg);
	if (is_device)
		wait_at("behind");
	if (r == 0 && request == SECCOMP_IOCTL_NOTIF_RECV)
		wait_at("received");
	return r;
}
