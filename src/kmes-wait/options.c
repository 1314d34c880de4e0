// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* options.c - the command line of kmes-wait, checked before anything is opened. */
#include "options.h"

enum {
	OPTION_SURVIVING = CLI_OPTION_OWN,
	OPTION_RESIZE,
	OPTION_LOSS,
	OPTION_IDLE,
	OPTION_TIMEOUT,
};

static struct poptOption condition_table[] = {
	{ "count", 'n', POPT_ARG_STRING, NULL, 'n', "wait for N events (default 1)",
	  "N" },
	{ "resize", '\0', POPT_ARG_NONE, NULL, OPTION_RESIZE,
	  "wait until a ring is replaced", NULL },
	{ "loss", '\0', POPT_ARG_NONE, NULL, OPTION_LOSS, "wait until events are lost",
	  NULL },
	{ "idle-for", '\0', POPT_ARG_STRING, NULL, OPTION_IDLE,
	  "wait until no event has passed the filter for TIME", "TIME" },
	{ "surviving", '\0', POPT_ARG_NONE, NULL, OPTION_SURVIVING,
	  "also consider what is in the rings now", NULL },
	{ "timeout", '\0', POPT_ARG_STRING, NULL, OPTION_TIMEOUT,
	  "exit with status 124 after TIME; 0 checks once", "TIME" },
	{ "quiet", 'q', POPT_ARG_NONE, NULL, 'q', "print nothing", NULL },
	POPT_TABLEEND,
};

static struct poptOption options[] = {
	CLI_TABLE(condition_table, "Conditions:"),
	CLI_FILTER_OPTIONS,
	CLI_CPU_OPTIONS,
	CLI_STYLE_OPTIONS,
	CLI_SOURCE_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

static void take_option(struct wait_opts *opts, struct cli *cli, int option,
			const char *text)
{
	switch (option) {
	case 'n':
		opts->count = cli_number(cli, text, 1, UINT64_MAX);
		opts->on_events = true;
		break;
	case OPTION_RESIZE:
		opts->on_resize = true;
		break;
	case OPTION_LOSS:
		opts->on_loss = true;
		break;
	case OPTION_IDLE:
		opts->idle_ns = cli_time(cli, text);
		opts->on_idle = true;
		break;
	case OPTION_SURVIVING:
		opts->surviving = true;
		break;
	case OPTION_TIMEOUT:
		opts->timeout_ns = cli_time(cli, text);
		break;
	case 'q':
		opts->quiet = true;
		break;
	}
}

/* Events are a condition if they are selected or counted, or if nothing else is one. */
static void choose_conditions(struct wait_opts *opts, const struct cli *cli)
{
	bool others = opts->on_resize || opts->on_loss || opts->on_idle;

	if (!others || kmesp_filter_is_set(opts->events.filter) || cli->cpus.count)
		opts->on_events = true;
}

void wait_options_parse(struct wait_opts *opts, struct cli *cli, int argc, char **argv)
{
	const char *text;
	int option;

	*opts = (struct wait_opts){ .count = 1, .timeout_ns = UINT64_MAX };
	cli_begin(cli, "kmes-wait", argc, argv, options, CLI_STOP_AT_OPERAND,
		  "[OPTION...] [COMMAND [ARG...]]");
	cli_events_init(&opts->events);
	while ((option = cli_next(cli, &text)) != 0)
		if (!cli_events_take(&opts->events, option, text))
			take_option(opts, cli, option, text);
	choose_conditions(opts, cli);
	cli_events_set_print(&opts->events, &opts->print);
	opts->command = cli_operands(cli);
	if (opts->command && !opts->command[0])
		opts->command = NULL;
}

void wait_options_fini(struct wait_opts *opts)
{
	cli_events_fini(&opts->events);
}
