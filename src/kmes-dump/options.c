// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* options.c - the command line of kmes-dump, checked before anything is opened. */
#include "options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/capture.h"

enum {
	OPTION_WIDTH = CLI_OPTION_OWN,
	OPTION_WITH_BOOT,
	OPTION_PRINT,
	OPTION_GZIP_LEVEL,
	OPTION_ROTATE_SIZE,
	OPTION_ROTATE_TIME,
	OPTION_KEEP,
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
	FLAG("snapshot", 's', 's', "print what is in the rings now, then exit"),
	FLAG("follow", 'f', 'f', "wait for further events (default for rings)"),
	TEXT("read", 'r', 'r', "read a capture; repeatable", "FILE"),
	FLAG("new", 'N', 'N', "skip what is in the rings now"),
	TEXT("count", 'n', 'n', "exit after printing N events", "N"),
	TEXT("duration", 'd', 'd', "exit after TIME", "TIME"),
	TEXT("order", 'O', 'O',
	     "time: merge by time stamp (default for rings); cpu: one CPU after another",
	     "ORDER"),
	POPT_TABLEEND,
};

static struct poptOption time_table[] = {
	TEXT("since", 'a', 'a', "select events at or after WHEN", "WHEN"),
	TEXT("until", 'b', 'b', "select events at or before WHEN, then exit", "WHEN"),
	POPT_TABLEEND,
};

static struct poptOption write_table[] = {
	TEXT("write", 'w', 'w', "write a capture instead of printing; - is stdout",
	     "FILE"),
	FLAG("print", '\0', OPTION_PRINT, "with -w: also print"),
	FLAG("gzip", 'z', 'z', "compress the capture (default for names in .gz)"),
	TEXT("gzip-level", '\0', OPTION_GZIP_LEVEL,
	     "compression level, 1 to 9 (default 1)", "N"),
	TEXT("rotate-size", '\0', OPTION_ROTATE_SIZE, "start a new file after SIZE bytes",
	     "SIZE"),
	TEXT("rotate-time", '\0', OPTION_ROTATE_TIME, "start a new file after TIME",
	     "TIME"),
	TEXT("keep", '\0', OPTION_KEEP, "keep the newest N files, remove older ones",
	     "N"),
	POPT_TABLEEND,
};

static struct poptOption print_table[] = {
	FLAG("line-buffered", 'l', 'l', "write each line immediately"),
	TEXT("width", '\0', OPTION_WIDTH, "truncate lines of text to N columns", "N"),
	FLAG("with-boot", '\0', OPTION_WITH_BOOT, "add the boot ID to JSON"),
	FLAG("fail-on-loss", 'L', 'L', "exit with status 3 if any events were lost"),
	FLAG("quiet", 'q', 'q', "do not print the summary"),
	POPT_TABLEEND,
};

static struct poptOption options[] = {
	CLI_TABLE(read_table, "Reading:"),
	CLI_FILTER_OPTIONS,
	CLI_TABLE(time_table, "When:"),
	CLI_CPU_OPTIONS,
	CLI_STYLE_OPTIONS,
	CLI_TABLE(print_table, "Printing:"),
	CLI_TABLE(write_table, "Recording:"),
	CLI_SOURCE_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

/* Values that are parsed once all options are known. */
struct raw {
	const char *since, *until;
	bool follow;
	bool gzip;
	bool print;
	int gzip_level;
	char **captures;
	size_t capture_count;
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

/* The value of a keyword; an unknown one is a usage error. */
static int parse_word(const struct word *words, const char *text, const char *what)
{
	for (; words->word; words++)
		if (!strcmp(words->word, text))
			return words->value;
	cli_usage_error(what, text);
}

static void add_capture(struct raw *raw, const char *file)
{
	size_t size = (raw->capture_count + 2) * sizeof(*raw->captures);
	char **captures = realloc(raw->captures, size);

	if (!captures)
		cli_no_memory();
	captures[raw->capture_count++] = (char *)file;
	captures[raw->capture_count] = NULL;
	raw->captures = captures;
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
		opts->has_order = true;
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
	case 'r':
		add_capture(raw, text);
		break;
	case 'w':
		opts->record.file = text;
		break;
	case 'z':
		raw->gzip = true;
		break;
	case OPTION_PRINT:
		raw->print = true;
		break;
	case OPTION_GZIP_LEVEL:
		raw->gzip_level = (int)cli_number(cli, text, 1, 9);
		break;
	case OPTION_ROTATE_SIZE:
		opts->record.rotate_size = cli_size(cli, text);
		if (!opts->record.rotate_size)
			cli_usage_error("--rotate-size must be more than 0", text);
		break;
	case OPTION_ROTATE_TIME:
		opts->record.rotate_ns = cli_time(cli, text);
		if (!opts->record.rotate_ns)
			cli_usage_error("--rotate-time must be more than 0", text);
		break;
	case OPTION_KEEP:
		opts->record.keep = cli_number(cli, text, 1, UINT64_MAX);
		break;
	case 'L':
		opts->fail_on_loss = true;
		break;
	case 'q':
		opts->quiet = true;
		break;
	}
}

/* Parses a point in time if it was given. */
static bool parse_when(const struct dump_opts *opts, struct kmes_when *when,
		       const char *text, const char *option)
{
	char what[96];
	const char *why;

	if (!text)
		return false;
	if (kmesp_when_parse(when, text, kmesp_clock_ns(CLOCK_REALTIME),
			     opts->events.time == KMES_TIME_LOCAL, &why)) {
		snprintf(what, sizeof(what), "--%s: %s", option, why);
		cli_usage_error(what, text);
	}
	return true;
}

/* Checks absolute times only; the date of a time of day is still unknown. */
static bool is_empty_span(const struct dump_opts *opts)
{
	return opts->has_since && opts->since.kind == KMES_WHEN_ABSOLUTE &&
	       opts->has_until && opts->until.kind == KMES_WHEN_ABSOLUTE &&
	       opts->since.ns > opts->until.ns + (opts->until.unit_ns - 1);
}

static void check_together(const struct dump_opts *opts, const struct raw *raw)
{
	if (is_empty_span(opts))
		cli_usage_error("--until: before --since", raw->until);
	if (opts->snapshot && raw->follow)
		cli_usage_error("--snapshot and --follow exclude each other", NULL);
	if (opts->snapshot && opts->only_new)
		cli_usage_error("--snapshot and --new exclude each other", NULL);
}

static void check_captures(struct dump_opts *opts, const struct raw *raw,
			   const struct cli *cli)
{
	opts->captures = raw->captures;
	opts->follow_capture = raw->follow;
	if (!opts->captures)
		return;
	if (cli->source)
		cli_usage_error("--source and captures exclude each other",
				opts->captures[0]);
	if (opts->only_new)
		cli_usage_error("--new is for rings, not for captures",
				opts->captures[0]);
	if (raw->follow && raw->capture_count > 1)
		cli_usage_error("--follow goes with one capture", opts->captures[1]);
}

static void check_record(struct dump_opts *opts, const struct raw *raw)
{
	struct dump_record_opts *rec = &opts->record;
	size_t len = rec->file ? strlen(rec->file) : 0;
	bool rotates = rec->rotate_size || rec->rotate_ns;

	opts->prints = !rec->file || raw->print;
	if (!rec->file &&
	    (raw->print || raw->gzip || raw->gzip_level || rotates || rec->keep))
		cli_usage_error(
			"--print, --gzip, --gzip-level, --rotate-size, --rotate-time "
			"and --keep need --write",
			NULL);
	if (!rec->file)
		return;
	if (!len)
		cli_usage_error("--write: no file", rec->file);
	if (!opts->prints && opts->events.format)
		cli_usage_error(
			"--pretty, --json and --hex go with --write only by --print",
			NULL);
	if (!strcmp(rec->file, "-") && (rotates || raw->print))
		cli_usage_error("standard output takes one capture and nothing else",
				NULL);
	if (!strcmp(rec->file, "-") && isatty(STDOUT_FILENO))
		cli_usage_error("--write: not to a terminal", rec->file);
	if (rec->keep && !rotates)
		cli_usage_error("--keep needs --rotate-size or --rotate-time", NULL);
	if (rotates && rec->file[len - 1] == '/')
		cli_usage_error("--write: not a file's name", rec->file);
	if (raw->gzip || raw->gzip_level ||
	    (len > 3 && !strcmp(rec->file + len - 3, ".gz")))
		rec->gzip_level = raw->gzip_level ? raw->gzip_level : 1;
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
	cli_begin(cli, "kmes-dump", argc, argv, options, 0, "[OPTION...] [CAPTURE...]");
	cli_events_init(&opts->events);
	while ((option = cli_next(cli, &text)) != 0)
		if (!cli_events_take(&opts->events, option, text))
			take_option(opts, &raw, cli, option, text);
	while ((text = cli_operand(cli, "CAPTURE")))
		add_capture(&raw, text);

	opts->has_since = parse_when(opts, &opts->since, raw.since, "since");
	opts->has_until = parse_when(opts, &opts->until, raw.until, "until");
	cli_events_set_print(&opts->events, &opts->print);
	check_together(opts, &raw);
	check_captures(opts, &raw, cli);
	check_record(opts, &raw);
	opts->print.line_buffered |= isatty(STDOUT_FILENO) == 1;
}

void dump_options_fini(struct dump_opts *opts)
{
	cli_events_fini(&opts->events);
	free(opts->captures);
}

uint32_t dump_options_order_flag(const struct dump_opts *opts)
{
	if (!opts->has_order)
		return 0;
	return opts->order == KMES_ORDER_CPU ? KMES_CAPTURE_BY_CPU : KMES_CAPTURE_BY_TIME;
}

/* Resolves a time of day: after the first event of a capture, or before now. */
static uint64_t point_of(const struct dump_opts *opts, const struct kmes_when *when,
			 uint64_t now, uint64_t first_ns)
{
	return opts->captures ? kmesp_when_after(when, first_ns)
			      : kmesp_when_before(when, now);
}

void dump_options_set_times(struct dump_opts *opts, uint64_t first_ns)
{
	uint64_t now = kmesp_clock_ns(CLOCK_REALTIME);
	uint64_t since_ns = 0;

	if (opts->has_since)
		since_ns = point_of(opts, &opts->since, now, first_ns);
	if (opts->has_until)
		opts->until_ns = point_of(opts, &opts->until, now, first_ns) +
				 (opts->until.unit_ns - 1);
	if (opts->has_since || opts->has_until)
		kmesp_filter_set_times(opts->events.filter, since_ns, opts->until_ns);
}
