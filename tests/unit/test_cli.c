/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The plumbing of the tools: options, messages, signals, output. What exits or catches
 * signals runs in a child whose stderr is a socket that keeps each write apart.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define MESSAGES 4

/* What a child left behind. */
struct result {
	int status; /* of waitpid */
	int messages;
	char message[MESSAGES][8192];
};

static pid_t child_start(void (*body)(void *arg), void *arg, int *err)
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

static void child_end(pid_t pid, int err, struct result *result)
{
	ssize_t n;

	assert_int_equal(waitpid(pid, &result->status, 0), pid);
	for (result->messages = 0; result->messages < MESSAGES; result->messages++) {
		char *message = result->message[result->messages];

		n = recv(err, message, sizeof(result->message[0]) - 1, MSG_DONTWAIT);
		if (n <= 0)
			break;
		message[n] = '\0';
	}
	close(err);
}

static struct result run_child(void (*body)(void *arg), void *arg)
{
	struct result result;
	int err;
	pid_t pid = child_start(body, arg, &err);

	child_end(pid, err, &result);
	return result;
}

static void assert_exit(const struct result *result, int status)
{
	assert_true(WIFEXITED(result->status));
	assert_int_equal(WEXITSTATUS(result->status), status);
}

/* ---- options ---- */

static const struct poptOption table[] = {
	{ "number", 'n', POPT_ARG_STRING, NULL, 'n', "a number", "N" },
	{ "text", 't', POPT_ARG_STRING, NULL, 't', "a text", "TEXT" },
	{ "flag", 'f', POPT_ARG_NONE, NULL, 'f', "a flag", NULL },
	{ "other", 'x', POPT_ARG_NONE, NULL, 'x', "another flag", NULL },
	CLI_SOURCE_OPTIONS,
	CLI_CPU_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

/* What a command line is taken for, written down: "n=5 f <operand> ". */
static void describe(char *buf, size_t size, unsigned int flags, char **argv)
{
	struct cli cli;
	const char *text;
	FILE *to = fmemopen(buf, size, "w");
	int argc, option;

	for (argc = 0; argv[argc]; argc++)
		;
	cli_begin(&cli, "kmes-test", argc, argv, table, flags, "[OPTION...]");
	while ((option = cli_next(&cli, &text))) {
		if (option == 'n')
			fprintf(to, "n=%llu ",
				(unsigned long long)cli_number(&cli, text, 1, 100));
		else if (text)
			fprintf(to, "%c=%s ", option, text);
		else
			fprintf(to, "%c ", option);
	}
	if (cli.source)
		fprintf(to, "S=%s ", cli.source);
	if (cli.cpus.count)
		fprintf(to, "c*%zu ", cli.cpus.count);
	while ((text = cli_operand(&cli, "OPERAND")))
		fprintf(to, "<%s> ", text);
	fclose(to);
	cli_end(&cli);
}

#define ARGS(...) ((char *[]){ "kmes-test", __VA_ARGS__, NULL })

static void assert_described(char **argv, unsigned int flags, const char *expected)
{
	char buf[512] = "";

	describe(buf, sizeof(buf), flags, argv);
	assert_string_equal(buf, expected);
}

static void cli_options_are_taken_in_every_spelling(void **state)
{
	(void)state;
	assert_described(ARGS("-n", "5", "-n6", "--number=7", "--number", "8"), 0,
			 "n=5 n=6 n=7 n=8 ");
	assert_described(ARGS("-fx", "-fn3"), 0, "f x f n=3 ");
	assert_described(ARGS("-S", "sim", "-c1", "--source=dev", "-c", "2-3,4"), 0,
			 "S=dev c*3 ");
	assert_described(ARGS("-t", "", "--text="), 0, "t= t= ");
	assert_described(ARGS("-t", "--flag"), 0, "t=--flag ");
	assert_described(ARGS("a", "-f", "-", "--", "-x", "--"), 0,
			 "f <a> <-> <-x> <--> ");
	assert_described(ARGS("-f", "a", "-x"), CLI_STOP_AT_OPERAND, "f <a> <-x> ");
	assert_described(ARGS("-f", "--", "-x"), CLI_STOP_AT_OPERAND, "f <-x> ");
}

/* popt would put the next argument in its place */
static void cli_options_keep_popts_mark_as_typed(void **state)
{
	(void)state;
	assert_described(ARGS("-t", "a!#:+b!#:+", "-t!#:!#:+", "--text=!#:+", "c!#:+"), 0,
			 "t=a!#:+b!#:+ t=!#:!#:+ t=!#:+ <c!#:+> ");
}

static void cli_operands_are_whole(void **state)
{
	char *argv[] = { "kmes-test", "-f", "echo", "-n", "!#:+", NULL };
	struct cli cli;
	const char *text;
	char **operands;

	(void)state;
	cli_begin(&cli, "kmes-test", 5, argv, table, CLI_STOP_AT_OPERAND, "");
	assert_int_equal(cli_next(&cli, &text), 'f');
	assert_int_equal(cli_next(&cli, &text), 0);
	operands = cli_operands(&cli);
	assert_string_equal(operands[0], "echo");
	assert_string_equal(operands[1], "-n");
	assert_string_equal(operands[2], "!#:+");
	assert_null(operands[3]);
	cli_end(&cli);

	cli_begin(&cli, "kmes-test", 2, argv, table, CLI_STOP_AT_OPERAND, "");
	assert_int_equal(cli_next(&cli, &text), 'f');
	assert_int_equal(cli_next(&cli, &text), 0);
	assert_null(cli_operands(&cli)[0]);
	cli_end(&cli);
}

static void cli_aliases_of_popt_work_and_exec_lines_do_not(void **state)
{
	char dir[] = "/tmp/kmes-test.XXXXXX", path[64];
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.popt", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("kmes-test alias --both -f --number=9\n"
	      "kmes-test exec --run /bin/false\n"
	      "kmes-other alias --flag --other\n",
	      file);
	fclose(file);
	setenv("HOME", dir, 1);
	assert_described(ARGS("--both", "-x"), 0, "f n=9 x ");
	assert_described(ARGS("--run", "-x"), 0, "x ");
	assert_described(ARGS("--flag"), 0, "f ");
	unsetenv("HOME");
	unlink(path);
	rmdir(dir);
}

static void body_describe(void *arg)
{
	char buf[512];

	describe(buf, sizeof(buf), 0, arg);
}

static void cli_options_wrong_are_named_and_exit_2(void **state)
{
	static const struct {
		char *argv[4];
		const char *message;
	} cases[] = {
		{ { "kmes-test", "--wrong" }, "unknown option: '--wrong'" },
		{ { "kmes-test", "-w" }, "unknown option: '-w'" },
		{ { "kmes-test", "-fw" }, "unknown option: '-fw'" },
		{ { "kmes-test", "-flag" }, "unknown option: '-flag'" },
		{ { "kmes-test", "--num", "5" }, "unknown option: '--num'" },
		{ { "kmes-test", "--flag=1" }, "option takes no value: '--flag=1'" },
		{ { "kmes-test", "--flag=" }, "option takes no value: '--flag='" },
		{ { "kmes-test", "-f=x" }, "option takes no value: '-f=x'" },
		{ { "kmes-test", "-f=" }, "option takes no value: '-f='" },
		{ { "kmes-test", "--number" }, "option needs a value: '--number'" },
		{ { "kmes-test", "-n" }, "option needs a value: '-n'" },
		{ { "kmes-test", "-n", "" }, "--number: not a number: ''" },
		{ { "kmes-test", "-n", "3x" }, "--number: not a number: '3x'" },
		{ { "kmes-test", "-n", "0" }, "--number: not between 1 and 100: '0'" },
		{ { "kmes-test", "-n", "18446744073709551617" },
		  "--number: not between 1 and 100: '18446744073709551617'" },
		{ { "kmes-test", "-c3x" },
		  "--cpu: not a list of CPUs such as 0,2-5: '3x'" },
		{ { "kmes-test", "-c", "70000" },
		  "--cpu: a CPU is at most 65535: '70000'" },
		{ { "kmes-test", "--\x1b[31m\n!#:+" },
		  "unknown option: '--\\x1b[31m\\x0a!#:+'" },
	};
	char expected[256];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		struct result r = run_child(body_describe, (void *)cases[i].argv);

		snprintf(expected, sizeof(expected), "kmes-test: %s\n", cases[i].message);
		assert_int_equal(r.messages, 2);
		assert_string_equal(r.message[0], expected);
		assert_string_equal(r.message[1],
				    "kmes-test: 'kmes-test --help' lists the options\n");
		assert_exit(&r, 2);
	}
}

static bool only_even_below_8(void *arg, uint16_t cpu)
{
	(void)arg;
	return cpu < 8 && cpu % 2 == 0;
}

static void body_check_cpus(void *arg)
{
	char *argv[] = { "kmes-test", "-c", arg, NULL };
	struct cli cli;
	const char *text;

	cli_begin(&cli, "kmes-test", 3, argv, table, 0, "");
	while (cli_next(&cli, &text))
		;
	cli_check_cpus(&cli, only_even_below_8, NULL);
	cli_end(&cli);
}

static void cli_cpus_without_a_ring_are_named(void **state)
{
	static const struct {
		char *list;
		const char *message;
	} cases[] = {
		{ "0,2-5", NULL },
		{ "1-2,6", NULL },
		{ "0,3", "kmes-test: --cpu: this CPU has no ring: '3'\n" },
		{ "3-3", "kmes-test: --cpu: this CPU has no ring: '3'\n" },
		{ "0,8-65535",
		  "kmes-test: --cpu: none of these CPUs has a ring: '8-65535'\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		struct result r = run_child(body_check_cpus, cases[i].list);

		assert_exit(&r, cases[i].message ? 2 : 0);
		if (cases[i].message)
			assert_string_equal(r.message[0], cases[i].message);
		else
			assert_int_equal(r.messages, 0);
	}
}

/* ---- messages ---- */

static void begin_plain(void)
{
	static char *argv[] = { "kmes-test", NULL };
	static struct cli cli;

	cli_begin(&cli, "kmes-test", 1, argv, table, 0, "");
	cli_end(&cli);
}

static void body_messages(void *arg)
{
	begin_plain();
	cli_warn("cpu%u: %s", 3, "\x1b]0;title\a two\nlines");
	cli_error("%s", (char *)arg);
}

static void cli_messages_are_one_safe_line_and_one_write(void **state)
{
	char *text = malloc(200001);
	struct result r;

	(void)state;
	assert_non_null(text);
	memset(text, '\x1b', 200000);
	text[200000] = '\0';
	r = run_child(body_messages, text);
	free(text);
	assert_int_equal(r.messages, 2);
	assert_string_equal(r.message[0],
			    "kmes-test: cpu3: \\x1b]0;title\\x07 two\\x0alines\n");
	/* what would not go out whole is cut */
	assert_true(strlen(r.message[1]) <= 4096);
	assert_true(strlen(r.message[1]) > 4080);
	assert_string_equal(r.message[1] + strlen(r.message[1]) - 8, "\\x1b...\n");
	assert_null(strchr(r.message[1], '\x1b'));
	assert_exit(&r, 0);
}

static void body_stuck_stderr(void *arg)
{
	int pair[2];
	char block[4096] = { 0 };

	(void)arg;
	begin_plain();
	if (pipe2(pair, O_NONBLOCK) < 0)
		_exit(9);
	while (write(pair[1], block, sizeof(block)) > 0)
		;
	dup2(pair[1], STDERR_FILENO);
	cli_error("lost");
	_exit(7);
}

static void cli_messages_to_a_stuck_stderr_do_not_hold_up(void **state)
{
	struct result r = run_child(body_stuck_stderr, NULL);

	(void)state;
	assert_exit(&r, 7);
}

/* ---- output ---- */

#define FLOOD (1024 * 1024 + 77)

static uint8_t flood_byte(size_t i)
{
	return (uint8_t)(i * 31 + i / 251);
}

/* Writes more than any pipe holds, in pieces of odd sizes, and exits with the status. */
static void body_flood(void *arg)
{
	struct cli_out out;
	uint8_t piece[777];
	size_t done, i, n;
	char *room;

	begin_plain();
	dup2(*(int *)arg, STDOUT_FILENO);
	close(*(int *)arg);
	cli_out_stdout(&out);
	cli_stop_catch();
	for (done = 0; done < FLOOD; done += n) {
		n = FLOOD - done < sizeof(piece) ? FLOOD - done : sizeof(piece);
		for (i = 0; i < n; i++)
			piece[i] = flood_byte(done + i);
		if (done / sizeof(piece) % 2) {
			room = cli_out_reserve(&out, n);
			memcpy(room, piece, n);
			cli_out_commit(&out, n);
		} else {
			cli_out_write(&out, piece, n);
		}
	}
	_exit(cli_out_close(&out));
}

static void assert_flood_through(int flags)
{
	struct result r;
	uint8_t buf[1009];
	size_t done = 0;
	int fds[2], err;
	ssize_t n, i;
	pid_t pid;

	assert_int_equal(pipe2(fds, flags), 0);
	pid = child_start(body_flood, &fds[1], &err);
	close(fds[1]);
	usleep(50000); /* the pipe fills up */
	fcntl(fds[0], F_SETFL, 0);
	while ((n = read(fds[0], buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++)
			if (buf[i] != flood_byte(done++))
				fail_msg("wrong at %zu", done - 1);
	assert_int_equal(done, FLOOD);
	close(fds[0]);
	child_end(pid, err, &r);
	assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);
}

static void cli_out_gives_every_byte_to_a_slow_reader(void **state)
{
	(void)state;
	assert_flood_through(0);
}

static void cli_out_waits_for_a_pipe_that_does_not_block(void **state)
{
	(void)state;
	assert_flood_through(O_NONBLOCK);
}

static void cli_out_ends_quietly_when_the_reader_is_gone(void **state)
{
	struct result r;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	r = run_child(body_flood, &fds[1]);
	close(fds[1]);
	assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	close(fds[0]);
	r = run_child(body_flood, &fds[1]);
	close(fds[1]);
	assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);
}

/* A connection over the network of this machine: fds[1] to fds[0]. */
static void connect_tcp(int fds[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[1], (struct sockaddr *)&address, len), 0);
	fds[0] = accept(listener, NULL, NULL);
	assert_true(fds[0] >= 0);
	close(listener);
}

static void cli_out_ends_quietly_when_the_connection_is_reset(void **state)
{
	struct result r;
	int fds[2];

	(void)state;
	connect_tcp(fds);
	/* who closes with something unread resets it */
	assert_int_equal(write(fds[1], "x", 1), 1);
	usleep(100000);
	close(fds[0]);
	r = run_child(body_flood, &fds[1]);
	close(fds[1]);
	assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);
}

static void cli_out_names_what_cannot_be_written(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct result r;

	(void)state;
	r = run_child(body_flood, &fd);
	close(fd);
	assert_exit(&r, 1);
	assert_int_equal(r.messages, 1);
	assert_string_equal(r.message[0], "kmes-test: standard output: cannot write: "
					  "No space left on device\n");
}

/* One byte alone fails at the end, not before. */
static void body_late_error(void *arg)
{
	struct cli_out out;

	(void)arg;
	begin_plain();
	cli_out_init(&out, open("/dev/full", O_WRONLY), "some.file");
	if (cli_out_write(&out, "x", 1) != 0)
		_exit(9);
	_exit(cli_out_close(&out));
}

static void cli_out_notices_a_full_disk_at_close(void **state)
{
	struct result r = run_child(body_late_error, NULL);

	(void)state;
	assert_exit(&r, 1);
	assert_string_equal(
		r.message[0],
		"kmes-test: some.file: cannot write: No space left on device\n");
}

static void body_closed_stdout(void *arg)
{
	struct cli_out out;

	(void)arg;
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	begin_plain();
	if (open("/dev/null", O_WRONLY) < 3) /* would be taken for stdout */
		_exit(9);
	cli_out_stdout(&out);
	cli_out_write(&out, "x", 1);
	_exit(cli_out_close(&out));
}

static void cli_out_to_a_closed_stdout_is_an_error(void **state)
{
	struct result r = run_child(body_closed_stdout, NULL);

	(void)state;
	assert_exit(&r, 1);
	assert_string_equal(
		r.message[0],
		"kmes-test: standard output: cannot write: Bad file descriptor\n");
}

/* Nobody reads; two signals as timeout(1) sends them. SIGALRM is blocked from the start. */
static void assert_given_up(int flags)
{
	sigset_t mask, before;

	struct result r;
	int fds[2], err;
	pid_t pid;

	assert_int_equal(pipe2(fds, flags), 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigprocmask(SIG_BLOCK, &mask, &before);
	pid = child_start(body_flood, &fds[1], &err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	usleep(300000); /* until it hangs in its write */
	kill(pid, SIGTERM);
	kill(pid, SIGTERM);
	child_end(pid, err, &r);
	close(fds[0]);
	close(fds[1]);
	assert_exit(&r, 1);
	assert_int_equal(r.messages, 1);
	assert_string_equal(r.message[0],
			    "kmes-test: standard output: takes no data, given up\n");
}

static void cli_out_gives_up_a_stuck_stdout_after_a_stop(void **state)
{
	(void)state;
	assert_given_up(0);
	assert_given_up(O_NONBLOCK);
}

static void cli_out_sees_a_reader_go(void **state)
{
	struct cli_out out = { 0 };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	out.fd = fds[1];
	assert_false(cli_out_reader_is_gone(&out));
	close(fds[0]);
	assert_true(cli_out_reader_is_gone(&out));
	close(fds[1]);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	out.fd = fds[1];
	assert_false(cli_out_reader_is_gone(&out));
	close(fds[0]);
	assert_true(cli_out_reader_is_gone(&out));
	close(fds[1]);

	out.fd = open("/dev/null", O_WRONLY);
	assert_false(cli_out_reader_is_gone(&out));
	close(out.fd);
	out.fd = fileno(tmpfile());
	assert_false(cli_out_reader_is_gone(&out));
}

/* ---- signals ---- */

static void body_ignored(void *arg)
{
	(void)arg;
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	begin_plain();
	cli_stop_catch();
	cli_signal_catch(SIGHUP);
	raise(SIGINT);
	raise(SIGHUP);
	if (cli_stop_signal() != 0 || cli_signal_arrived(SIGHUP))
		_exit(1);
	raise(SIGTERM);
	_exit(cli_stop_signal() == SIGTERM ? 0 : 2);
}

static void cli_signals_ignored_at_the_start_stay_ignored(void **state)
{
	struct result r = run_child(body_ignored, NULL);

	(void)state;
	assert_exit(&r, 0);
}

static void body_repeated(void *arg)
{
	(void)arg;
	signal(SIGUSR1, SIG_DFL);
	begin_plain();
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

static void cli_signals_repeated_change_nothing(void **state)
{
	struct result r = run_child(body_repeated, NULL);

	(void)state;
	assert_exit(&r, 0);
}

static void body_die(void *arg)
{
	sigset_t mask;

	begin_plain();
	cli_stop_catch();
	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	cli_die_by_signal(*(int *)arg);
}

static void cli_die_by_signal_dies_by_it(void **state)
{
	static int signals[] = { SIGINT, SIGTERM, SIGHUP };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(signals); i++) {
		struct result r = run_child(body_die, &signals[i]);

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
	begin_plain();
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

static void cli_signals_of_a_child_are_those_of_the_start(void **state)
{
	struct result r = run_child(body_child_signals, NULL);

	(void)state;
	assert_exit(&r, 0);
	r = run_child(body_child_signals, "special");
	assert_exit(&r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cli_options_are_taken_in_every_spelling),
		cmocka_unit_test(cli_options_keep_popts_mark_as_typed),
		cmocka_unit_test(cli_operands_are_whole),
		cmocka_unit_test(cli_aliases_of_popt_work_and_exec_lines_do_not),
		cmocka_unit_test(cli_options_wrong_are_named_and_exit_2),
		cmocka_unit_test(cli_cpus_without_a_ring_are_named),
		cmocka_unit_test(cli_messages_are_one_safe_line_and_one_write),
		cmocka_unit_test(cli_messages_to_a_stuck_stderr_do_not_hold_up),
		cmocka_unit_test(cli_out_gives_every_byte_to_a_slow_reader),
		cmocka_unit_test(cli_out_waits_for_a_pipe_that_does_not_block),
		cmocka_unit_test(cli_out_ends_quietly_when_the_reader_is_gone),
		cmocka_unit_test(cli_out_ends_quietly_when_the_connection_is_reset),
		cmocka_unit_test(cli_out_names_what_cannot_be_written),
		cmocka_unit_test(cli_out_notices_a_full_disk_at_close),
		cmocka_unit_test(cli_out_to_a_closed_stdout_is_an_error),
		cmocka_unit_test(cli_out_gives_up_a_stuck_stdout_after_a_stop),
		cmocka_unit_test(cli_out_sees_a_reader_go),
		cmocka_unit_test(cli_signals_ignored_at_the_start_stay_ignored),
		cmocka_unit_test(cli_signals_repeated_change_nothing),
		cmocka_unit_test(cli_die_by_signal_dies_by_it),
		cmocka_unit_test(cli_signals_of_a_child_are_those_of_the_start),
	};

	unsetenv("POSIXLY_CORRECT");
	/* A shell starts what it runs in the background with these ignored. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
