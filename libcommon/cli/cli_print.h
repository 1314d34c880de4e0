/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * cli_print.h - events as lines on standard output.
 *
 * Formats append directly to a buffer of 64 KiB, which is output with one write. After
 * the first error all further output is discarded; cli_print_close() reports the error.
 */
#ifndef KMES_CLI_PRINT_H
#define KMES_CLI_PRINT_H
#include "cli/cli.h"
#include "print/format.h"

struct cli_printer {
	struct cli_out out; /* first */
	struct kmes_formatter formatter;
	bool line_buffered;
	uint8_t boot_id[16];
	void (*before_wait)(void *arg);
	void *before_wait_arg;
};

struct cli_print_options {
	const struct kmes_format *format;
	enum kmes_time_style time;
	bool color;
	bool with_boot; /* in JSON */
	bool line_buffered;
	unsigned int width; /* columns; 0: do not truncate */
};

/* Exits 1 if the boot ID is to be printed and cannot be read. */
void cli_print_open(struct cli_printer *p, const struct cli_print_options *options);

/* The boot ID to print with the events that follow, if `with_boot`. */
void cli_print_set_boot_id(struct cli_printer *p, const uint8_t id[16]);

void cli_print_event(struct cli_printer *p, const struct kmes_event *event);
void cli_print_loss(struct cli_printer *p, const struct kmes_loss *loss);

/* `before(arg)` is called before each write that may block. */
void cli_print_before_wait(struct cli_printer *p, void (*before)(void *arg), void *arg);

/* Writes what has been printed so far. */
void cli_print_flush(struct cli_printer *p);

/* Checks whether the reader of the output is gone, and treats that as an error. */
void cli_print_check_reader(struct cli_printer *p);

static inline bool cli_print_has_failed(const struct cli_printer *p)
{
	return p->out.error != 0;
}

static inline int cli_print_fd(const struct cli_printer *p)
{
	return p->out.fd;
}

/*
 * Writes the rest, closes, and reports errors. Returns the exit status;
 * `*reader_is_gone`: the reader has closed its end, which is not reported.
 */
int cli_print_close(struct cli_printer *p, bool *reader_is_gone);

#endif
