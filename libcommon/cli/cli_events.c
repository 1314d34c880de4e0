// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_events.c - options that select events and how they are printed. */
#include "cli/cli_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct poptOption cli_filter_table[] = {
	{ "type", 't', POPT_ARG_STRING, NULL, 't',
	  "select events of this type, !GLOB excludes; repeatable", "GLOB" },
	{ "origin", 'o', POPT_ARG_STRING, NULL, 'o',
	  "select events of this origin: userspace, kmes, kacs, ...; repeatable",
	  "CLASS" },
	{ "match", 'm', POPT_ARG_STRING, NULL, 'm',
	  "select events by a payload field: PATH, PATH=GLOB, PATH<N, ...; repeatable",
	  "EXPR" },
	POPT_TABLEEND,
};

struct poptOption cli_style_table[] = {
	{ "pretty", 'p', POPT_ARG_NONE, NULL, 'p',
	  "print the payload as an indented block", NULL },
	{ "json", 'j', POPT_ARG_NONE, NULL, 'j', "print one JSON object per line", NULL },
	{ "hex", 'x', POPT_ARG_NONE, NULL, 'x', "print the payload in hexadecimal",
	  NULL },
	{ "time", 'T', POPT_ARG_STRING, NULL, 'T',
	  "format of the time: clock (default), local, iso, epoch, delta or none",
	  "STYLE" },
	{ "color", 'C', POPT_ARG_STRING, NULL, 'C',
	  "use colors: auto (default), always or never", "WHEN" },
	POPT_TABLEEND,
};

/* On a terminal that supports it, unless the user has disabled it. */
static bool auto_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && !strcmp(term, "dumb"));
}

void cli_events_init(struct cli_events *events)
{
	memset(events, 0, sizeof(*events));
	events->filter = kmesp_filter_new();
	if (!events->filter)
		cli_no_memory();
	events->color = auto_color();
}

void cli_events_fini(struct cli_events *events)
{
	kmesp_filter_free(events->filter);
}

static void set_color(struct cli_events *events, const char *text)
{
	if (!strcmp(text, "always"))
		events->color = true;
	else if (!strcmp(text, "never"))
		events->color = false;
	else if (!strcmp(text, "auto"))
		events->color = auto_color();
	else
		cli_usage_error("--color: neither auto, always nor never", text);
}

static void set_time(struct cli_events *events, const char *text)
{
	int style = kmesp_time_style_find(text);

	if (style < 0)
		cli_usage_error("--time: unknown style", text);
	events->time = (enum kmes_time_style)style;
}

static void set_format(struct cli_events *events, const struct kmes_format *format)
{
	if (events->format && events->format != format)
		cli_usage_error("--pretty, --json and --hex exclude each other", NULL);
	events->format = format;
}

static void check(int rc, const struct kmes_error *err)
{
	if (rc == -ENOMEM)
		cli_no_memory();
	if (rc)
		cli_usage_error(err->text, NULL);
}

bool cli_events_take(struct cli_events *events, int option, const char *text)
{
	struct kmes_error err = { "" };

	switch (option) {
	case 't':
		check(kmesp_filter_add_type(events->filter, text, &err), &err);
		return true;
	case 'o':
		check(kmesp_filter_add_origin(events->filter, text, &err), &err);
		return true;
	case 'm':
		check(kmesp_filter_add_match(events->filter, text, &err), &err);
		return true;
	case 'p':
		set_format(events, &kmesp_format_pretty);
		return true;
	case 'j':
		set_format(events, &kmesp_format_json);
		return true;
	case 'x':
		set_format(events, &kmesp_format_hex);
		return true;
	case 'T':
		set_time(events, text);
		return true;
	case 'C':
		set_color(events, text);
		return true;
	}
	return false;
}

void cli_events_set_print(const struct cli_events *events,
			  struct cli_print_options *print)
{
	print->format = events->format ? events->format : &kmesp_format_text;
	print->time = events->time;
	print->color = events->color;
}
