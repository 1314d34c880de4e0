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

	cli_out_printf(out, "%-28s %4s %12s %12s %12s %10s %10s %8s %7s\n", "BUFFER",
		       "CPU", "ENTRIES", "OVERRUN", "READ", "EV/S", "LOST/S", "SUBBUFS",
		       "SIZE");
	for (i = 0; i < s->count; i++) {
		const struct trace_stat_row *row = &s->rows[i];
		char name[1024], events[32], lost[32];

		cli_escape(name, sizeof(name), row->buffer, strlen(row->buffer));
		cli_out_printf(out,
			       "%-28s %4u %12" PRIu64 " %12" PRIu64 " %12" PRIu64
			       " %10s %10s %8" PRIu64 " %7" PRIu64 "\n",
			       name, row->cpu, row->entries, row->overrun, row->read,
			       rate_text(events, sizeof(events), row->events_rate),
			       rate_text(lost, sizeof(lost), row->lost_rate),
			       row->subbufs, row->subbuf_bytes);
	}
}

static void print_json(struct cli_out *out, const struct trace_stat *s)
{
	struct kmes_json_out j;
	size_t i;

	stat_json_begin(&j, out, s->time_ns, "tracefs", s->interval_ns);
	kmesp_json_open_array(&j, "rings");
	for (i = 0; i < s->count; i++) {
		const struct trace_stat_row *row = &s->rows[i];

		kmesp_json_open_object(&j, NULL);
		kmesp_json_text(&j, "buffer", row->buffer);
		kmesp_json_u64(&j, "cpu", row->cpu);
		kmesp_json_u64(&j, "entries", row->entries);
		kmesp_json_u64(&j, "overrun", row->overrun);
		kmesp_json_u64(&j, "read", row->read);
		stat_json_rate(&j, "events_per_second", row->events_rate, 3);
		stat_json_rate(&j, "lost_per_second", row->lost_rate, 3);
		kmesp_json_u64(&j, "subbufs", row->subbufs);
		kmesp_json_u64(&j, "subbuf_bytes", row->subbuf_bytes);
		kmesp_json_close(&j);
	}
	kmesp_json_close(&j);
	kmesp_json_close(&j);
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
		int rc = trace_stat_take(s, cpus, err);

		if (rc < 0)
			return rc;
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
	int status, rc;

	if (opts->watch || opts->types || opts->textfile ||
	    opts->format == &stat_prometheus)
		cli_usage_error("-S tracefs goes with -c, -j and INTERVAL alone", NULL);
	rc = trace_stat_open(&s, &err);
	if (rc == 0)
		rc = trace_stat_take(&s, NULL, &err);
	if (rc == 0)
		cli_check_cpus(cli, trace_stat_has_cpu, &s);
	trace_stat_restart(&s);
	cli_out_stdout(&out);
	if (rc == 0)
		rc = run_at_intervals(opts, &s, cli, &out, &err);
	status = cli_out_close(&out);
	if (rc < 0)
		cli_error("%s", err.text);
	trace_stat_close(&s);
	return rc < 0 ? CLI_FAILED : status;
}
