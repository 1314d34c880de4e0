// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A tool's output: slow readers, closed pipes, full disks, signals to stop. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "cli/cli.h"
#include "unit.h"

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

	child_begin_tool();
	dup2(*(int *)arg, STDOUT_FILENO);
	close(*(int *)arg);
	cli_out_stdout(&out);
	cli_stop_catch();
	for (done = 0; done < FLOOD; done += n) {
		n = FLOOD - done < sizeof(piece) ? FLOOD - done : sizeof(piece);
		for (i = 0; i < n; i++)
			piece[i] = flood_byte(done + i);
		cli_out_write(&out, piece, n);
	}
	_exit(cli_out_close(&out));
}

static void assert_flood_through(int flags)
{
	struct child_result r;
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
	child_assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);
}

TEST(cli_out_writes_every_byte_to_a_slow_reader)
{
	assert_flood_through(0);
}

TEST(cli_out_waits_for_a_nonblocking_pipe)
{
	assert_flood_through(O_NONBLOCK);
}

TEST(cli_out_ends_quietly_when_the_reader_is_gone)
{
	struct child_result r;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	r = child_run(body_flood, &fds[1]);
	close(fds[1]);
	child_assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	close(fds[0]);
	r = child_run(body_flood, &fds[1]);
	close(fds[1]);
	child_assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);
}

/* A TCP connection over loopback: fds[1] to fds[0]. */
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

TEST(cli_out_ends_quietly_when_the_connection_is_reset)
{
	struct child_result r;
	int fds[2];

	connect_tcp(fds);
	/* closing with unread data resets it */
	assert_int_equal(write(fds[1], "x", 1), 1);
	usleep(100000);
	close(fds[0]);
	r = child_run(body_flood, &fds[1]);
	close(fds[1]);
	child_assert_exit(&r, 0);
	assert_int_equal(r.messages, 0);
}

TEST(cli_out_reports_what_cannot_be_written)
{
	int fd = open("/dev/full", O_WRONLY);
	struct child_result r;

	r = child_run(body_flood, &fd);
	close(fd);
	child_assert_exit(&r, 1);
	assert_int_equal(r.messages, 1);
	assert_string_equal(r.message[0], "kmes-test: standard output: cannot write: "
					  "No space left on device\n");
}

/* A single byte fails at close only. */
static void body_late_error(void *arg)
{
	struct cli_out out;

	(void)arg;
	child_begin_tool();
	cli_out_init(&out, open("/dev/full", O_WRONLY), "some.file");
	if (cli_out_write(&out, "x", 1) != 0)
		_exit(9);
	_exit(cli_out_close(&out));
}

TEST(cli_out_notices_a_full_disk_at_close)
{
	struct child_result r = child_run(body_late_error, NULL);

	child_assert_exit(&r, 1);
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
	child_begin_tool();
	if (open("/dev/null", O_WRONLY) < 3) /* would become stdout */
		_exit(9);
	cli_out_stdout(&out);
	cli_out_write(&out, "x", 1);
	_exit(cli_out_close(&out));
}

TEST(cli_out_to_a_closed_stdout_is_an_error)
{
	struct child_result r = child_run(body_closed_stdout, NULL);

	child_assert_exit(&r, 1);
	assert_string_equal(
		r.message[0],
		"kmes-test: standard output: cannot write: Bad file descriptor\n");
}

/* Until the writer of a pipe has written something and then no more. */
static void wait_until_blocked(int fd)
{
	int before, bytes = 0;

	do {
		before = bytes;
		usleep(300000);
		assert_int_equal(ioctl(fd, FIONREAD, &bytes), 0);
	} while (!bytes || bytes != before);
}

/* No reader; two signals as timeout(1) sends them. SIGALRM is blocked from the start. */
static void assert_given_up(int flags)
{
	sigset_t mask, before;

	struct child_result r;
	int fds[2], err;
	pid_t pid;

	assert_int_equal(pipe2(fds, flags), 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGALRM);
	sigprocmask(SIG_BLOCK, &mask, &before);
	pid = child_start(body_flood, &fds[1], &err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	wait_until_blocked(fds[0]);
	kill(pid, SIGTERM);
	kill(pid, SIGTERM);
	child_end(pid, err, &r);
	close(fds[0]);
	close(fds[1]);
	child_assert_exit(&r, 1);
	assert_int_equal(r.messages, 1);
	assert_string_equal(r.message[0],
			    "kmes-test: standard output: accepts no data, gave up\n");
}

TEST(cli_out_gives_up_a_blocked_stdout_after_a_stop)
{
	assert_given_up(0);
	assert_given_up(O_NONBLOCK);
}

TEST(cli_out_detects_a_closed_reader)
{
	struct cli_out out = { 0 };
	int fds[2];

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

/* Prints a line of a length around the sizes of buffers, and one after it. */
static void body_long_line(void *arg)
{
	static char text[8192];
	struct cli_out out;
	size_t len = *(size_t *)arg;

	child_begin_tool();
	memset(text, 'x', len);
	cli_out_init(&out, STDERR_FILENO, "the test");
	cli_out_printf(&out, "%s\n", text);
	cli_out_printf(&out, "%d\n", 7);
	_exit(cli_out_close(&out));
}

TEST(cli_out_prints_lines_of_any_length)
{
	static const size_t lengths[] = { 0, 510, 511, 512, 4095, 4096, 8000 };
	struct child_result r;
	size_t i, len;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		len = lengths[i];
		r = child_run(body_long_line, &len);
		child_assert_exit(&r, 0);
		assert_int_equal(r.messages, 1);
		assert_int_equal(strspn(r.message[0], "x"), len);
		assert_string_equal(r.message[0] + len, "\n7\n");
	}
}
