// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-stat: the state of the rings, and loss, once or at intervals. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture_stat.h"
#include "interval.h"
#include "stat.h"
#include "trace_stat.h"
#include "watch.h"

struct stat_opts {
	uint64_t interval_ns; /* 0: once */
	uint64_t count;	      /* 0: until a signal */
	const struct stat_format *format;
	const char *textfile;
	const char *capture;
	bool types;
	bool watch;
};

enum { OPTION_TEXTFILE = CLI_OPTION_OWN };

static struct poptOption options[] = {
	{ "by-type", 'y', POPT_ARG_NONE, NULL, 'y',
	  "events and bytes of each type, busiest first", NULL },
	{ "json", 'j', POPT_ARG_NONE, NULL, 'j', "print a JSON object a sample", NULL },
	{ "prometheus", 'P', POPT_ARG_NONE, NULL, 'P',
	  "print Prometheus' text format, once", NULL },
	{ "textfile", '\0', POPT_ARG_STRING, NULL, OPTION_TEXTFILE,
	  "with INTERVAL: write the Prometheus format into FILE each time", "FILE" },
	{ "watch", 'W', POPT_ARG_NONE, NULL, 'W', "redraw the screen; q leaves", NULL },
	{ "read", 'r', POPT_ARG_STRING, NULL, 'r',
	  "what a capture holds, instead of rings", "FILE" },
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

/* It is replaced by another file, which standard output cannot be. */
static bool is_file_name(const char *text)
{
	return *text && strcmp(text, "-") && text[strlen(text) - 1] != '/';
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
	if (!opts->format)
		opts->format = &stat_table;
}

static bool has_ring(void *arg, uint16_t cpu)
{
	const struct stat_sampler *s = arg;
	unsigned int i;

	for (i = 0; i < s->ring_count; i++)
		if (s->rings[i].row.cpu == cpu)
			return true;
	return false;
}

/* One sample where it goes: 0 or -errno with a sentence. */
static int put_sample(const struct stat_opts *opts, struct stat_sampler *s,
		      struct cli_out *out, struct kmes_error *err)
{
	int r = stat_sampler_take(s, err);

	/* Broken off: half of it is not known. */
	if (cli_stop_signal() && (r < 0 || s->stalled))
		return -EINTR;
	if (r < 0)
		return r;
	if (opts->textfile)
		return stat_textfile_write(opts->textfile, s, err);
	opts->format->print(out, s);
	cli_out_flush(out);
	return 0;
}

/* What is looked at: a source, and the sampler of its rings. */
struct subject {
	const struct cli *cli;
	struct kmes_source *src;
	struct stat_sampler s;
};

/*
 * A source that ended is opened once more; where it did not come back that is the end.
 * 1: go on, 0: ended, or -errno.
 */
static int follow_source(void *arg, struct kmes_error *err)
{
	struct subject *subject = arg;
	const struct cli *cli = subject->cli;
	const struct kmes_cpus *cpus = cli->cpus.count ? &cli->cpus.set : NULL;
	struct kmes_source *next;
	int r;

	if (kmes_source_alive(subject->src))
		return 1;
	if (kmes_source_open(&next, cli_source_name(cli), cli_stop_flag(), NULL) < 0)
		return 0;
	r = stat_sampler_reopen(&subject->s, next, cpus, err);
	cli_source_close(subject->src);
	subject->src = next;
	return r < 0 ? r : 1;
}

/* A sample at each interval, until COUNT, a signal, or nobody reads: 1; 0: ended, or -errno. */
static int run(const struct stat_opts *opts, struct subject *subject, struct cli_out *out,
	       struct kmes_error *err)
{
	uint64_t done = 0;
	struct interval interval;
	int r = opts->textfile ? stat_textfile_check(opts->textfile, err) : 0;

	if (r < 0)
		return r;
	interval_start(&interval, opts->interval_ns);
	for (;;) {
		r = put_sample(opts, &subject->s, out, err);
		if (r == -EINTR && cli_stop_signal())
			return 1;
		/* One that ends while it is followed has ended, whatever was asked of it. */
		if (r < 0 && (r != -ESHUTDOWN || !done))
			return r;
		done += r == 0;
		if (out->error || !opts->interval_ns || done == opts->count)
			return 1;
		if (r == 0 && !interval_wait(&interval, out))
			return 1;
		r = follow_source(subject, err);
		if (r <= 0)
			return r;
	}
}

static bool capture_has_cpu(void *arg, uint16_t cpu)
{
	const struct capture_stat *cs = arg;

	return cpu < cs->slots;
}

/* kmes-stat -r. The exit status. */
static int run_capture(const struct stat_opts *opts, struct cli *cli)
{
	const struct kmes_cpus *cpus = cli->cpus.count ? &cli->cpus.set : NULL;
	struct capture_stat cs;
	struct cli_out out;
	int status, r = capture_stat_read(&cs, opts->capture, cpus);

	if (cs.slots && !cli_stop_signal())
		cli_check_cpus(cli, capture_has_cpu, &cs);
	cli_out_stdout(&out);
	if (r == 0 && opts->format == &stat_json)
		capture_stat_print_json(&out, &cs);
	else if (r == 0)
		capture_stat_print(&out, &cs);
	status = cli_out_close(&out);
	if (cs.is_truncated || r < 0)
		status = CLI_FAILED;
	stat_types_fini(&cs.types);
	if (cli_stop_signal())
		cli_die_by_signal(cli_stop_signal());
	return status;
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
			trace_stat_print_json(out, s);
		else
			trace_stat_print(out, s);
		cli_out_flush(out);
		if (out->error || !opts->interval_ns || ++done == opts->count)
			return 0;
		if (!interval_wait(&interval, out))
			return 0;
	}
}

/* kmes-stat -S tracefs. The exit status. */
static int run_trace(const struct stat_opts *opts, struct cli *cli)
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

int main(int argc, char **argv)
{
	struct stat_opts opts = { 0 };
	struct kmes_error err = { "" };
	struct subject subject = { 0 };
	struct cli_out out;
	struct cli cli;
	int r, status;

	cli_begin(&cli, "kmes-stat", argc, argv, options, 0,
		  "[OPTION...] [INTERVAL [COUNT]]");
	parse(&opts, &cli);
	cli_stop_catch();
	if (opts.capture) {
		status = run_capture(&opts, &cli);
		cli_end(&cli);
		return status;
	}
	if (trace_stat_is_source(cli_source_name(&cli))) {
		status = run_trace(&opts, &cli);
		cli_end(&cli);
		return status;
	}
	subject.cli = &cli;
	subject.src = cli_source_open(&cli);
	r = stat_sampler_open(&subject.s, subject.src, NULL, opts.types, &err);
	if (r == 0)
		cli_check_cpus(&cli, has_ring, &subject.s);
	if (r == 0 && cli.cpus.count) {
		stat_sampler_close(&subject.s);
		r = stat_sampler_open(&subject.s, subject.src, &cli.cpus.set, opts.types,
				      &err);
	}
	cli_out_stdout(&out);
	if (r == 0 && opts.watch)
		r = watch_run(&subject.s, opts.interval_ns, opts.count, follow_source,
			      &subject, &err);
	else if (r == 0)
		r = run(&opts, &subject, &out, &err);
	status = cli_out_close(&out);
	if (r < 0 && !cli_stop_signal())
		cli_error("%s", err.text[0] ? err.text : strerror(-r));
	else if (r == 0)
		cli_warn("source ended");
	stat_sampler_close(&subject.s);
	cli_source_close(subject.src);
	cli_end(&cli);
	if (cli_stop_signal() && (r < 0 || !(opts.interval_ns || opts.watch)))
		cli_die_by_signal(cli_stop_signal());
	return r < 0 ? CLI_FAILED : status;
}
