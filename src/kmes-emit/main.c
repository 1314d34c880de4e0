// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-emit: writes events, from the command line or from lines of JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "emit.h"
#include "kmes_msgpack.h"
#include "source.h"

struct emit_opts {
	const char *type;
	const char *payload; /* JSON */
	const char *input;
	uint32_t batch;
	int cpu; /* -1: any */
	uint64_t times;
	uint64_t rate; /* 0: no pace */
};

static struct poptOption options[] = {
	{ "type", 't', POPT_ARG_STRING, NULL, 't', "set the type of the event", "TYPE" },
	{ "payload", 'J', POPT_ARG_STRING, NULL, 'J', "use JSON as the payload", "JSON" },
	{ "input", 'i', POPT_ARG_STRING, NULL, 'i',
	  "emit each line {\"type\": .., \"payload\": ..} of FILE; - is stdin", "FILE" },
	{ "batch", 'B', POPT_ARG_STRING, NULL, 'B',
	  "emit up to N events in one batch (default 256)", "N" },
	{ "cpu", 'c', POPT_ARG_STRING, NULL, 'c', "emit on CPU N", "N" },
	{ "count", 'n', POPT_ARG_STRING, NULL, 'n', "emit the event N times", "N" },
	{ "rate", 'R', POPT_ARG_STRING, NULL, 'R', "emit at most RATE events per second",
	  "RATE" },
	CLI_SOURCE_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

static const char *check_type(const char *text)
{
	size_t len = strlen(text);

	if (!len)
		cli_usage_error("--type: empty", text);
	if (len > UINT16_MAX)
		cli_usage_error("--type: longer than 65535 bytes", text);
	if (!kmes_utf8_valid(text, (uint32_t)len))
		cli_usage_error("--type: not UTF-8", text);
	return text;
}

static void parse(struct emit_opts *opts, struct cli *cli)
{
	const char *text;
	int option;

	while ((option = cli_next(cli, &text)) != 0) {
		switch (option) {
		case 't':
			opts->type = check_type(text);
			break;
		case 'J':
			opts->payload = text;
			break;
		case 'i':
			opts->input = text;
			break;
		case 'B':
			opts->batch = (uint32_t)cli_number(cli, text, 1, KMES_BATCH_MAX);
			break;
		case 'c':
			opts->cpu = (int)cli_number(cli, text, 0, UINT16_MAX);
			break;
		case 'n':
			opts->times = cli_number(cli, text, 1, UINT64_MAX);
			break;
		case 'R':
			opts->rate = cli_rate(cli, text);
			break;
		}
	}
}

static void check_combination(const struct emit_opts *opts)
{
	if (!opts->input && !opts->type)
		cli_usage_error("no event: give --type=TYPE or --input=FILE", NULL);
	if (!opts->input)
		return;
	if (opts->type)
		cli_usage_error("--type and --input exclude each other", opts->input);
	if (opts->payload)
		cli_usage_error("--payload and --input exclude each other", opts->input);
	if (opts->times)
		cli_usage_error("--count and --input exclude each other", opts->input);
	if (!*opts->input)
		cli_usage_error("--input: no file", opts->input);
}

/* By its counters, or for a source that has none, by the number of slots. */
static bool has_ring(struct kmes_source *src, int cpu)
{
	struct kmes_counters counters;
	int rc = kmes_source_counters(src, (uint16_t)cpu, &counters);

	if (rc == -EOPNOTSUPP) {
		rc = kmes_source_slots(src, NULL);
		return rc < 0 || cpu < rc;
	}
	return rc != -EINVAL && rc != -ENOENT;
}

/* A CPU without a ring is wrong usage. */
static void check_cpu(struct kmes_source *src, int cpu)
{
	char text[16];
	int rc;

	if (cpu < 0)
		return;
	if (!has_ring(src, cpu)) {
		snprintf(text, sizeof(text), "%d", cpu);
		cli_usage_error("--cpu: this CPU has no ring", text);
	}
	rc = kmesp_source_go_to_cpu(src, cpu);
	if (rc < 0) {
		cli_error("cpu%d: cannot emit there: %s (is it online, and allowed?)",
			  cpu, strerror(-rc));
		exit(CLI_FAILED);
	}
}

static int run(const struct emit_opts *opts, struct cli *cli, struct input *in,
	       struct sender *s)
{
	int rc;

	s->src = cli_source_open(cli);
	check_cpu(s->src, opts->cpu);
	cli_stop_catch();
	rc = opts->input ? lines_emit(in, s)
			 : sender_repeat(s, opts->times ? opts->times : 1);
	cli_source_close(s->src);
	return rc < 0 || s->has_refused ? CLI_FAILED : CLI_DONE;
}

int main(int argc, char **argv)
{
	struct emit_opts opts = { .batch = KMES_BATCH_MAX, .cpu = -1 };
	struct input in = { .fd = -1 };
	struct sender sender;
	struct cli cli;
	int rc, status;

	cli_begin(&cli, "kmes-emit", argc, argv, options, 0,
		  "[OPTION...] -t TYPE [KEY=TEXT | KEY:=JSON]...");
	parse(&opts, &cli);
	check_combination(&opts);
	sender = (struct sender){ .cpu = opts.cpu,
				  .batch = opts.batch,
				  .rate = opts.rate };
	if (sender_init(&sender) < 0)
		cli_no_memory();
	if (opts.input) {
		cli_no_more_operands(&cli);
		rc = input_open(&in, opts.input);
		if (rc < 0) {
			cli_error("%s: cannot open: %s", opts.input, strerror(-rc));
			exit(CLI_FAILED);
		}
		sender.input = in.name;
	} else {
		event_make(&sender, opts.type, opts.payload, cli_operands(&cli));
	}

	status = run(&opts, &cli, &in, &sender);

	input_close(&in);
	sender_fini(&sender);
	cli_end(&cli);
	if (cli_stop_signal())
		cli_die_by_signal(cli_stop_signal());
	return status;
}
