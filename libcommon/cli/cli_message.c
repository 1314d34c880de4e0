// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_message.c - messages on stderr: one escaped line, one write. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/invisible.h"
#include "cli/cli.h"
#include "cli/cli_private.h"
#include "kmes_msgpack.h"

/* Writes to a pipe are atomic up to this size. */
#define LINE_MAX_BYTES PIPE_BUF

#define STDERR_WAIT_MS 1000

const char *cli_name = "kmes";

/* The escaped form of the character at `s`, whose length is stored in `*taken`. */
static int escape_one(char out[16], const uint8_t *s, size_t left, int *taken)
{
	uint32_t cp;
	int n = kmes_utf8_decode(s, left < 4 ? (uint32_t)left : 4, &cp);

	*taken = n < 0 ? 1 : n;
	if (n < 0 || cp < 0x20 || cp == 0x7f)
		return snprintf(out, 16, "\\x%02x", s[0]);
	if (kmesp_is_hidden(cp))
		return snprintf(out, 16, cp > 0xffff ? "\\U%08x" : "\\u%04x", cp);
	memcpy(out, s, (size_t)n);
	return n;
}

bool cli_escape(char *buf, size_t size, const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;
	char one[16];
	size_t used = 0;
	int taken, n;

	while (len) {
		n = escape_one(one, s, len, &taken);
		if (used + (size_t)n >= size)
			break;
		memcpy(buf + used, one, (size_t)n);
		used += (size_t)n;
		s += taken;
		len -= (size_t)taken;
	}
	buf[used] = '\0';
	return len == 0;
}

/* If stderr is full and not being read, the message is lost: the tool must not block. */
static void write_stderr(const char *line, size_t len)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t n;

	while (len) {
		n = write(STDERR_FILENO, line, len);
		if (n >= 0) {
			line += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (poll(&p, 1, STDERR_WAIT_MS) == 0)
				return;
		} else if (errno != EINTR) {
			return;
		}
	}
}

/* Stores "NAME: MESSAGE\n", escaped and truncated to one atomic write. */
static size_t line_build(char *line, size_t size, const char *format, va_list args)
{
	static const char cut[] = "...";
	size_t used = (size_t)snprintf(line, size, "%s: ", cli_name);
	size_t room = size - used - sizeof(cut);
	char *message;
	int len = vasprintf(&message, format, args);

	if (len < 0) {
		message = NULL;
		strcpy(line + used, "out of memory");
	} else if (!cli_escape(line + used, room, message, (size_t)len)) {
		strcat(line + used, cut);
	}
	free(message);
	used += strlen(line + used);
	line[used++] = '\n';
	return used;
}

static void say(const char *format, va_list args)
{
	char line[LINE_MAX_BYTES];

	write_stderr(line, line_build(line, sizeof(line), format, args));
}

void cli_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void cli_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void cli_no_memory(void)
{
	cli_error("out of memory");
	exit(CLI_FAILED);
}

static int usage_status = CLI_USAGE;

void cli_set_usage_status(int status)
{
	usage_status = status;
}

void cli_usage_error_hint(const char *hint, const char *what, const char *text)
{
	if (text)
		cli_error("%s: '%s'", what, text);
	else
		cli_error("%s", what);
	cli_error("%s", hint);
	exit(usage_status);
}

void cli_usage_error(const char *what, const char *text)
{
	char hint[64];

	snprintf(hint, sizeof(hint), "'%s --help' lists the options", cli_name);
	cli_usage_error_hint(hint, what, text);
}

void cli_value_error(const struct cli *cli, const char *what, const char *text)
{
	char full[256];

	if (!cli->value)
		cli_usage_error(what, text);
	snprintf(full, sizeof(full), "%s: %s", cli->value, what);
	cli_usage_error(full, text);
}
