/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * print.h - events as lines on standard output.
 *
 * A format writes straight into the 64 KiB that go out with one write. Errors of writing
 * are kept: everything after the first one is swallowed, and the end reports it.
 */
#ifndef DUMP_PRINT_H
#define DUMP_PRINT_H

#include "cli.h"
#include "format.h"
#include "options.h"

struct dump_printer {
	struct kmes_outbuf buf; /* first: where the format writes, the memory of `out` */
	struct cli_out out;
	struct kmes_formatter formatter;
	bool line_buffered;
	uint8_t boot_id[16];
};

/* Exits 1 when something that is to be printed cannot be had. */
void dump_print_open(struct dump_printer *p, const struct dump_opts *opts);

void dump_print_event(struct dump_printer *p, const struct kmes_event *event);
void dump_print_loss(struct dump_printer *p, const struct kmes_loss *loss);

/* Sends what has been printed so far. */
void dump_print_flush(struct dump_printer *p);

/* Looks whether anybody still reads what is printed, and fails if not. */
void dump_print_check_reader(struct dump_printer *p);

static inline bool dump_print_has_failed(const struct dump_printer *p)
{
	return p->out.error != 0;
}

static inline int dump_print_fd(const struct dump_printer *p)
{
	return p->out.fd;
}

/*
 * Sends the rest, closes, reports errors. Returns the exit status; `*reader_is_gone`:
 * nobody reads any more, which is to be passed over in silence.
 */
int dump_print_close(struct dump_printer *p, bool *reader_is_gone);

#endif
