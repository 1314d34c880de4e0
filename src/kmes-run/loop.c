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
 * Whether the program has ended. As the first process of its pid namespace we are the
 * parent of whatever is orphaned there, too.
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

	/* Its end may have come before signals were held back; any later one is reported. */
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
		/* POLLERR says no more than that a signal came while it was busy. */
		if (fds[0].revents & POLLIN)
			run_serve(program->listener, device);
		else if (fds[0].revents & POLLHUP)
			fds[0].fd = -1; /* nobody is behind the filter any more */
	}
}

static _Noreturn void serve_to_the_last(int listener, int device)
{
	struct pollfd p = { .events = POLLIN };
	int *const kept[] = { &listener, &device };

	/*
	 * Nobody is left to be told anything, and no folder is to be held. What a terminal
	 * stops is the job that we are no part of any more.
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

	/* It hangs up when nobody is behind the filter any more. */
	if (poll(&p, 1, 0) > 0 && p.revents & POLLHUP)
		return;
	pid = fork();
	if (pid == 0)
		serve_to_the_last(listener, device);
	if (pid < 0)
		cli_error("cannot leave a process behind for what still runs: %s",
			  strerror(errno));
}
