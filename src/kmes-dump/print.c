/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* print.c - the buffer between a format and standard output. */
#include "print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

static const struct kmes_format *const formats[] = {
	[DUMP_TEXT] = &kmes_format_text,
	[DUMP_PRETTY] = &kmes_format_pretty,
	[DUMP_HEX] = &kmes_format_hex,
	[DUMP_JSON] = &kmes_format_json,
};

/* Sends what the format has written so far; the memory is free again. */
static void send(struct dump_printer *p)
{
	p->out.used = p->buf.len;
	cli_out_flush(&p->out);
	p->buf.len = 0;
}

/* The format has no room left, perhaps in the middle of an event. */
static int on_full(struct kmes_outbuf *buf)
{
	/* Errors stay with `out`: the format shall go on writing into the buffer. */
	send((struct dump_printer *)buf);
	return 0;
}

/* The 16 bytes behind a UUID's hex digits and hyphens. */
static bool parse_uuid(uint8_t *id, const char *text, size_t len)
{
	unsigned int byte, n = 0;
	size_t i = 0;

	while (n < 16 && i + 1 < len) {
		if (text[i] == '-') {
			i++;
			continue;
		}
		if (sscanf(text + i, "%2x", &byte) != 1)
			return false;
		id[n++] = (uint8_t)byte;
		i += 2;
	}
	return n == 16;
}

static void read_boot_id(struct dump_printer *p)
{
	char text[64];
	int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	if (n < 0 || !parse_uuid(p->boot_id, text, (size_t)n)) {
		cli_error("%s: no boot id: %s", BOOT_ID_FILE,
			  strerror(n < 0 ? errno : EINVAL));
		exit(CLI_FAILED);
	}
}

void dump_print_open(struct dump_printer *p, const struct dump_opts *opts)
{
	struct kmes_format_options options = {
		.time = opts->time,
		.color = opts->color,
		.width = opts->width,
	};

	memset(p, 0, sizeof(*p));
	if (opts->with_boot) {
		read_boot_id(p);
		options.boot_id = p->boot_id;
	}
	kmes_formatter_init(&p->formatter, formats[opts->style], &options);
	p->line_buffered = opts->line_buffered;
	cli_out_stdout(&p->out);
	p->buf.data = p->out.buf;
	p->buf.size = CLI_OUT_SIZE;
	p->buf.full = on_full;
}

void dump_print_event(struct dump_printer *p, const struct kmes_event *event)
{
	kmes_formatter_event(&p->formatter, &p->buf, event);
	if (p->line_buffered)
		send(p);
}

void dump_print_loss(struct dump_printer *p, const struct kmes_loss *loss)
{
	kmes_formatter_loss(&p->formatter, &p->buf, loss);
	if (p->line_buffered)
		send(p);
}

void dump_print_flush(struct dump_printer *p)
{
	if (p->buf.len)
		send(p);
}

void dump_print_check_reader(struct dump_printer *p)
{
	if (!p->out.error && cli_out_reader_is_gone(&p->out))
		p->out.error = -EPIPE;
}

int dump_print_close(struct dump_printer *p, bool *reader_is_gone)
{
	int status;

	dump_print_flush(p);
	status = cli_out_close(&p->out);
	*reader_is_gone = p->out.error == -EPIPE;
	return status;
}
