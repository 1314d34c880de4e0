// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* options.c - the command line of kmes-stat, checked before anything is opened. */
#include "options.h"

#include <string.h>

#include "print.h"

enum { OPTION_TEXTFILE = CLI_OPTION_OWN };

static struct poptOption options[] = {
	{ "by-type", 'y', POPT_ARG_NONE, NULL, 'y',
	  "also print the number and size of events of each type", NULL },
	{ "json", 'j', POPT_ARG_NONE, NULL, 'j', "print one JSON object per sample",
	  NULL },
	{ "prometheus", 'P', POPT_ARG_NONE, NULL, 'P',
	  "print the Prometheus text format, once", NULL },
	{ "textfile", '\0', POPT_ARG_STRING, NULL, OPTION_TEXTFILE,
	  "write the Prometheus text format to FILE once per INTERVAL", "FILE" },
	{ "watch", 'W', POPT_ARG_NONE, NULL, 'W', "display a full-screen view; q quits",
	  NULL },
	{ "read", 'r', POPT_ARG_STRING, NULL, 'r', "report the contents of a capture",
	  "FILE" },
	CLI_SOURCE_OPTIONS,
	CLI_CPU_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

static void choose_format(struct stat_opts *opts, const struct stat_format *format)
{
	if (opts->watch || (opts->format && opts->format != format))
		cli_usage_error("-W, -P and -j exclude each other", NULL);
	opts->format = format;
}

static void parse_operands(struct stat_opts *opts, struct cli *cli)
{
	const char *text = cli_operand(cli, "INTERVAL");

	if (text) {
		opts->interval_ns = cli_time(cli, text);
		if (!opts->interval_ns)
			cli_usage_error("INTERVAL must be longer than 0", text);
		text = cli_operand(cli, "COUNT");
		if (text)
			opts->count = cli_number(cli, text, 1, UINT64_MAX);
	}
	cli_no_more_operands(cli);
}

/* The file is replaced by a new one, which cannot be done to standard output. */
static bool is_file_name(const char *text)
{
	return *text && strcmp(text, "-") && text[strlen(text) - 1] != '/';
}

static void check_options(const struct stat_opts *opts, const struct cli *cli)
{
	if (opts->textfile && (opts->format || opts->watch || opts->types))
		cli_usage_error("--textfile goes with none of -W, -P, -j, -y",
				opts->textfile);
	if (opts->textfile && !is_file_name(opts->textfile))
		cli_usage_error("--textfile: not a file's name", opts->textfile);
	if (opts->textfile && !opts->interval_ns)
		cli_usage_error("--textfile needs an INTERVAL", opts->textfile);
	if (opts->format == &stat_prometheus && (opts->interval_ns || opts->types))
		cli_usage_error("-P prints once: no INTERVAL, no -y", NULL);
	if (opts->capture && (cli->source || opts->interval_ns || opts->textfile ||
			      opts->watch || opts->format == &stat_prometheus))
		cli_usage_error("--read goes with -c, -j and -y alone", opts->capture);
}

static void parse(struct stat_opts *opts, struct cli *cli)
{
	const char *text;
	int option;

	while ((option = cli_next(cli, &text)) != 0) {
		switch (option) {
		case 'y':
			opts->types = true;
			break;
		case 'j':
			choose_format(opts, &stat_json);
			break;
		case 'P':
			choose_format(opts, &stat_prometheus);
			break;
		case 'W':
			if (opts->format)
				choose_format(opts, NULL);
			opts->watch = true;
			break;
		case 'r':
			opts->capture = text;
			break;
		case OPTION_TEXTFILE:
			opts->textfile = text;
			break;
		}
	}
	parse_operands(opts, cli);
	check_options(opts, cli);
	if (!opts->format)
		opts->format = &stat_table;
}

void stat_options_parse(struct stat_opts *opts, struct cli *cli, int argc, char **argv)
{
	cli_begin(cli, "kmes-stat", argc, argv, options, 0,
		  "[OPTION...] [INTERVAL [COUNT]]");
	parse(opts, cli);
}
