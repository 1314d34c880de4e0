// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* signals.c - forwards signals to the program. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

/*
 * Job control signals act on kmes-run itself. A fault kills the process whether its
 * signal is blocked or not.
 */
static const int kept[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT };

int run_signals_open(void)
{
	sigset_t set;
	size_t i;

	sigfillset(&set);
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		sigdelset(&set, kept[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Sends the signal, with its value if it was sent by sigqueue(3). */
static void pass(pid_t pid, const struct signalfd_siginfo *info)
{
	if (info->ssi_code == SI_QUEUE)
		sigqueue(pid, (int)info->ssi_signo,
			 (union sigval){ .sival_ptr = (void *)(uintptr_t)info->ssi_ptr });
	else
		kill(pid, (int)info->ssi_signo);
}

/*
 * The program has received what the terminal sends to its foreground process group. Only
 * the session leader receives a hangup.
 */
static bool is_from_terminal(const struct signalfd_siginfo *info)
{
	switch (info->ssi_signo) {
	case SIGHUP:
		return info->ssi_code > 0 && getsid(0) != getpid();
	case SIGINT:
	case SIGQUIT:
	case SIGWINCH:
		return info->ssi_code > 0;
	}
	return false;
}

/* From our own child, or raised by a write of ours to a pipe. */
static bool is_ours(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGCHLD || info->ssi_pid == (uint32_t)getpid();
}

void run_signals_pass(int signals, pid_t pid)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		if (!is_from_terminal(&info) && !is_ours(&info))
			pass(pid, &info);
}

static bool is_stopped(pid_t pid, int more)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | more) == 0 &&
	       info.si_pid == pid;
}

/* Is our process group in the foreground of the terminal? */
static bool is_in_foreground(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && tcgetpgrp(fd) == getpgrp();

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * A stop from the terminal reaches both processes. A program that stops itself, as
 * editors do, would leave the shell waiting for kmes-run. A shell continues the processes
 * of a job one after another, so only a stop that lasts counts.
 */
void run_signals_stop_with(pid_t pid)
{
	const struct timespec moment = { 0, 20000000 };

	if (!is_stopped(pid, WNOWAIT))
		return;
	nanosleep(&moment, NULL);
	if (!is_stopped(pid, 0) || !is_in_foreground())
		return;
	raise(SIGSTOP);
	kill(pid, SIGCONT);
}
