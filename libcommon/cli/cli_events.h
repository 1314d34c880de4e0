/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * cli_events.h - the options by which tools choose events and how they look.
 *
 *	-t -o -m	which events pass (-c is in cli.h)
 *	-p -j -x -T -C	as text, a block, JSON or hex; the time; colour
 */
#ifndef KMES_CLI_EVENTS_H
#define KMES_CLI_EVENTS_H
#include "cli/cli.h"
#include "cli/cli_print.h"
#include "filter/filter.h"

struct cli_events {
	struct kmes_filter *filter;
	const struct kmes_format *format; /* NULL: none was asked for, which is text */
	enum kmes_time_style time;
	bool color;
};

extern struct poptOption cli_filter_table[];
extern struct poptOption cli_style_table[];

#define CLI_FILTER_OPTIONS CLI_TABLE(cli_filter_table, "Filters:")
#define CLI_STYLE_OPTIONS CLI_TABLE(cli_style_table, "Output:")

void cli_events_init(struct cli_events *events);
void cli_events_fini(struct cli_events *events);

/* Deals with an option of these tables: true. What is wrong is reported and exits 2. */
bool cli_events_take(struct cli_events *events, int option, const char *text);

/* After the options: how to print. */
void cli_events_set_print(const struct cli_events *events,
			  struct cli_print_options *print);

#endif
