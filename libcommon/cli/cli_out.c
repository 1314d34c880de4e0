// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_out.c - buffered output: writes all bytes and reports every error. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cli_private.h"

#define POLL_MS 100
#define STOP_PATIENCE_NS KMES_NS_PER_S

/* To be called while nothing can be written: whether a stop has been delayed too long. */
static bool is_stuck(uint64_t *since_ns)
{
	uint64_t now = kmesp_clock_ns(CLOCK_MONOTONIC);

	if (!cli_stop_signal())
		return false;
	if (!*since_ns)
		*since_ns = now;
	return now - *since_ns >= STOP_PATIENCE_NS;
}

/* A pipe without a reader: POLLERR; a socket or terminal that hung up: POLLHUP. */
static bool is_abandoned(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

int cli_write_all(int fd, const void *data, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t since_ns = 0;
	const char *from = data;
	ssize_t n;

	while (len) {
		n = write(fd, from, len);
		if (n > 0) {
			from += n;
			len -= (size_t)n;
			since_ns = 0;
			continue;
		}
		/* what a socket returns, and a terminal */
		if (n < 0 && (errno == ECONNRESET || (errno == EIO && is_abandoned(fd))))
			return -EPIPE;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, POLL_MS);
		if (is_stuck(&since_ns))
			return -ETIMEDOUT;
	}
	return 0;
}

/* Errors are kept in `error`; a format continues in the empty buffer. */
static int on_full(struct kmes_outbuf *buf)
{
	cli_out_flush((struct cli_out *)buf);
	return 0;
}

void cli_out_init(struct cli_out *out, int fd, const char *name)
{
	memset(out, 0, sizeof(*out));
	out->fd = fd;
	out->name = name;
	out->buf.data = malloc(CLI_OUT_SIZE);
	out->buf.size = CLI_OUT_SIZE;
	out->buf.full = on_full;
	if (!out->buf.data)
		cli_no_memory();
}

void cli_out_stdout(struct cli_out *out)
{
	cli_out_init(out, STDOUT_FILENO, "standard output");
}

int cli_out_flush(struct cli_out *out)
{
	if (!out->error && out->buf.len)
		out->error = cli_write_all(out->fd, out->buf.data, out->buf.len);
	out->buf.len = 0;
	return out->error;
}

int cli_out_write(struct cli_out *out, const void *data, size_t len)
{
	const char *from = data;

	while (len) {
		size_t n = out->buf.size - out->buf.len;

		if (n > len)
			n = len;
		memcpy(out->buf.data + out->buf.len, from, n);
		out->buf.len += n;
		from += n;
		len -= n;
		if (out->buf.len == out->buf.size)
			cli_out_flush(out);
	}
	return out->error;
}

int cli_out_printf(struct cli_out *out, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		cli_no_memory();
	cli_out_write(out, text, (size_t)len);
	free(text);
	return out->error;
}

bool cli_out_reader_is_gone(const struct cli_out *out)
{
	return is_abandoned(out->fd);
}

int cli_out_close(struct cli_out *out)
{
	int error;

	cli_out_flush(out);
	if (close(out->fd) < 0 && errno != EINTR && !out->error)
		out->error = -errno;
	error = out->error;
	free(out->buf.data);
	out->buf.data = NULL;
	if (!error || error == -EPIPE)
		return CLI_DONE;
	if (error == -ETIMEDOUT)
		cli_error("%s: accepts no data, gave up", out->name);
	else
		cli_error("%s: cannot write: %s", out->name, strerror(-error));
	return CLI_FAILED;
}
