// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* command.c - starts COMMAND, and is notified of its end by SIGCHLD. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static volatile sig_atomic_t child_changed;
static struct sigaction original_child;

static void on_child(int sig)
{
	(void)sig;
	child_changed = 1;
}

/*
 * Without SA_RESTART, so that the sleep ends. If SIGCHLD were ignored, the status would
 * be lost; if it were blocked, the signal would not arrive.
 */
static void catch_child(void)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
	sigset_t mask;

	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, &original_child);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

/* In the child: executes the command, or writes its errno to the pipe. */
static _Noreturn void run(char **argv, int failed)
{
	int error;

	sigaction(SIGCHLD, &original_child, NULL);
	cli_signals_for_child();
	cli_source_limit_for_child();
	execvp(argv[0], argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(EXIT_CANNOT_RUN);
	_exit(EXIT_NOT_FOUND);
}

/* The errno of the child, or 0 if it has executed the command. */
static int read_failure(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? error : 0;
}

int wait_command_start(struct wait_command *command, char **argv)
{
	int failed[2], error;

	catch_child();
	if (pipe2(failed, O_CLOEXEC) < 0) {
		cli_error("cannot start %s: %s", argv[0], strerror(errno));
		return CLI_FAILED;
	}
	command->pid = fork();
	if (command->pid == 0)
		run(argv, failed[1]);
	error = command->pid < 0 ? errno : 0;
	close(failed[1]);
	if (!error) {
		error = read_failure(failed[0]);
		if (error)
			waitpid(command->pid, NULL, 0);
	} else {
		close(failed[0]);
		cli_error("cannot start %s: %s", argv[0], strerror(error));
		return CLI_FAILED;
	}
	close(failed[0]);
	if (!error)
		return 0;
	command->pid = 0;
	cli_error("cannot run %s: %s", argv[0], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

bool wait_command_has_ended(struct wait_command *command)
{
	if (!command->pid || command->has_ended || !child_changed)
		return command->has_ended;
	child_changed = 0;
	if (waitpid(command->pid, &command->status, WNOHANG) == command->pid)
		command->has_ended = true;
	return command->has_ended;
}

bool wait_command_has_failed(const struct wait_command *command)
{
	return command->has_ended && command->status != 0;
}

void wait_command_signal(const struct wait_command *command, int sig)
{
	if (command->pid && !command->has_ended)
		kill(command->pid, sig);
}
