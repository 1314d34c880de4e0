// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-resize: shows the capacity of the rings, or changes it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report.h"

struct resize_opts {
	uint64_t capacity; /* bytes, 0: show the capacity */
	uint64_t timeout_ns;
	bool dry_run;
	const struct resize_format *format;
};

static struct poptOption options[] = {
	{ "dry-run", 'n', POPT_ARG_NONE, NULL, 'n',
	  "print what would be kept and lost, change nothing", NULL },
	{ "json", 'j', POPT_ARG_NONE, NULL, 'j', "print one JSON object", NULL },
	{ "timeout", '\0', POPT_ARG_STRING, NULL, 't',
	  "fail if a ring has not been replaced after TIME (default 10s)", "TIME" },
	CLI_SOURCE_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

/* A power of two within the limits, or a usage error that names the nearest ones. */
static uint64_t parse_capacity(struct cli *cli, const char *text)
{
	uint64_t size = cli_size(cli, text), below = KMES_CAPACITY_MIN;
	char what[160];

	if (size >= KMES_CAPACITY_MIN && size <= KMES_CAPACITY_MAX &&
	    !(size & (size - 1)))
		return size;
	while (below * 2 < size && below * 2 < KMES_CAPACITY_MAX)
		below *= 2;
	snprintf(what, sizeof(what),
		 "SIZE must be a power of two from 64K to 256M; "
		 "the nearest are %llu and %llu",
		 (unsigned long long)below, (unsigned long long)below * 2);
	cli_usage_error(what, text);
}

static void parse(struct resize_opts *opts, struct cli *cli)
{
	const char *text;
	int option;

	while ((option = cli_next(cli, &text)) != 0) {
		switch (option) {
		case 'n':
			opts->dry_run = true;
			break;
		case 'j':
			opts->format = &resize_json;
			break;
		case 't':
			opts->timeout_ns = cli_time(cli, text);
			break;
		}
	}
	text = cli_operand(cli, "SIZE");
	if (text)
		opts->capacity = parse_capacity(cli, text);
	else if (opts->dry_run)
		cli_usage_error("--dry-run needs a SIZE", NULL);
	cli_no_more_operands(cli);
}

/* Waits until every ring has been replaced: 0 or -ETIMEDOUT. */
static int wait_replaced(struct resize_rings *rings, uint64_t timeout_ns)
{
	const struct timespec step = kmesp_timespec(KMES_NS_PER_MS);
	uint64_t start = kmesp_clock_ns(CLOCK_MONOTONIC);

	while (resize_pending(rings)) {
		if (kmesp_clock_ns(CLOCK_MONOTONIC) - start >= timeout_ns)
			return -ETIMEDOUT;
		nanosleep(&step, NULL);
	}
	return 0;
}

/* Replaces the rings and reports it: 0 or -errno with a sentence. */
static int resize(const struct resize_opts *opts, struct kmes_source *src,
		  uint64_t capacity, struct resize_rings *rings, struct cli_out *out,
		  struct kmes_error *err)
{
	struct resize_change change = { rings, capacity, opts->capacity, opts->dry_run };
	int rc;

	if (change.old_capacity == opts->capacity) {
		rc = resize_count(rings, opts->capacity, err);
		if (rc == 0)
			opts->format->same(out, &change);
		return rc;
	}
	if (!opts->dry_run) {
		rc = kmes_source_set_capacity(src, opts->capacity, err);
		if (rc < 0)
			return rc;
		rc = wait_replaced(rings, opts->timeout_ns);
		if (rc < 0)
			return kmes_error_set(err, rc,
					      "%u of %u rings were not replaced in time",
					      resize_pending(rings), rings->count);
	}
	rc = resize_count(rings, opts->capacity, err);
	if (rc == 0 && !opts->dry_run && resize_again(rings, src))
		cli_warn("another process changed the capacity, too: less may be kept");
	if (rc == 0)
		opts->format->change(out, &change);
	return rc;
}

/* Does what was asked for with an open source: 0 or -errno with a sentence. */
static int run(const struct resize_opts *opts, struct kmes_source *src,
	       struct cli_out *out, struct kmes_error *err)
{
	struct resize_rings rings = { 0 };
	uint64_t capacity = 0;
	/* A source whose rings cannot be resized reports that before any is attached. */
	int rc = kmes_source_capacity(src, &capacity, err);

	if (rc == 0)
		rc = resize_attach(&rings, src, err);
	/* After attaching: another process's change shows here or in the rings. */
	if (rc == 0)
		rc = kmes_source_capacity(src, &capacity, err);
	if (rc == 0 && opts->capacity)
		rc = resize(opts, src, capacity, &rings, out, err);
	else if (rc == 0)
		opts->format->state(out, &rings, capacity);
	resize_detach(&rings);
	return rc;
}

int main(int argc, char **argv)
{
	struct resize_opts opts = { .timeout_ns = 10 * KMES_NS_PER_S,
				    .format = &resize_text };
	struct kmes_error err = { .text = "" };
	struct kmes_source *src;
	struct cli_out out;
	struct cli cli;
	int rc, status;

	cli_begin(&cli, "kmes-resize", argc, argv, options, 0, "[OPTION...] [SIZE]");
	parse(&opts, &cli);
	/* Signals are not caught: there is nothing to clean up, and a source may hang. */
	src = cli_source_open(&cli);
	cli_out_stdout(&out);
	rc = run(&opts, src, &out, &err);
	status = cli_out_close(&out);
	if (rc < 0)
		cli_error("%s", err.text[0] ? err.text : strerror(-rc));
	cli_source_close(src);
	cli_end(&cli);
	return rc < 0 ? CLI_FAILED : status;
}
