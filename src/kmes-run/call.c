// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* call.c - the steps that answer a call, each only while the call waits. */
#include "call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>

/*
 * An ioctl on the listener. EINTR, after a stop by the terminal, means that nothing was
 * done.
 */
static int listener_ioctl(int listener, unsigned long request, void *arg)
{
	int rc;

	do
		rc = ioctl(listener, request, arg);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

static bool is_waiting(const struct run_call *c)
{
	uint64_t id = c->notif->id;

	return listener_ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int run_call_device(const struct run_call *c, unsigned long request, void *arg)
{
	int rc;

	if (!is_waiting(c))
		return RUN_GONE;
	rc = ioctl(c->device, request, arg);
	return rc < 0 ? -errno : rc;
}

int run_call_store(const struct run_call *c, uint64_t to, const void *from, size_t len)
{
	return is_waiting(c) ? run_target_write(&c->target, to, from, len) : RUN_GONE;
}

/*
 * SECCOMP_ADDFD_FLAG_SEND would add the descriptor and answer the call in one step; but
 * if we are stopped during that step, the kernel answers 0 and adds none.
 */
int run_call_add_fd(const struct run_call *c, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = c->notif->id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};

	/* If its table is full, the call fails as it would natively. */
	return listener_ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
}

void run_call_answer(int listener, struct seccomp_notif_resp *resp)
{
	listener_ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, resp);
}
