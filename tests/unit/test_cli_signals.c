// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Signals of a tool and of its children. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "cli/cli.h"
#include "unit.h"

static void body_ignored(void *arg)
{
	(void)arg;
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	child_begin_tool();
	cli_stop_catch();
	cli_signal_catch(SIGHUP);
	raise(SIGINT);
	raise(SIGHUP);
	if (cli_stop_signal() != 0 || cli_signal_arrived(SIGHUP))
		_exit(1);
	raise(SIGTERM);
	_exit(cli_stop_signal() == SIGTERM ? 0 : 2);
}

/* A shell ignores these in what it runs in the background. */
static void heed_signals(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
}
ALL_TESTS(heed_signals, NULL);

TEST(cli_signals_ignored_at_the_start_stay_ignored)
{
	struct child_result r = child_run(body_ignored, NULL);

	child_assert_exit(&r, 0);
}

static void body_repeated(void *arg)
{
	(void)arg;
	signal(SIGUSR1, SIG_DFL);
	child_begin_tool();
	cli_stop_catch();
	cli_signal_catch(SIGUSR1);
	raise(SIGUSR1);
	if (!cli_signal_arrived(SIGUSR1) || cli_signal_arrived(SIGUSR1) ||
	    cli_stop_signal())
		_exit(1);
	raise(SIGINT);
	raise(SIGTERM);
	raise(SIGINT);
	_exit(cli_stop_signal() == SIGINT ? 0 : 2);
}

TEST(cli_signals_repeated_have_no_effect)
{
	struct child_result r = child_run(body_repeated, NULL);

	child_assert_exit(&r, 0);
}

static void body_die(void *arg)
{
	sigset_t mask;

	child_begin_tool();
	cli_stop_catch();
	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	cli_die_by_signal(*(int *)arg);
}

TEST(cli_die_by_signal_ends_by_that_signal)
{
	static int signals[] = { SIGINT, SIGTERM, SIGHUP };
	size_t i;

	for (i = 0; i < COUNT(signals); i++) {
		struct child_result r = child_run(body_die, &signals[i]);

		assert_true(WIFSIGNALED(r.status));
		assert_int_equal(WTERMSIG(r.status), signals[i]);
	}
}

/* arg: SIGPIPE's handler and whether SIGUSR2 is blocked at the start */
static void body_child_signals(void *arg)
{
	struct sigaction pipe_now, int_now, quit_now, alarm_now;
	sigset_t mask;
	bool special = arg != NULL;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	if (special) {
		signal(SIGPIPE, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		signal(SIGALRM, SIG_IGN);
		sigprocmask(SIG_BLOCK, &mask, NULL);
	}
	child_begin_tool();
	cli_stop_catch();
	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	cli_signals_for_child();
	sigaction(SIGPIPE, NULL, &pipe_now);
	sigaction(SIGINT, NULL, &int_now);
	sigaction(SIGQUIT, NULL, &quit_now);
	sigaction(SIGALRM, NULL, &alarm_now);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (pipe_now.sa_handler != (special ? SIG_IGN : SIG_DFL))
		_exit(1);
	if (int_now.sa_handler != SIG_DFL)
		_exit(2);
	if (quit_now.sa_handler != (special ? SIG_IGN : SIG_DFL))
		_exit(3);
	if (alarm_now.sa_handler != (special ? SIG_IGN : SIG_DFL))
		_exit(5);
	if (sigismember(&mask, SIGUSR2) != special || sigismember(&mask, SIGTERM))
		_exit(4);
}

TEST(cli_signals_of_a_child_are_those_at_startup)
{
	struct child_result r = child_run(body_child_signals, NULL);

	child_assert_exit(&r, 0);
	r = child_run(body_child_signals, "special");
	child_assert_exit(&r, 0);
}
