// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * native_terminal_cases.c - kmes-run as a job of a shell with a terminal.
 *
 * Each case is the shell and starts kmes-run with a case of this program as the job. The
 * job reports its progress to the shell by single letters in a pipe.
 */
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "tests/vm/ring.h"

#define TELL "KMES_TEST_TELL"
#define WAIT_MS 60000

/* ---- the shell ---- */

struct shell {
	int master, tty;
	int hear, tell; /* ends of the pipe */
	pid_t job;
};

static void open_terminal(struct shell *s)
{
	int pipes[2];

	s->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	check(s->master >= 0 && grantpt(s->master) == 0 && unlockpt(s->master) == 0);
	s->tty = open(ptsname(s->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	check(s->tty >= 0 && pipe(pipes) == 0);
	s->hear = pipes[0];
	s->tell = pipes[1];
	check(fcntl(s->hear, F_SETFD, FD_CLOEXEC) == 0);
}

/* Becomes the leader of a session that controls the terminal. */
static void take_terminal(const struct shell *s)
{
	check(setsid() > 0);
	check(ioctl(s->tty, TIOCSCTTY, 0) == 0);
}

static _Noreturn void become_job(const struct shell *s, const char *name)
{
	char tell[16];

	snprintf(tell, sizeof(tell), "%d", s->tell);
	setenv(TELL, tell, 1);
	dup2(s->tty, 0);
	execlp("kmes-run", "kmes-run", "native_terminal_cases", name, NULL);
	fail("cannot run kmes-run");
}

static void start_job(struct shell *s, const char *name, bool in_foreground)
{
	signal(SIGTTOU, SIG_IGN);
	s->job = fork();
	if (!s->job) {
		setpgid(0, 0);
		if (in_foreground)
			check(tcsetpgrp(s->tty, getpid()) == 0);
		signal(SIGTTOU, SIG_DFL);
		become_job(s, name);
	}
	check(s->job > 0);
	close(s->tell);
}

/* The next letter from the job; 0 at the end. */
static char heard(const struct shell *s)
{
	struct pollfd p = { .fd = s->hear, .events = POLLIN };
	char letter = 0;

	if (poll(&p, 1, WAIT_MS) != 1)
		fail("no report from the job");
	return read(s->hear, &letter, 1) == 1 ? letter : '\0';
}

static void type(const struct shell *s, const char *keys)
{
	check(write(s->master, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

/* The next status change of the job. */
static int job_status(const struct shell *s)
{
	int status;

	check(waitpid(s->job, &status, WUNTRACED) == s->job);
	return status;
}

static void check_stopped_by(const struct shell *s, int sig)
{
	int status = job_status(s);

	check(WIFSTOPPED(status));
	check_eq(WSTOPSIG(status), sig);
}

static void check_exit(const struct shell *s, int expected)
{
	int status = job_status(s);

	check(WIFEXITED(status));
	check_eq(WEXITSTATUS(status), expected);
}

/* ---- the job ---- */

static void tell(char letter)
{
	check(write(atoi(getenv(TELL)), &letter, 1) == 1);
}

static volatile sig_atomic_t arrived[NSIG];

static void on_signal(int sig)
{
	arrived[sig]++;
}

static void catch_signal(int sig)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	check(sigaction(sig, &action, NULL) == 0);
}

static void wait_for_signal(int sig)
{
	while (!arrived[sig])
		sleep_ms(1);
}

static const int typed[] = { SIGINT, SIGQUIT, SIGWINCH };

/* Each signal arrives; how often, by the time kmes-run has polled a few more times? */
static void job_counts(void)
{
	for (size_t i = 0; i < 3; i++)
		catch_signal(typed[i]);
	tell('r');
	for (size_t i = 0; i < 3; i++) {
		wait_for_signal(typed[i]);
		for (int n = 0; n < 10; n++)
			check_eq(emit("terminal.typed"), 0);
		tell((char)('0' + arrived[typed[i]]));
	}
	tell('r');
	for (;;)
		pause();
}

/* Continues after SIGCONT, and can make calls. */
static void job_sleeps(void)
{
	catch_signal(SIGCONT);
	tell('r');
	wait_for_signal(SIGCONT);
	check_eq(emit("terminal.continued"), 0);
	tell('c');
	exit(4);
}

static void job_stops_itself(void)
{
	catch_signal(SIGCHLD);
	tell('r');
	check(raise(SIGSTOP) == 0);
	check_eq(emit("terminal.continued"), 0);
	/* kmes-run has been notified that a child stopped, and ignores it. */
	check_eq(arrived[SIGCHLD], 0);
	tell('c');
	exit(5);
}

/* Stops, while its child continues to make calls for a while. */
static void job_stops_alone(void)
{
	pid_t parent = getpid();

	if (!fork_bound()) {
		while (!task_is(parent, 'T'))
			sleep_ms(1);
		for (int i = 0; i < 20; i++) {
			check_eq(emit("terminal.alone"), 0);
			sleep_ms(10);
		}
		tell('e');
		for (;;)
			pause();
	}
	job_stops_itself();
}

/* Leaves a daemon, which emits until its pipe has no reader. */
static void job_leaves_daemon(void)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (pid)
		exit(0);
	check(setsid() > 0);
	for (;;) {
		check_eq(emit("terminal.daemon"), 0);
		tell('e');
		sleep_ms(5);
	}
}

/* A hangup, which the kernel signals to the session leader only. */
static void job_hung_up(void)
{
	catch_signal(SIGHUP);
	tell('r');
	wait_for_signal(SIGHUP);
	tell('h');
	exit(6);
}

/* ---- cases ---- */

static void typed_signals(void)
{
	const struct winsize size = { .ws_row = 12, .ws_col = 34 };
	struct shell s;
	int status;

	open_terminal(&s);
	take_terminal(&s);
	start_job(&s, "job-counts", true);
	check_eq(heard(&s), 'r');
	type(&s, "\x03");
	check_eq(heard(&s), '1');
	type(&s, "\x1c");
	check_eq(heard(&s), '1');
	check(ioctl(s.master, TIOCSWINSZ, &size) == 0);
	check_eq(heard(&s), '1');
	check_eq(heard(&s), 'r');
	kill(s.job, SIGTERM);
	status = job_status(&s);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* The terminal's stop key, and the shell's command to continue. */
static void typed_stop(void)
{
	struct shell s;

	open_terminal(&s);
	take_terminal(&s);
	start_job(&s, "job-sleeps", true);
	check_eq(heard(&s), 'r');
	type(&s, "\x1a");
	check_stopped_by(&s, SIGTSTP);
	check(kill(-s.job, SIGCONT) == 0);
	check_eq(heard(&s), 'c');
	check_exit(&s, 4);
}

/* Like an editor asked to suspend itself: the shell must be notified. */
static void stop_of_its_own(void)
{
	struct shell s;

	open_terminal(&s);
	take_terminal(&s);
	start_job(&s, "job-stops-itself", true);
	check_eq(heard(&s), 'r');
	check_stopped_by(&s, SIGSTOP);
	check(tcsetpgrp(s.tty, getpid()) == 0);
	/* The shell may continue only kmes-run. */
	check(kill(s.job, SIGCONT) == 0);
	check_eq(heard(&s), 'c');
	check_exit(&s, 5);
}

/* In the background, kmes-run continues for processes that are not stopped. */
static void stop_in_background(void)
{
	struct shell s;

	open_terminal(&s);
	take_terminal(&s);
	start_job(&s, "job-stops-alone", false);
	check_eq(heard(&s), 'r');
	check_eq(heard(&s), 'e');
	check(kill(-s.job, SIGCONT) == 0);
	check_eq(heard(&s), 'c');
	check_exit(&s, 5);
}

static void ignore_letters(const struct shell *s)
{
	char letters[64];

	check(fcntl(s->hear, F_SETFL, O_NONBLOCK) == 0);
	while (read(s->hear, letters, sizeof(letters)) > 0)
		;
	check(fcntl(s->hear, F_SETFL, 0) == 0);
}

/* A script starts a daemon and is stopped later: the daemon is not affected. */
static void stop_of_the_script(void)
{
	struct shell s;
	pid_t script;

	open_terminal(&s);
	take_terminal(&s);
	script = fork_bound();
	if (!script) {
		int status;

		check(setpgid(0, 0) == 0);
		signal(SIGTTOU, SIG_IGN);
		check(tcsetpgrp(s.tty, getpid()) == 0);
		s.job = fork();
		if (!s.job)
			become_job(&s, "job-leaves-daemon");
		check(waitpid(s.job, &status, 0) == s.job && status == 0);
		check(write(s.tell, "d", 1) == 1);
		for (;;)
			pause();
	}
	close(s.tell);
	while (heard(&s) != 'd')
		;
	s.job = script;
	type(&s, "\x1a");
	check_stopped_by(&s, SIGTSTP);
	ignore_letters(&s);
	for (int i = 0; i < 20; i++)
		check_eq(heard(&s), 'e');
	end_child(script);
}

static void hang_up(void)
{
	struct shell s;

	open_terminal(&s);
	s.job = fork();
	if (!s.job) {
		take_terminal(&s);
		become_job(&s, "job-hung-up");
	}
	close(s.tell);
	check_eq(heard(&s), 'r');
	close(s.tty);
	close(s.master);
	check_eq(heard(&s), 'h');
	check_exit(&s, 6);
}

static const struct vm_case cases[] = {
	{ "typed-signals", typed_signals },
	{ "typed-stop", typed_stop },
	{ "stop-of-its-own", stop_of_its_own },
	{ "stop-in-background", stop_in_background },
	{ "stop-of-the-script", stop_of_the_script },
	{ "hang-up", hang_up },
	{ "job-counts", job_counts },
	{ "job-sleeps", job_sleeps },
	{ "job-stops-itself", job_stops_itself },
	{ "job-stops-alone", job_stops_alone },
	{ "job-leaves-daemon", job_leaves_daemon },
	{ "job-hung-up", job_hung_up },
};

KMES_CASES(cases)
