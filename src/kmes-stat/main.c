// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-stat: the state of the rings, and loss, once or at intervals. */
#include "capture.h"
#include "options.h"
#include "rings.h"
#include "trace.h"

static bool wants_capture(const struct stat_opts *opts, const struct cli *cli)
{
	(void)cli;
	return opts->capture;
}

static bool wants_trace(const struct stat_opts *opts, const struct cli *cli)
{
	(void)opts;
	return stat_trace_is_source(cli_source_name(cli));
}

static bool wants_rings(const struct stat_opts *opts, const struct cli *cli)
{
	(void)opts;
	(void)cli;
	return true;
}

/* What can be read, the first that is wanted. */
static const struct {
	bool (*is_wanted)(const struct stat_opts *opts, const struct cli *cli);
	int (*run)(const struct stat_opts *opts, struct cli *cli);
} subjects[] = {
	{ wants_capture, stat_capture_run },
	{ wants_trace, stat_trace_run },
	{ wants_rings, stat_rings_run },
};

int main(int argc, char **argv)
{
	struct stat_opts opts = { 0 };
	struct cli cli;
	int i = 0, status;

	stat_options_parse(&opts, &cli, argc, argv);
	cli_stop_catch();
	while (!subjects[i].is_wanted(&opts, &cli))
		i++;
	status = subjects[i].run(&opts, &cli);
	cli_end(&cli);
	return status;
}
