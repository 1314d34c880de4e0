/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* options.c - the command line of kmes-dump, checked before anything is opened. */
#include "options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	OPTION_WIDTH = CLI_OPTION_OWN,
	OPTION_WITH_BOOT,
};

#define FLAG(name, letter, value, help)                                                  \
	{                                                                                \
		name, letter, POPT_ARG_NONE, NULL, value, help, NULL                     \
	}
#define TEXT(name, letter, value, help, what)                                            \
	{                                                                                \
		name, letter, POPT_ARG_STRING, NULL, value, help, what                   \
	}

static struct poptOption read_table[] = {
	FLAG("snapshot", 's', 's', "print what is buffered now, then exit"),
	FLAG("follow", 'f', 'f', "go on until a signal (default)"),
	FLAG("new", 'N', 'N', "only events from now on"),
	TEXT("count", 'n', 'n', "stop after N printed events", "N"),
	TEXT("duration", 'd', 'd', "stop after TIME", "TIME"),
	TEXT("order", 'O', 'O',
	     "time: merged by timestamp (default); cpu: as each CPU's come", "ORDER"),
	POPT_TABLEEND
};

static struct poptOption time_table[] = {
	TEXT("since", 'a', 'a', "only events at or after WHEN", "WHEN"),
	TEXT("until", 'b', 'b', "only events at or before WHEN; ends after it", "WHEN"),
	POPT_TABLEEND
};

static struct poptOption print_table[] = {
	FLAG("line-buffered", 'l', 'l', "write each line at once"),
	TEXT("width", '\0', OPTION_WIDTH, "cut lines of text at N columns", "N"),
	FLAG("with-boot", '\0', OPTION_WITH_BOOT, "add the boot id to JSON"),
	FLAG("fail-on-loss", 'L', 'L', "exit 3 when any event was lost"),
	FLAG("quiet", 'q', 'q', "no summary"),
	POPT_TABLEEND
};

static struct poptOption options[] = { CLI_TABLE(read_table, "Reading:"),
				       CLI_FILTER_OPTIONS,
				       CLI_TABLE(time_table, "When:"),
				       CLI_CPU_OPTIONS,
				       CLI_STYLE_OPTIONS,
				       CLI_TABLE(print_table, "Printing:"),
				       CLI_SOURCE_OPTIONS,
				       CLI_HELP_OPTIONS,
				       POPT_TABLEEND };

/* Texts that are kept until all options are known. */
struct raw {
	const char *since, *until;
	bool follow;
};

struct word {
	const char *word;
	int value;
};

static const struct word order_words[] = {
	{ "time", KMES_ORDER_TIME },
	{ "cpu", KMES_ORDER_CPU },
	{ NULL, 0 },
};

/* The value of one of a few words; others exit with `what`. */
static int parse_word(const struct word *words, const char *text, const char *what)
{
	for (; words->word; words++)
		if (!strcmp(words->word, text))
			return words->value;
	cli_usage_error(what, text);
}

static void take_option(struct dump_opts *opts, struct raw *raw, struct cli *cli,
			int option, const char *text)
{
	switch (option) {
	case 's':
		opts->snapshot = true;
		break;
	case 'f':
		raw->follow = true;
		break;
	case 'N':
		opts->only_new = true;
		break;
	case 'n':
		opts->count = cli_number(cli, text, 1, UINT64_MAX);
		break;
	case 'd':
		opts->duration_ns = cli_time(cli, text);
		break;
	case 'O':
		opts->order = (enum kmes_reader_order)parse_word(
			order_words, text, "--order: neither time nor cpu");
		break;
	case 'a':
		raw->since = text;
		break;
	case 'b':
		raw->until = text;
		break;
	case 'l':
		opts->print.line_buffered = true;
		break;
	case OPTION_WIDTH:
		opts->print.width = (unsigned int)cli_number(cli, text, 1, UINT_MAX);
		break;
	case OPTION_WITH_BOOT:
		opts->print.with_boot = true;
		break;
	case 'L':
		opts->fail_on_loss = true;
		break;
	case 'q':
		opts->quiet = true;
		break;
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A point in time, if it was given. */
static bool parse_when(const struct dump_opts *opts, struct kmes_when *when,
		       const char *text, const char *option)
{
	char what[96];
	const char *why;

	if (!text)
		return false;
	if (kmes_when_parse(when, text, now_ns(), opts->events.time == KMES_TIME_LOCAL,
			    &why)) {
		snprintf(what, sizeof(what), "--%s: %s", option, why);
		cli_usage_error(what, text);
	}
	return true;
}

static void check_together(const struct dump_opts *opts, const struct raw *raw)
{
	if (opts->snapshot && raw->follow)
		cli_usage_error("--snapshot and --follow exclude each other", NULL);
	if (opts->snapshot && opts->only_new)
		cli_usage_error("--snapshot and --new exclude each other", NULL);
}

void dump_options_parse(struct dump_opts *opts, struct cli *cli, int argc, char **argv)
{
	struct raw raw = { 0 };
	const char *text;
	int option;

	*opts = (struct dump_opts){
		.until_ns = UINT64_MAX,
		.count = UINT64_MAX,
		.duration_ns = UINT64_MAX,
	};
	cli_begin(cli, "kmes-dump", argc, argv, options, 0, "[OPTION...]");
	cli_events_init(&opts->events);
	while ((option = cli_next(cli, &text)) != 0)
		if (!cli_events_take(&opts->events, option, text))
			take_option(opts, &raw, cli, option, text);
	cli_no_more_operands(cli);

	opts->has_since = parse_when(opts, &opts->since, raw.since, "since");
	opts->has_until = parse_when(opts, &opts->until, raw.until, "until");
	cli_events_set_print(&opts->events, &opts->print);
	check_together(opts, &raw);
	opts->print.line_buffered |= isatty(STDOUT_FILENO) == 1;
}

void dump_options_fini(struct dump_opts *opts)
{
	cli_events_fini(&opts->events);
}

void dump_options_set_times(struct dump_opts *opts)
{
	uint64_t now = now_ns();
	uint64_t since_ns = 0;

	if (opts->has_since)
		since_ns = kmes_when_before(&opts->since, now);
	if (opts->has_until)
		opts->until_ns =
			kmes_when_before(&opts->until, now) + (opts->until.unit_ns - 1);
	if (opts->has_since || opts->has_until)
		kmes_filter_set_times(opts->events.filter, since_ns, opts->until_ns);
}
