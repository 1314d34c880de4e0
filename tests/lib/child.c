// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* child.c - see child.h. */
#include "child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "unit.h"

pid_t child_start(void (*body)(void *arg), void *arg, int *err)
{
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(pair[1], STDERR_FILENO);
		close(pair[0]);
		close(pair[1]);
		body(arg);
		_exit(0);
	}
	close(pair[1]);
	*err = pair[0];
	return pid;
}

void child_end(pid_t pid, int err, struct child_result *result)
{
	ssize_t n;

	assert_int_equal(waitpid(pid, &result->status, 0), pid);
	for (result->messages = 0; result->messages < CHILD_MESSAGES;
	     result->messages++) {
		char *message = result->message[result->messages];

		n = recv(err, message, sizeof(result->message[0]) - 1, MSG_DONTWAIT);
		if (n <= 0)
			break;
		message[n] = '\0';
	}
	close(err);
}

struct child_result child_run(void (*body)(void *arg), void *arg)
{
	struct child_result result;
	int err;
	pid_t pid = child_start(body, arg, &err);

	child_end(pid, err, &result);
	return result;
}

void child_assert_exit(const struct child_result *result, int status)
{
	assert_true(WIFEXITED(result->status));
	assert_int_equal(WEXITSTATUS(result->status), status);
}

void child_begin_tool(void)
{
	static char *argv[] = { "kmes-test", NULL };
	static const struct poptOption table[] = {
		POPT_TABLEEND,
	};
	static struct cli cli;

	cli_begin(&cli, "kmes-test", 1, argv, table, 0, "");
	cli_end(&cli);
}
