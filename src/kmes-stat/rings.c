// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* rings.c - kmes-stat over the rings of a source, once or at intervals. */
#include "rings.h"

#include <errno.h>
#include <string.h>

#include "interval.h"
#include "print.h"
#include "watch.h"

static bool has_ring(void *arg, uint16_t cpu)
{
	const struct stat_sampler *s = arg;
	unsigned int i;

	for (i = 0; i < s->ring_count; i++)
		if (s->rings[i].row.cpu == cpu)
			return true;
	return false;
}

/* Reports each corrupt ring once, until it can be read again. */
static void report_rings(struct stat_sampler *s)
{
	unsigned int i;

	for (i = 0; i < s->ring_count; i++) {
		struct stat_ring *ring = &s->rings[i];

		if (ring->error.text[0] && !ring->is_reported)
			cli_warn("%s; its events are not counted", ring->error.text);
		ring->is_reported = ring->error.text[0] != '\0';
	}
}

/* Takes a sample and prints it. 0 or -errno with a sentence. */
static int put_sample(const struct stat_opts *opts, struct stat_sampler *s,
		      struct cli_out *out, struct kmes_error *err)
{
	int rc = stat_sampler_take(s, err);

	/* Interrupted: half of the sample is unknown. */
	if (cli_stop_signal() && (rc < 0 || s->stalled))
		return -EINTR;
	if (rc < 0)
		return rc;
	report_rings(s);
	if (opts->textfile)
		return stat_textfile_write(opts->textfile, s, err);
	opts->format->print(out, s);
	cli_out_flush(out);
	return 0;
}

/* A source, and the sampler of its rings. */
struct subject {
	const struct cli *cli;
	struct kmes_source *src;
	struct stat_sampler s;
};

/*
 * Opens a source that ended once more. 1: go on, 0: it has not come back, or -errno.
 */
static int follow_source(void *arg, struct kmes_error *err)
{
	struct subject *subject = arg;
	const struct cli *cli = subject->cli;
	const struct kmes_cpus *cpus = cli->cpus.count ? &cli->cpus.set : NULL;
	struct kmes_source *next;
	int rc;

	if (kmes_source_alive(subject->src))
		return 1;
	if (kmes_source_open(&next, cli_source_name(cli), cli_stop_flag(), NULL) < 0)
		return 0;
	rc = stat_sampler_reopen(&subject->s, next, cpus, err);
	cli_source_close(subject->src);
	subject->src = next;
	return rc < 0 ? rc : 1;
}

/*
 * A sample at each interval. 1: COUNT was reached, a signal came or the output has no
 * reader; 0: the source ended; or -errno.
 */
static int run(const struct stat_opts *opts, struct subject *subject, struct cli_out *out,
	       struct kmes_error *err)
{
	uint64_t done = 0;
	struct interval interval;
	int rc = opts->textfile ? stat_textfile_check(opts->textfile, err) : 0;

	if (rc < 0)
		return rc;
	interval_start(&interval, opts->interval_ns);
	for (;;) {
		rc = put_sample(opts, &subject->s, out, err);
		if (rc == -EINTR && cli_stop_signal())
			return 1;
		/* A source that ends after the first sample is the end, not an error. */
		if (rc < 0 && (rc != -ESHUTDOWN || !done))
			return rc;
		done += rc == 0;
		if (out->error || !opts->interval_ns || done == opts->count)
			return 1;
		if (rc == 0 && !interval_wait(&interval, out))
			return 1;
		rc = follow_source(subject, err);
		if (rc <= 0)
			return rc;
	}
}

/* The rings that are wanted; CPUs of -c without a ring are a usage error. */
static int open_rings(struct subject *subject, const struct stat_opts *opts,
		      struct cli *cli, struct kmes_error *err)
{
	int rc = stat_sampler_open(&subject->s, subject->src, NULL, opts->types, err);

	if (rc < 0)
		return rc;
	cli_check_cpus(cli, has_ring, &subject->s);
	if (!cli->cpus.count)
		return 0;
	stat_sampler_close(&subject->s);
	return stat_sampler_open(&subject->s, subject->src, &cli->cpus.set, opts->types,
				 err);
}

int stat_rings_run(const struct stat_opts *opts, struct cli *cli)
{
	struct subject subject = { .cli = cli };
	struct kmes_error err = { "" };
	struct cli_out out;
	int rc, status;

	subject.src = cli_source_open(cli);
	rc = open_rings(&subject, opts, cli, &err);
	cli_out_stdout(&out);
	if (rc == 0 && opts->watch)
		rc = watch_run(&subject.s, opts->interval_ns, opts->count, follow_source,
			       &subject, &err);
	else if (rc == 0)
		rc = run(opts, &subject, &out, &err);
	status = cli_out_close(&out);
	if (opts->watch)
		report_rings(&subject.s);
	if (rc < 0 && !cli_stop_signal())
		cli_error("%s", err.text[0] ? err.text : strerror(-rc));
	else if (rc == 0)
		cli_warn("source ended");
	stat_sampler_close(&subject.s);
	cli_source_close(subject.src);
	if (cli_stop_signal() && (rc < 0 || !(opts->interval_ns || opts->watch)))
		cli_die_by_signal(cli_stop_signal());
	return rc < 0 ? CLI_FAILED : status;
}
