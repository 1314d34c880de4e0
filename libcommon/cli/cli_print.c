// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_print.c - the buffer between a format and standard output. */
#include "cli/cli_print.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a write of `len` bytes would not block. */
static bool takes_at_once(int fd, size_t len)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };

	return len <= PIPE_BUF && poll(&out, 1, 0) > 0;
}

/* Writes the output so far, and empties the buffer. */
static void send(struct cli_printer *p)
{
	if (p->before_wait && !takes_at_once(p->out.fd, p->out.buf.len))
		p->before_wait(p->before_wait_arg);
	cli_out_flush(&p->out);
}

/* The buffer is full, perhaps within an event. */
static int on_full(struct kmes_outbuf *buf)
{
	send((struct cli_printer *)buf);
	return 0;
}

static void read_boot_id(struct cli_printer *p)
{
	int rc = kmes_boot_id(p->boot_id);

	if (rc < 0) {
		cli_error("cannot read the boot id: %s", strerror(-rc));
		exit(CLI_FAILED);
	}
}

void cli_print_set_boot_id(struct cli_printer *p, const uint8_t id[16])
{
	memcpy(p->boot_id, id, sizeof(p->boot_id));
}

void cli_print_before_wait(struct cli_printer *p, void (*before)(void *arg), void *arg)
{
	p->before_wait = before;
	p->before_wait_arg = arg;
}

void cli_print_open(struct cli_printer *p, const struct cli_print_options *options)
{
	struct kmes_format_options format = {
		.time = options->time,
		.color = options->color,
		.width = options->width,
	};

	memset(p, 0, sizeof(*p));
	if (options->with_boot) {
		read_boot_id(p);
		format.boot_id = p->boot_id;
	}
	kmesp_formatter_init(&p->formatter, options->format, &format);
	p->line_buffered = options->line_buffered;
	cli_out_stdout(&p->out);
	p->out.buf.full = on_full;
}

void cli_print_event(struct cli_printer *p, const struct kmes_event *event)
{
	kmesp_formatter_event(&p->formatter, &p->out.buf, event);
	if (p->line_buffered)
		send(p);
}

void cli_print_loss(struct cli_printer *p, const struct kmes_loss *loss)
{
	kmesp_formatter_loss(&p->formatter, &p->out.buf, loss);
	if (p->line_buffered)
		send(p);
}

void cli_print_flush(struct cli_printer *p)
{
	if (p->out.buf.len)
		send(p);
}

void cli_print_check_reader(struct cli_printer *p)
{
	if (!p->out.error && cli_out_reader_is_gone(&p->out))
		p->out.error = -EPIPE;
}

int cli_print_close(struct cli_printer *p, bool *reader_is_gone)
{
	int status;

	cli_print_flush(p);
	status = cli_out_close(&p->out);
	*reader_is_gone = p->out.error == -EPIPE;
	return status;
}
