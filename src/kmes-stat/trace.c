// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* trace.c - kmes-stat -S tracefs: the kernel's trace buffers, as a table or as JSON. */
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interval.h"
#include "print.h"
#include "source.h"
#include "trace_sample.h"

bool stat_trace_is_source(const char *name)
{
	const struct kmes_source_ops *ops = kmesp_source_ops(name);

	return ops && !ops->attach;
}

static const char *rate_text(char *text, size_t size, struct stat_rate rate)
{
	if (rate.known)
		snprintf(text, size, "%.0f", rate.per_second);
	else
		snprintf(text, size, "-");
	return text;
}

static void print_table(struct cli_out *out, const struct trace_stat *s)
{
	size_t i;

	stat_say(out, "%-28s %4s %12s %12s %12s %10s %10s %8s %7s\n", "BUFFER", "CPU",
		 "ENTRIES", "OVERRUN", "READ", "EV/S", "LOST/S", "SUBBUFS", "SIZE");
	for (i = 0; i < s->count; i++) {
		const struct trace_stat_row *row = &s->rows[i];
		char name[1024], events[32], lost[32];

		cli_escape(name, sizeof(name), row->buffer, strlen(row->buffer));
		stat_say(out,
			 "%-28s %4u %12" PRIu64 " %12" PRIu64 " %12" PRIu64
			 " %10s %10s %8" PRIu64 " %7" PRIu64 "\n",
			 name, row->cpu, row->entries, row->overrun, row->read,
			 rate_text(events, sizeof(events), row->events_rate),
			 rate_text(lost, sizeof(lost), row->lost_rate), row->subbufs,
			 row->subbuf_bytes);
	}
}

static void say_rate(struct cli_out *out, const char *name, struct stat_rate rate)
{
	if (rate.known)
		stat_say(out, ",\"%s\":%.3f", name, rate.per_second);
	else
		stat_say(out, ",\"%s\":null", name);
}

static void print_json(struct cli_out *out, const struct trace_stat *s)
{
	size_t i;

	stat_say(out, "{\"time\":\"");
	stat_say_time(out, s->time_ns);
	stat_say(out, "\",\"source\":\"tracefs\",\"interval\":");
	if (s->interval_ns)
		stat_say(out, "%" PRIu64 ".%09" PRIu64, s->interval_ns / 1000000000,
			 s->interval_ns % 1000000000);
	else
		stat_say(out, "null");
	stat_say(out, ",\"rings\":[");
	for (i = 0; i < s->count; i++) {
		const struct trace_stat_row *row = &s->rows[i];

		stat_say(out, "%s{\"buffer\":", i ? "," : "");
		stat_say_name(out, row->buffer, strlen(row->buffer));
		stat_say(out,
			 ",\"cpu\":%u,\"entries\":%" PRIu64 ",\"overrun\":%" PRIu64
			 ",\"read\":%" PRIu64,
			 row->cpu, row->entries, row->overrun, row->read);
		say_rate(out, "events_per_second", row->events_rate);
		say_rate(out, "lost_per_second", row->lost_rate);
		stat_say(out, ",\"subbufs\":%" PRIu64 ",\"subbuf_bytes\":%" PRIu64 "}",
			 row->subbufs, row->subbuf_bytes);
	}
	stat_say(out, "]}\n");
}

/* A sample of the kernel's trace buffers at each interval. 0 or -errno. */
static int run_at_intervals(const struct stat_opts *opts, struct trace_stat *s,
			    struct cli *cli, struct cli_out *out, struct kmes_error *err)
{
	const struct kmes_cpus *cpus = cli->cpus.count ? &cli->cpus.set : NULL;
	uint64_t done = 0;
	struct interval interval;

	interval_start(&interval, opts->interval_ns);
	for (;;) {
		int r = trace_stat_take(s, cpus, err);

		if (r < 0)
			return r;
		if (opts->format == &stat_json)
			print_json(out, s);
		else
			print_table(out, s);
		cli_out_flush(out);
		if (out->error || !opts->interval_ns || ++done == opts->count)
			return 0;
		if (!interval_wait(&interval, out))
			return 0;
	}
}

int stat_trace_run(const struct stat_opts *opts, struct cli *cli)
{
	struct kmes_error err = { "" };
	struct trace_stat s;
	struct cli_out out;
	int status, r;

	if (opts->watch || opts->types || opts->textfile ||
	    opts->format == &stat_prometheus)
		cli_usage_error("-S tracefs goes with -c, -j and INTERVAL alone", NULL);
	r = trace_stat_open(&s, &err);
	if (r == 0)
		r = trace_stat_take(&s, NULL, &err);
	if (r == 0)
		cli_check_cpus(cli, trace_stat_has_cpu, &s);
	trace_stat_restart(&s);
	cli_out_stdout(&out);
	if (r == 0)
		r = run_at_intervals(opts, &s, cli, &out, &err);
	status = cli_out_close(&out);
	if (r < 0)
		cli_error("%s", err.text);
	trace_stat_close(&s);
	return r < 0 ? CLI_FAILED : status;
}
