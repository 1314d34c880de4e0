/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * cli_events.h - options that select events and how they are printed.
 *
 *	-t -o -m	which events are selected (-c is in cli.h)
 *	-p -j -x -T -C	as text, a block, JSON or hex; the time; color
 */
#ifndef KMES_CLI_EVENTS_H
#define KMES_CLI_EVENTS_H
#include "cli/cli.h"
#include "cli/cli_print.h"
#include "filter/filter.h"

struct cli_events {
	struct kmes_filter *filter;
	const struct kmes_format *format; /* NULL: no option, which means text */
	enum kmes_time_style time;
	bool color;
};

extern struct poptOption cli_filter_table[];
extern struct poptOption cli_style_table[];

#define CLI_FILTER_OPTIONS CLI_TABLE(cli_filter_table, "Filters:")
#define CLI_STYLE_OPTIONS CLI_TABLE(cli_style_table, "Output:")

void cli_events_init(struct cli_events *events);
void cli_events_fini(struct cli_events *events);

/* Handles an option of these tables: true. Wrong values are reported and exit 2. */
bool cli_events_take(struct cli_events *events, int option, const char *text);

/* After the options: sets how to print. */
void cli_events_set_print(const struct cli_events *events,
			  struct cli_print_options *print);

#endif
