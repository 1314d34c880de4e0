// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* options.c - the command line of kmes-sim. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define SLOTS_MAX 1024
#define LOAD_MAX 100000000

enum {
	OPT_SOCKET = CLI_OPTION_OWN,
	OPT_SLOTS,
	OPT_HOLES,
	OPT_CAPACITY,
	OPT_DEMO,
	OPT_LOAD,
	OPT_RATE,
	OPT_EVENT_SIZE,
	OPT_DEPTH,
	OPT_DENY,
	OPT_EXEMPT,
	OPT_DAEMON,
	OPT_TESTING,
	OPT_TEST,
};

#define HIDDEN (POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN)

static const struct poptOption table[] = {
	{ "socket", 0, POPT_ARG_STRING, NULL, OPT_SOCKET, "listen on PATH", "PATH" },
	{ "slots", 0, POPT_ARG_STRING, NULL, OPT_SLOTS,
	  "provide N slots (default: one per CPU of this machine)", "N" },
	{ "holes", 0, POPT_ARG_STRING, NULL, OPT_HOLES, "provide no ring in these slots",
	  "CPUS" },
	{ "capacity", 0, POPT_ARG_STRING, NULL, OPT_CAPACITY,
	  "capacity of each ring, a power of two from 64K to 256M (default 4M)", "SIZE" },
	{ "demo", 0, POPT_ARG_NONE, NULL, OPT_DEMO, "emit a mix of audit-like events",
	  NULL },
	{ "load", 0, POPT_ARG_STRING, NULL, OPT_LOAD,
	  "emit RATE events per second, to all slots in turn", "RATE" },
	{ "max-emit-rate", 0, POPT_ARG_STRING, NULL, OPT_RATE,
	  "limit a client process to N events per second (default 10000)", "N" },
	{ "max-event-size", 0, POPT_ARG_STRING, NULL, OPT_EVENT_SIZE,
	  "limit the size of a client's events, 1K to 4M (default 64K)", "SIZE" },
	{ "max-nesting-depth", 0, POPT_ARG_STRING, NULL, OPT_DEPTH,
	  "limit the nesting of a client's payloads, 4 to 256 (default 32)", "N" },
	{ "deny", 0, POPT_ARG_STRING, NULL, OPT_DENY,
	  "deny clients the privilege to attach, to emit, or both", "attach,emit" },
	{ "exempt", 0, POPT_ARG_NONE, NULL, OPT_EXEMPT,
	  "do not limit the rate of clients", NULL },
	{ "daemon", 0, POPT_ARG_NONE, NULL, OPT_DAEMON,
	  "return when ready, continue in the background", NULL },
	{ "testing", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, NULL, OPT_TESTING,
	  "obey --test", NULL },
	{ "test", 0, HIDDEN, NULL, OPT_TEST, "trigger ACTION in a running simulator",
	  "ACTION" },
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

/* A size within bounds, or a usage error with the rule. */
static uint64_t size_within(struct cli *cli, const char *text, uint64_t min, uint64_t max,
			    bool power_of_two, const char *rule)
{
	uint64_t size = cli_size(cli, text);
	char what[128];

	if (size >= min && size <= max && !(power_of_two && (size & (size - 1))))
		return size;
	snprintf(what, sizeof(what), "%s: not %s", cli->value, rule);
	cli_usage_error(what, text);
}

static void take_socket(struct sim_options *options, const char *text)
{
	int rc = kmesp_sim_address(&options->address, text);

	if (rc < 0)
		cli_usage_error(rc == -EINVAL ? "--socket: empty" : "--socket: too long",
				text);
}

/* The default address. */
static void default_socket(struct sim_options *options)
{
	if (kmesp_sim_address(&options->address, NULL) == 0)
		return;
	cli_error("XDG_RUNTIME_DIR is too long for a socket address");
	exit(CLI_FAILED);
}

static uint32_t load_within(struct cli *cli, const char *text)
{
	uint64_t rate = cli_rate(cli, text);

	if (rate > LOAD_MAX)
		cli_usage_error("--load: more than 100000000 per second", text);
	return (uint32_t)rate;
}

static void take_deny(struct sim_options *options, const char *text)
{
	const char *word = text;

	options->deny_attach = options->deny_emit = false;
	for (;;) {
		size_t len = strcspn(word, ",");

		if (len == strlen("attach") && !strncmp(word, "attach", len))
			options->deny_attach = true;
		else if (len == strlen("emit") && !strncmp(word, "emit", len))
			options->deny_emit = true;
		else
			cli_usage_error("--deny: not attach, emit or attach,emit", text);
		if (!word[len])
			return;
		word += len + 1;
	}
}

static void take_holes(struct cli_cpus *holes, const char *text)
{
	int rc;

	cli_cpus_fini(holes);
	rc = cli_parse_cpus(holes, text);
	if (rc == -ENOMEM)
		cli_no_memory();
	if (rc < 0)
		cli_usage_error("--holes: not a list of CPUs such as 0,2-5", text);
}

/* Holes must be slots. A simulator without a ring is valid, but not with a load. */
static void check_holes(struct sim_options *options, const struct cli_cpus *holes)
{
	uint32_t cpu, present = 0;
	char text[32];
	size_t i;

	for (i = 0; i < holes->count; i++) {
		if (holes->ranges[i].last < options->slots)
			continue;
		snprintf(text, sizeof(text), "%u", holes->ranges[i].last);
		cli_usage_error("--holes: no such slot", text);
	}
	options->holes = holes->set;
	for (cpu = 0; cpu < options->slots; cpu++)
		present += !kmes_cpus_has(&options->holes, cpu);
	if (!present && (options->load || options->demo))
		cli_usage_error("--load and --demo need a slot with a ring", NULL);
}

static void take_option(struct sim_options *o, struct cli *cli, int option,
			const char *text)
{
	switch (option) {
	case OPT_SOCKET:
		take_socket(o, text);
		break;
	case OPT_SLOTS:
		o->slots = cli_number(cli, text, 1, SLOTS_MAX);
		break;
	case OPT_CAPACITY:
		o->capacity = size_within(cli, text, KMES_CAPACITY_MIN, KMES_CAPACITY_MAX,
					  true, "a power of two from 64K to 256M");
		break;
	case OPT_DEMO:
		o->demo = true;
		break;
	case OPT_LOAD:
		o->load = load_within(cli, text);
		break;
	case OPT_RATE:
		o->max_emit_rate = cli_number(cli, text, KMES_RATE_MIN, KMES_RATE_MAX);
		break;
	case OPT_EVENT_SIZE:
		o->limits.max_event_size = size_within(cli, text, KMES_EVENT_SIZE_MIN,
						       KMES_EVENT_SIZE_MAX, false,
						       "from 1K to 4M");
		break;
	case OPT_DEPTH:
		o->limits.max_nesting_depth =
			cli_number(cli, text, KMES_DEPTH_MIN, KMES_DEPTH_MAX);
		break;
	case OPT_DENY:
		take_deny(o, text);
		break;
	case OPT_EXEMPT:
		o->exempt = true;
		break;
	case OPT_DAEMON:
		o->daemon = true;
		break;
	case OPT_TESTING:
		o->testing = true;
		break;
	}
}

void sim_options_parse(struct sim_options *options, int argc, char **argv)
{
	struct cli_cpus holes = { .count = 0 };
	const char *text, *action = NULL;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct cli cli;
	int option;

	*options = (struct sim_options){
		.slots = cpus < 1	    ? 1
			 : cpus > SLOTS_MAX ? SLOTS_MAX
					    : cpus,
		.capacity = KMES_CAPACITY_DEFAULT,
		.limits = { KMES_EVENT_SIZE_DEFAULT, KMES_DEPTH_DEFAULT },
		.max_emit_rate = KMES_RATE_DEFAULT,
	};
	cli_begin(&cli, "kmes-sim", argc, argv, table, 0, "[OPTION...]");
	while ((option = cli_next(&cli, &text)) != 0) {
		if (option == OPT_HOLES)
			take_holes(&holes, text);
		else if (option == OPT_TEST)
			action = text;
		else
			take_option(options, &cli, option, text);
	}
	cli_no_more_operands(&cli);
	check_holes(options, &holes);
	cli_cpus_fini(&holes);
	if (!options->address.sun_family)
		default_socket(options);
	if (action)
		exit(sim_poke(options->address.sun_path, action));
	cli_end(&cli);
}
