// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-emit: writes events, from the command line or from lines of JSON. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "emit.h"
#include "kmes_msgpack.h"

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
	{ "type", 't', POPT_ARG_STRING, NULL, 't', "the type of the event", "TYPE" },
	{ "payload", 'J', POPT_ARG_STRING, NULL, 'J', "the payload, instead of pairs",
	  "JSON" },
	{ "input", 'i', POPT_ARG_STRING, NULL, 'i',
	  "emit each line {\"type\": .., \"payload\": ..} of FILE; - is standard input",
	  "FILE" },
	{ "batch", 'B', POPT_ARG_STRING, NULL, 'B',
	  "emit up to N events in one step (256)", "N" },
	{ "cpu", 'c', POPT_ARG_STRING, NULL, 'c', "emit on this CPU", "N" },
	{ "count", 'n', POPT_ARG_STRING, NULL, 'n', "emit the event N times", "N" },
	{ "rate", 'R', POPT_ARG_STRING, NULL, 'R', "emit so many events a second",
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

/* ---- one event ---- */

static void put_json(struct json *json, struct kmes_pack *out, const char *text,
		     const char *what)
{
	struct reason why = { "" };
	char full[256];

	if (json_value(json, text, strlen(text), out, &why) == 0)
		return;
	snprintf(full, sizeof(full), "%s: %s", what, why.text);
	cli_usage_error(full, text);
}

/* KEY=TEXT or KEY:=JSON */
static void put_pair(struct json *json, struct kmes_pack *out, const char *pair)
{
	const char *equals = strchr(pair, '=');
	bool is_json = equals && equals > pair && equals[-1] == ':';
	size_t len = equals ? (size_t)(equals - pair) - is_json : 0;

	if (!len)
		cli_usage_error("not KEY=TEXT or KEY:=JSON", pair);
	kmes_pack_str(out, pair, (uint32_t)len);
	if (is_json)
		put_json(json, out, equals + 1, "the value");
	else
		kmes_pack_text(out, equals + 1);
}

/* Puts type and payload of the command line together; what is wrong with them exits 2. */
static void make_event(const struct emit_opts *opts, char **pairs, struct sender *s)
{
	struct json *json = json_new();
	struct kmes_pack *out = sender_room(s);
	struct place place = { .type = out->len,
			       .type_len = (uint16_t)strlen(opts->type) };
	uint32_t count = 0;

	if (!json)
		cli_no_memory();
	kmes_pack_bytes(out, opts->type, place.type_len);
	place.payload = out->len;
	if (opts->payload) {
		if (*pairs)
			cli_usage_error("--payload and pairs exclude each other", *pairs);
		put_json(json, out, opts->payload, "--payload");
	} else {
		while (pairs[count])
			count++;
		kmes_pack_map(out, count);
		while (*pairs)
			put_pair(json, out, *pairs++);
	}
	json_free(json);
	if (!kmes_pack_is_whole(out))
		cli_usage_error("larger than an event can be", NULL);
	place.payload_len = out->len - place.payload;
	s->places[0] = place;
	s->count = 1;
}

/* ---- lines ---- */

static int take_line(struct json *json, struct sender *s, const struct input *in,
		     const char *line, size_t len)
{
	struct place place;
	struct reason why = { "" };
	int r = json_event(json, line, len, sender_room(s), &place, &why);

	if (r > 0)
		return sender_add(s, &place, in->line);
	if (r < 0)
		sender_refuse(s, in->line, why.text);
	return 0;
}

/* Before a read that may take long everything goes out. */
static int read_more(struct input *in, struct sender *s)
{
	int r = input_is_ready(in) ? 0 : sender_flush(s);

	if (r < 0 || cli_stop_signal())
		return r < 0 ? r : -EINTR;
	r = input_read(in);
	if (r == 0 || r == -EINTR)
		return 0;
	cli_error("%s: cannot read: %s", in->name, strerror(-r));
	return r;
}

/* 0 at the end of the input, or -errno; a message said why, but for a stop (-EINTR). */
static int emit_lines(struct json *json, struct input *in, struct sender *s)
{
	char *line;
	size_t len;
	int r = 0;

	while (r == 0) {
		switch (input_next(in, &line, &len)) {
		case 1:
			r = take_line(json, s, in, line, len);
			break;
		case 0:
			r = read_more(in, s);
			break;
		case -EFBIG:
			sender_refuse(s, in->line, "longer than 32 MiB");
			break;
		default:
			return sender_flush(s);
		}
	}
	return r;
}

/* What was read before a failure or a stop is emitted, if that can be. */
static int emit_input(struct input *in, struct sender *s)
{
	struct json *json = json_new();
	int r, last;

	if (!json)
		cli_no_memory();
	r = emit_lines(json, in, s);
	json_free(json);
	if (r < 0 && !s->is_over) {
		last = sender_flush(s);
		r = last < 0 ? last : r;
	}
	return r;
}

/* ---- the run ---- */

/*
 * Where the kernel owns the rings, an event goes to the CPU that its emitter runs on; one
 * that is offline has a ring all the same, but nothing can run there.
 */
static void go_to_cpu(int cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);

	if (!set)
		cli_no_memory();
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	if (sched_setaffinity(0, size, set) < 0) {
		cli_error("cpu%d: cannot emit there: %s (is it online, and allowed?)",
			  cpu, strerror(errno));
		exit(CLI_FAILED);
	}
	CPU_FREE(set);
}

/* A CPU without a ring is a wrong value, as far as the source can tell. */
static void check_cpu(struct kmes_source *src, int cpu)
{
	struct kmes_counters counters;
	char text[16];
	int r;

	if (cpu < 0)
		return;
	r = kmes_source_counters(src, (uint16_t)cpu, &counters);
	if (r == -EINVAL || r == -ENOENT) {
		snprintf(text, sizeof(text), "%d", cpu);
		cli_usage_error("--cpu: this CPU has no ring", text);
	}
	if (strcmp(kmes_source_name(src), "sim") != 0)
		go_to_cpu(cpu);
}

static int run(const struct emit_opts *opts, struct cli *cli, struct input *in,
	       struct sender *s)
{
	int r;

	s->src = cli_source_open(cli);
	check_cpu(s->src, opts->cpu);
	cli_stop_catch();
	r = opts->input ? emit_input(in, s)
			: sender_repeat(s, opts->times ? opts->times : 1);
	kmes_source_close(s->src);
	return r < 0 || s->has_refused ? CLI_FAILED : CLI_DONE;
}

int main(int argc, char **argv)
{
	struct emit_opts opts = { .batch = KMES_BATCH_MAX, .cpu = -1 };
	struct input in = { .fd = -1 };
	struct sender sender;
	struct cli cli;
	int r, status;

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
		r = input_open(&in, opts.input);
		if (r < 0) {
			cli_error("%s: cannot open: %s", opts.input, strerror(-r));
			exit(CLI_FAILED);
		}
		sender.input = in.name;
	} else {
		make_event(&opts, cli_operands(&cli), &sender);
	}

	status = run(&opts, &cli, &in, &sender);

	input_close(&in);
	sender_fini(&sender);
	cli_end(&cli);
	if (cli_stop_signal())
		cli_die_by_signal(cli_stop_signal());
	return status;
}
