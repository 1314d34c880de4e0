/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * cli_print.h - events as lines on standard output.
 *
 * A format writes straight into the 64 KiB that go out with one write. Errors of writing
 * are kept: everything after the first one is swallowed, and the end reports it.
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
	unsigned int width; /* columns, 0: as wide as lines are */
};

/* Exits 1 when something that is to be printed cannot be had. */
void cli_print_open(struct cli_printer *p, const struct cli_print_options *options);

/* Events of another boot follow, as far as boots are printed. */
void cli_print_set_boot_id(struct cli_printer *p, const uint8_t id[16]);

void cli_print_event(struct cli_printer *p, const struct kmes_event *event);
void cli_print_loss(struct cli_printer *p, const struct kmes_loss *loss);

/* `before(arg)` is called before each write that may have to wait for who reads. */
void cli_print_before_wait(struct cli_printer *p, void (*before)(void *arg), void *arg);

/* Sends what has been printed so far. */
void cli_print_flush(struct cli_printer *p);

/* Looks whether anybody still reads what is printed, and fails if not. */
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
 * Sends the rest, closes, reports errors. Returns the exit status; `*reader_is_gone`:
 * nobody reads any more, which is to be passed over in silence.
 */
int cli_print_close(struct cli_printer *p, bool *reader_is_gone);

#endif
