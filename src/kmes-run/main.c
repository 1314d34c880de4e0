// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-run: runs a program that makes native KMES calls on top of the module. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "run.h"

#define DEVICE "/dev/kmes"

static struct poptOption options[] = {
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

/* A bit for each standard descriptor that is closed; they stay closed in the program. */
static unsigned int closed_descriptors(void)
{
	unsigned int closed = 0;
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			closed |= 1u << fd;
	return closed;
}

static void close_on_exec(unsigned int closed)
{
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (closed & 1u << fd)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The module, or -1 after a message. */
static int open_device(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		cli_error(DEVICE ": %s%s", strerror(errno),
			  errno == ENOENT ? " (is kmes.ko loaded?)" : "");
	return fd;
}

/*
 * Closes all inherited descriptors but stderr, so that the program can close the last
 * one.
 */
static int close_inherited(struct run_program *program, int *device, int *signals)
{
	int *const kept[] = { &program->sock, &program->listener, device, signals };

	if (run_fds_keep_only(kept, 4, 3) == 0 && run_fds_to_null(0, 1) == 0)
		return 0;
	cli_error("cannot move the descriptors: %s", strerror(errno));
	return -1;
}

/* Exits with the program's status, or by the signal that killed it. */
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
	unsigned int closed = closed_descriptors();
	struct run_program program;
	int device, signals, status;
	char **command;
	struct cli cli;

	cli_set_usage_status(RUN_FAILED);
	cli_begin(&cli, "kmes-run", argc, argv, options, CLI_STOP_AT_OPERAND,
		  "[OPTION...] PROGRAM [ARG...]");
	close_on_exec(closed);
	while (cli_next(&cli, &(const char *){ NULL }))
		;
	command = cli_operands(&cli);
	if (!command || !command[0])
		cli_usage_error("no program is given", NULL);
	device = open_device();
	if (device < 0)
		return RUN_FAILED;
	if (!run_targets_are_visible()) {
		cli_error("/proc does not show this process: mount that of this pid "
			  "namespace");
		return RUN_FAILED;
	}
	status = run_program_prepare(&program, command);
	if (status)
		return status;
	signals = run_signals_open();
	if (signals < 0) {
		cli_error("cannot wait for signals: %s", strerror(errno));
		return RUN_FAILED;
	}
	if (close_inherited(&program, &device, &signals) < 0)
		return RUN_FAILED;
	status = run_program_start(&program, command[0]);
	if (status)
		return status;
	status = run_serve_program(&program, device, signals);
	run_serve_survivors(program.listener, device);
	return end_like(status);
}
