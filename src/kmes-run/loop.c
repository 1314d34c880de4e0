// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* loop.c - serves calls until the program ends, and for those that outlive it. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "run.h"

/*
 * Has the program ended? As the init process of a pid namespace we also reap every orphan
 * in it.
 */
static bool has_ended(pid_t pid, int *status)
{
	pid_t ended;

	do
		ended = waitpid(-1, status, WNOHANG);
	while (ended > 0 && ended != pid);
	return ended == pid;
}

int run_serve_program(const struct run_program *program, int device, int signals)
{
	struct pollfd fds[2] = {
		{ .fd = program->listener, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	int status;

	/* It may have ended before signals were blocked; a later SIGCHLD is reported. */
	if (has_ended(program->pid, &status))
		return status;
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents) {
			run_signals_pass(signals, program->pid);
			run_signals_stop_with(program->pid);
			if (has_ended(program->pid, &status))
				return status;
		}
		/*
		 * POLLERR only means that a signal arrived while the listener was busy.
		 */
		if (fds[0].revents & POLLIN)
			run_serve(program->listener, device);
		else if (fds[0].revents & POLLHUP)
			fds[0].fd = -1; /* no process has the filter any more */
	}
}

static _Noreturn void serve_until_hangup(int listener, int device)
{
	struct pollfd p = { .events = POLLIN };
	int *const kept[] = { &listener, &device };

	/*
	 * A background process: keep no directory and no terminal busy, and leave the
	 * job, which a terminal may stop.
	 */
	setsid();
	if (run_fds_keep_only(kept, 2, 3) < 0 || run_fds_to_null(0, 2) < 0 ||
	    chdir("/") < 0)
		_exit(RUN_FAILED);
	p.fd = listener;
	while (poll(&p, 1, -1) < 0 || !(p.revents & POLLHUP))
		if (p.revents & POLLIN)
			run_serve(listener, device);
	_exit(0);
}

void run_serve_survivors(int listener, int device)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	pid_t pid;

	/* The listener hangs up when no process has the filter any more. */
	if (poll(&p, 1, 0) > 0 && p.revents & POLLHUP)
		return;
	pid = fork();
	if (pid == 0)
		serve_until_hangup(listener, device);
	if (pid < 0)
		cli_error("cannot fork a process that serves the remaining ones: %s",
			  strerror(errno));
}
