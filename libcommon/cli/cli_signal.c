// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cli_signal.c - signals to stop, and the dispositions of children.
 *
 * A signal interrupts a blocking write only if it arrives during the call; the write does
 * not return if it arrives just before. So the first signal to stop starts a timer, which
 * repeats SIGALRM.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cli_private.h"

#define STOP_TICK_US 250000

/* Read by threads while a handler may write it. */
static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t arrived[NSIG];

/* Dispositions that are always changed, as the tool was started with them. */
static struct sigaction original_pipe, original_size, original_alarm;
static sigset_t original_mask;

void cli_signals_begin(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigemptyset(&ignore.sa_mask);
	sigaction(SIGPIPE, &ignore, &original_pipe);
	/* The limit of file size is handled like a full disk. */
	sigaction(SIGXFSZ, &ignore, &original_size);
	sigaction(SIGALRM, NULL, &original_alarm);
	sigprocmask(SIG_SETMASK, NULL, &original_mask);
}

/*
 * A handler without SA_RESTART; false: the signal was ignored at the start and still is.
 */
static bool catch_signal(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	if (sigaction(sig, NULL, &before) < 0 || before.sa_handler == SIG_IGN)
		return false;
	return sigaction(sig, &action, NULL) == 0;
}

static void on_tick(int sig)
{
	(void)sig;
}

static void on_stop(int sig)
{
	static const struct itimerval tick = { { 0, STOP_TICK_US }, { 0, STOP_TICK_US } };
	int saved = errno;

	if (!stop_signal) {
		/* not ring memory */
		__atomic_store_n(&stop_signal, sig, __ATOMIC_RELAXED);
		setitimer(ITIMER_REAL, &tick, NULL);
	}
	errno = saved;
}

void cli_stop_on(int sig)
{
	struct sigaction tick = { .sa_handler = on_tick };
	sigset_t mask;

	sigemptyset(&tick.sa_mask);
	sigaction(SIGALRM, &tick, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	catch_signal(sig, on_stop);
}

void cli_stop_catch(void)
{
	cli_stop_on(SIGINT);
	cli_stop_on(SIGTERM);
}

int cli_stop_signal(void)
{
	/* not ring memory */
	return __atomic_load_n(&stop_signal, __ATOMIC_RELAXED);
}

const volatile sig_atomic_t *cli_stop_flag(void)
{
	return &stop_signal;
}

static void on_arrival(int sig)
{
	arrived[sig] = 1;
}

void cli_signal_catch(int sig)
{
	catch_signal(sig, on_arrival);
}

bool cli_signal_arrived(int sig)
{
	bool was = arrived[sig];

	if (was)
		arrived[sig] = 0;
	return was;
}

void cli_die_by_signal(int sig)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t mask;

	sigemptyset(&action.sa_mask);
	sigaction(sig, &action, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, sig);
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	raise(sig);
	_exit(128 + sig);
}

void cli_signals_for_child(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	struct sigaction now;
	int sig;

	sigemptyset(&action.sa_mask);
	for (sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN &&
		    now.sa_handler != SIG_DFL)
			sigaction(sig, &action, NULL);
	sigaction(SIGPIPE, &original_pipe, NULL);
	sigaction(SIGXFSZ, &original_size, NULL);
	sigaction(SIGALRM, &original_alarm, NULL);
	sigprocmask(SIG_SETMASK, &original_mask, NULL);
}
