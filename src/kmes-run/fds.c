// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* fds.c - closes every descriptor but kmes-run's own. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

/* The soft limit is meant for the program, not for descriptors that kmes-run needs. */
static void use_the_hard_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int run_fds_keep_only(int *const fds[], int count, int first)
{
	int i;

	use_the_hard_limit();
	/* Move all of them away first: one may occupy the place of another. */
	for (i = 0; i < count; i++) {
		*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, first + count);
		if (*fds[i] < 0)
			return -1;
	}
	for (i = 0; i < count; i++) {
		*fds[i] = dup3(*fds[i], first + i, O_CLOEXEC);
		if (*fds[i] < 0)
			return -1;
	}
	syscall(SYS_close_range, first + count, ~0u, 0);
	return 0;
}

int run_fds_to_null(int first, int last)
{
	int fd, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -1;
	for (fd = first; fd <= last; fd++)
		if (null != fd && dup3(null, fd, O_CLOEXEC) < 0)
			return -1;
	if (null < first || null > last)
		close(null);
	return 0;
}

bool run_can_report(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && p.revents & POLLOUT;
}
