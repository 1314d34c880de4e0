/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* main.c - kmes-run: runs a program that makes the native calls, over the module. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "run.h"

#define DEVICE "/dev/kmes"

static struct poptOption options[] = { CLI_HELP_OPTIONS, POPT_TABLEEND };

/* Signals that somebody may send to us and mean the program. */
static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
				 SIGUSR2, SIGTERM, SIGALRM, SIGWINCH };

static int open_signals(sigset_t *before)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, before);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* What a terminal sends goes to the program anyway; what a process sends is passed on. */
static void take_signals(int signals, pid_t pid)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && info.ssi_code <= 0)
			kill(pid, (int)info.ssi_signo);
}

/* Serves until the program ends; its status as of waitpid(2). */
static int serve_until_end(const struct run_program *program, int device, int signals)
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
			take_signals(signals, program->pid);
		if (fds[0].revents & POLLIN)
			run_serve(program->listener, device);
		else if (fds[0].revents)
			fds[0].fd = -1; /* nobody is behind the filter any more */
	}
}

/* Ends as the program did. */
static int end_like(int status)
{
	struct rlimit no_core = { 0, 0 };

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	cli_die_by_signal(WTERMSIG(status));
}

int main(int argc, char **argv)
{
	struct run_program program;
	int device, signals, status;
	sigset_t before;
	char **command;
	struct cli cli;

	cli_set_usage_status(RUN_FAILED);
	cli_begin(&cli, "kmes-run", argc, argv, options, CLI_STOP_AT_OPERAND,
		  "[OPTION...] PROGRAM [ARG...]");
	while (cli_next(&cli, &(const char *){ NULL }))
		;
	command = cli_operands(&cli);
	if (!command || !command[0])
		cli_usage_error("no program is given", NULL);
	device = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (device < 0) {
		cli_error(DEVICE ": %s%s", strerror(errno),
			  errno == ENOENT ? " (is kmes.ko loaded?)" : "");
		return RUN_FAILED;
	}
	status = run_program_prepare(&program, command);
	if (status)
		return status;
	signals = open_signals(&before);
	if (signals < 0) {
		cli_error("cannot wait for signals: %s", strerror(errno));
		return RUN_FAILED;
	}
	status = run_program_start(&program, command[0]);
	if (status)
		return status;
	status = serve_until_end(&program, device, signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return end_like(status);
}
