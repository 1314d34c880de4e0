// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* daemon.c - continues in the background once everything that may fail has succeeded. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "options.h"

#define READY_FD 3

/* In the parent: waits until the child is ready or has exited. */
static _Noreturn void wait_for(pid_t child, int ready_fd)
{
	char byte;
	int status;
	ssize_t n;

	do {
		n = read(ready_fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(CLI_DONE);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			_exit(CLI_FAILED);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED);
}

int sim_daemon_start(void)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		cli_error("cannot start the daemon: %s", strerror(errno));
		exit(CLI_FAILED);
	}
	if (child) {
		close(ends[1]);
		wait_for(child, ends[0]);
	}
	/* Do not keep the caller's other descriptors open. */
	dup2(ends[1], READY_FD);
	close_range(READY_FD + 1, ~0u, 0);
	setsid();
	return READY_FD;
}

bool sim_daemon_ready(int ready_fd)
{
	ssize_t n;
	int fd;

	if (ready_fd < 0)
		return true;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, STDIN_FILENO);
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	do {
		n = write(ready_fd, "", 1);
	} while (n < 0 && errno == EINTR);
	close(ready_fd);
	return n == 1;
}
