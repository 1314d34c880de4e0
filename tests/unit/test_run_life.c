// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes-run beside its program: descriptors, job control, surviving children. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kmes_abi.h"
#include "src/kmes-run/run.h"
#include "unit.h"

/* Not available in user-mode emulation. */
static void needs_seccomp(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run_filter_install() < 0);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
		return;
	print_message("# no seccomp listener can be had here\n");
	skip();
}

/* ---- open descriptors ---- */

enum { KEPT = 3 };

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* Each at 3 + place[i] before; 0 if each is at 3 + i after, and no other is open. */
static int keep_from(const int place[KEPT])
{
	int fds[KEPT], i, *const kept[KEPT] = { &fds[0], &fds[1], &fds[2] };
	ino_t inodes[KEPT];

	/* Opened elsewhere first, so that none replaces another. */
	for (i = 0; i < KEPT; i++) {
		inodes[i] = inode_of(dup2(memfd_create("kept", 0), 60 + i));
		fds[i] = 3 + place[i];
	}
	for (i = 0; i < KEPT; i++)
		dup2(60 + i, fds[i]);
	if (run_fds_keep_only(kept, KEPT, 3) < 0)
		return 1;
	for (i = 0; i < KEPT; i++)
		if (fds[i] != 3 + i || inode_of(fds[i]) != inodes[i] ||
		    fcntl(fds[i], F_GETFD) != FD_CLOEXEC)
			return 2 + i;
	for (i = 3 + KEPT; i < 1024; i++)
		if (fcntl(i, F_GETFD) >= 0)
			return 10;
	return 0;
}

TEST(run_fds_keep_only_moves_each_to_its_place)
{
	const int places[][KEPT] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 }, { 2, 0, 1 },
				     { 1, 0, 2 }, { 9, 0, 1 }, { 5, 4, 3 }, { 4, 0, 9 } };

	for (size_t i = 0; i < COUNT(places); i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(keep_from(places[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

#define REPORT "KMES_TEST_REPORT"

/*
 * With a descriptor in REPORT this program is one that kmes-run starts: its child makes a
 * call after the parent has exited, and reports the result there.
 */
static __attribute__((constructor)) void leave_one_behind(void)
{
	const char *report = getenv(REPORT);
	pid_t parent = getpid(), pid;
	int answer;

	if (!report)
		return;
	pid = fork();
	if (pid)
		_exit(pid < 0);
	while (getppid() == parent)
		usleep(1000);
	answer = syscall(KMES_NR_ATTACH, 0, NULL) < 0 ? errno : 0;
	_exit(write(atoi(report), &answer, sizeof(answer)) != sizeof(answer));
}

/* Descriptors as when a shell starts kmes-run: the device is the first. */
static _Noreturn void run_and_leave(int report)
{
	char number[16], *argv[] = { "/proc/self/exe", NULL };
	int device = open("/dev/null", O_RDWR | O_CLOEXEC), moved, status;
	struct run_program program;

	snprintf(number, sizeof(number), "%d", report);
	setenv(REPORT, number, 1);
	if (run_program_prepare(&program, argv) || run_program_start(&program, argv[0]) ||
	    waitpid(program.pid, &status, 0) != program.pid || status)
		_exit(1);
	moved = fcntl(device, F_DUPFD, 20);
	dup2(fcntl(program.listener, F_DUPFD, 20), 4);
	dup2(moved, 3);
	run_serve_survivors(4, 3);
	_exit(0);
}

/* The stand-in for the device answers ENOTTY, which nothing else does. */
TEST(run_survivors_calls_are_made_through_the_device)
{
	struct pollfd p = { .events = POLLIN };
	int ends[2], status, answer = 0;
	pid_t pid;

	needs_seccomp();
	assert_return_code(pipe(ends), errno);
	pid = fork();
	if (pid == 0)
		run_and_leave(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	p.fd = ends[0];
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(read(ends[0], &answer, sizeof(answer)), sizeof(answer));
	assert_int_equal(answer, ENOTTY);
	close(ends[0]);
	close(ends[1]);
}

/* ---- job control ---- */

static _Noreturn void run_job(const char *script)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	struct run_program program;
	int signals;

	setpgid(0, 0);
	signal(SIGTTOU, SIG_IGN);
	tcsetpgrp(STDIN_FILENO, getpid());
	signal(SIGTTOU, SIG_DFL);
	if (run_program_prepare(&program, argv))
		_exit(RUN_FAILED);
	signals = run_signals_open();
	if (run_program_start(&program, argv[0]))
		_exit(RUN_FAILED);
	_exit(WEXITSTATUS(run_serve_program(&program, -1, signals)));
}

/* As a shell does: 0 if the job stopped, and exited with 7 after it was continued. */
static int job_that_stops_itself(const char *script)
{
	pid_t job = fork();
	int status;

	if (job == 0)
		run_job(script);
	alarm(60);
	if (waitpid(job, &status, WUNTRACED) != job || !WIFSTOPPED(status))
		return 1;
	kill(-job, SIGCONT);
	if (waitpid(job, &status, WUNTRACED) != job || !WIFEXITED(status))
		return 2;
	return WEXITSTATUS(status) == 7 ? 0 : 3;
}

/* Else the shell would wait for a job that only the shell can continue. */
TEST(run_stops_with_a_program_that_stops_itself_in_the_foreground)
{
	char text[256];
	int terminal, status;
	pid_t shell;

	needs_seccomp();
	shell = forkpty(&terminal, NULL, NULL, NULL);
	if (shell == 0)
		_exit(job_that_stops_itself("kill -TSTP $$; exit 7"));
	assert_true(shell > 0);
	while (read(terminal, text, sizeof(text)) > 0)
		;
	assert_int_equal(waitpid(shell, &status, 0), shell);
	assert_int_equal(status, 0);
	close(terminal);
}
