// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli.c - options by popt: the shared tables, help, version, wrong usage. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "kmes_version.h"
#include "source.h"

enum {
	OPTION_HELP = CLI_OPTION_SHARED,
	OPTION_USAGE,
	OPTION_VERSION,
	OPTION_SOURCE,
	OPTION_CPU,
};

struct poptOption cli_help_table[] = {
	{ "help", 'h', POPT_ARG_NONE, NULL, OPTION_HELP, "display this help and exit",
	  NULL },
	{ "usage", '\0', POPT_ARG_NONE, NULL, OPTION_USAGE,
	  "display the options only and exit", NULL },
	{ "version", 'V', POPT_ARG_NONE, NULL, OPTION_VERSION,
	  "display the version and exit", NULL },
	POPT_TABLEEND,
};

struct poptOption cli_source_table[] = {
	{ "source", 'S', POPT_ARG_STRING, NULL, OPTION_SOURCE,
	  "use the rings of SOURCE: " KMESP_SOURCE_NAMES, "SOURCE" },
	POPT_TABLEEND,
};

struct poptOption cli_cpu_table[] = {
	{ "cpu", 'c', POPT_ARG_STRING, NULL, OPTION_CPU,
	  "read these CPUs only, for example 0,2-5; repeatable", "CPUS" },
	POPT_TABLEEND,
};

int cli_status_max(int a, int b)
{
	static const int order[] = { CLI_USAGE, CLI_FAILED, CLI_LOSS };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a ? a : b;
}

/* The next open() would use a closed standard descriptor, and messages go there. */
static void fill_standard_descriptors(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDWR };
	int fd;

	/* the wrong direction for 0 and 1: using them remains an error */
	for (fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", modes[fd]);
}

/*
 * Popt substitutes the next argument for "!#:+", even if the user has typed that. An
 * additional byte in it, which is removed again below, prevents this.
 */
#define POPT_MARK "!#:"
#define POPT_MARK_STOP '\1'

static char *mark_hide(const char *text)
{
	char *copy = malloc(2 * strlen(text) + 1);
	char *to = copy;
	const char *mark;

	if (!copy)
		return NULL;
	while ((mark = strstr(text, POPT_MARK))) {
		mark += strlen(POPT_MARK);
		to = mempcpy(to, text, mark - text);
		*to++ = POPT_MARK_STOP;
		text = mark;
	}
	strcpy(to, text);
	return copy;
}

static void mark_show(char *text)
{
	while ((text = strstr(text, POPT_MARK))) {
		text += strlen(POPT_MARK);
		if (*text == POPT_MARK_STOP)
			memmove(text, text + 1, strlen(text));
	}
}

static void *or_no_memory(void *p)
{
	if (!p)
		cli_no_memory();
	return p;
}

/* Keeps a string until cli_end. */
static char *text_keep(struct cli *cli, char *text)
{
	size_t size = (cli->text_count + 1) * sizeof(cli->texts[0]);

	or_no_memory(text);
	cli->texts = or_no_memory(realloc(cli->texts, size));
	cli->texts[cli->text_count++] = text;
	mark_show(text);
	return text;
}

void cli_begin(struct cli *cli, const char *name, int argc, char **argv,
	       const struct poptOption *options, unsigned int flags, const char *usage)
{
	unsigned int popt_flags = POPT_CONTEXT_NO_EXEC;
	int i;

	memset(cli, 0, sizeof(*cli));
	cli->name = name;
	cli->options = options;
	cli_name = name;
	fill_standard_descriptors();
	cli_signals_begin();

	cli->argv = or_no_memory(calloc((size_t)argc + 1, sizeof(char *)));
	for (i = 0; i < argc; i++)
		cli->argv[i] = or_no_memory(i ? mark_hide(argv[i]) : strdup(name));
	if (flags & CLI_STOP_AT_OPERAND)
		popt_flags |= POPT_CONTEXT_POSIXMEHARDER;
	cli->context = or_no_memory(poptGetContext(name, argc, (const char **)cli->argv,
						   options, popt_flags));
	poptSetOtherOptionHelp(cli->context, usage);
	poptReadDefaultConfig(cli->context, 1);
}

void cli_end(struct cli *cli)
{
	size_t i;

	poptFreeContext(cli->context);
	for (i = 0; i < cli->text_count; i++)
		free(cli->texts[i]);
	free(cli->texts);
	for (i = 0; cli->argv && cli->argv[i]; i++)
		free(cli->argv[i]);
	free(cli->argv);
	cli_cpus_fini(&cli->cpus);
}

static _Noreturn void print_and_exit(const char *text, size_t len)
{
	struct cli_out out;

	cli_out_stdout(&out);
	cli_out_write(&out, text, len);
	exit(cli_out_close(&out));
}

static _Noreturn void help_and_exit(struct cli *cli,
				    void (*print)(poptContext, FILE *, int))
{
	char *text = NULL;
	size_t len = 0;
	FILE *file = or_no_memory(open_memstream(&text, &len));

	print(cli->context, file, 0);
	fclose(file);
	print_and_exit(text, len);
}

static _Noreturn void version_and_exit(const struct cli *cli)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s %s\n", cli->name, KMES_VERSION);

	print_and_exit(line, (size_t)len);
}

static _Noreturn void bad_option(struct cli *cli, int code)
{
	char *text = strdup(poptBadOption(cli->context, POPT_BADOPTION_NOALIAS));

	or_no_memory(text);
	mark_show(text);
	switch (code) {
	case POPT_ERROR_BADOPT:
		cli_usage_error("unknown option", text);
	case POPT_ERROR_NOARG:
		cli_usage_error("option needs a value", text);
	case POPT_ERROR_UNWANTEDARG:
		cli_usage_error("option takes no value", text);
	default:
		cli_usage_error(poptStrerror(code), text);
	}
}

/* The name of an option in messages: "--count". */
static const char *option_name(const struct poptOption *table, int value)
{
	const struct poptOption *o;
	const char *name;

	for (o = table; o->longName || o->shortName || o->arg; o++) {
		if (o->argInfo == POPT_ARG_INCLUDE_TABLE) {
			name = option_name(o->arg, value);
			if (name)
				return name;
		} else if (o->val == value) {
			return o->longName;
		}
	}
	return NULL;
}

static void option_note(struct cli *cli, int option)
{
	const char *name = option_name(cli->options, option);
	char *text = NULL;

	if (!name || asprintf(&text, "--%s", name) < 0)
		return;
	cli->value = text_keep(cli, text);
}

static void add_cpus(struct cli *cli, const char *text)
{
	switch (cli_parse_cpus(&cli->cpus, text)) {
	case 0:
		return;
	case -ENOMEM:
		cli_no_memory();
	case -ERANGE:
		cli_value_error(cli, "a CPU is at most 65535", text);
	default:
		cli_value_error(cli, "not a list of CPUs such as 0,2-5", text);
	}
}

/* Handles a shared option. */
static void take_shared(struct cli *cli, int option, const char *text)
{
	switch (option) {
	case OPTION_HELP:
		help_and_exit(cli, poptPrintHelp);
	case OPTION_USAGE:
		help_and_exit(cli, poptPrintUsage);
	case OPTION_VERSION:
		version_and_exit(cli);
	case OPTION_SOURCE:
		cli->source = text;
		break;
	case OPTION_CPU:
		add_cpus(cli, text);
		break;
	}
}

int cli_next(struct cli *cli, const char **text)
{
	char *taken;
	int option;

	for (;;) {
		option = poptGetNextOpt(cli->context);
		*text = NULL;
		if (option == -1)
			return 0;
		if (option < 0)
			bad_option(cli, option);
		taken = poptGetOptArg(cli->context);
		if (taken)
			*text = text_keep(cli, taken);
		option_note(cli, option);
		if (option < CLI_OPTION_SHARED || option >= CLI_OPTION_OWN)
			return option;
		take_shared(cli, option, *text);
	}
}

const char *cli_operand(struct cli *cli, const char *value)
{
	const char *text = poptGetArg(cli->context);

	cli->value = value;
	return text ? text_keep(cli, strdup(text)) : NULL;
}

char **cli_operands(struct cli *cli)
{
	static char *none[] = { NULL };
	const char **left = poptGetArgs(cli->context);
	char **all = (char **)left;

	if (!left)
		return none;
	for (; *left; left++)
		mark_show((char *)*left);
	return all;
}

void cli_no_more_operands(struct cli *cli)
{
	const char *text = cli_operand(cli, NULL);

	if (text)
		cli_usage_error("unexpected operand", text);
}
