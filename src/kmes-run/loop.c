/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* loop.c - serves calls until the program ends, and for those that outlive it. */
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

int run_serve_program(const struct run_program *program, int device, int signals)
{
	struct pollfd fds[2] = {
		{ .fd = program->listener, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	int status;

	for (;;) {
		if (waitpid(program->pid, &status, WNOHANG) == program->pid)
			return status;
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			run_signals_pass(signals, program->pid);
		if (fds[0].revents & POLLIN)
			run_serve(program->listener, device);
		else if (fds[0].revents)
			fds[0].fd = -1; /* nobody is behind the filter any more */
	}
}

/* Keeps the two descriptors alone, as 3 and 4: what else is open has its own life. */
static void keep_alone(int *listener, int *device)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	for (fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	/* Above both places first, so that neither is put over the other. */
	*listener = dup2(fcntl(*listener, F_DUPFD, 5), 3);
	*device = dup2(fcntl(*device, F_DUPFD, 5), 4);
	if (*listener < 0 || *device < 0)
		_exit(RUN_FAILED);
	syscall(SYS_close_range, 5, ~0u, 0);
}

static _Noreturn void serve_to_the_last(int listener, int device)
{
	struct pollfd p = { .events = POLLIN };

	keep_alone(&listener, &device);
	p.fd = listener;
	while (poll(&p, 1, -1) < 0 || p.revents & POLLIN)
		if (p.revents & POLLIN)
			run_serve(listener, device);
	_exit(0);
}

void run_serve_survivors(int listener, int device)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	/* It hangs up when nobody is behind the filter any more. */
	if (poll(&p, 1, 0) > 0 && p.revents & POLLHUP)
		return;
	if (fork() == 0)
		serve_to_the_last(listener, device);
}
