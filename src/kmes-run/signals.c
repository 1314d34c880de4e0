// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* signals.c - signals that somebody sends to us and means for the program. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

/*
 * Those by which a terminal stops a job are our own. A fault of ours ends us whether its
 * signal is held back or not.
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

/* The signal, with the value that sigqueue(3) has given it. */
static void pass(pid_t pid, const struct signalfd_siginfo *info)
{
	if (info->ssi_code == SI_QUEUE)
		sigqueue(pid, (int)info->ssi_signo,
			 (union sigval){ .sival_ptr = (void *)(uintptr_t)info->ssi_ptr });
	else
		kill(pid, (int)info->ssi_signo);
}

/*
 * What a terminal sends to all of its foreground has reached the program, too; a hang-up
 * is told to the leader of the session alone.
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

/* Our own end of a child, or of a pipe that we have written to. */
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

/* Whether our group is the one that has the terminal. */
static bool is_in_foreground(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && tcgetpgrp(fd) == getpgrp();

	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * A terminal's own stop reaches both of us; one that the program gives itself, as editors
 * do, would leave its shell waiting for us. Who continues a job continues one process of
 * it after the other, so a stop counts that lasts.
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
