/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* main.c - kmes-dump: prints the events of KMES rings as text or JSON. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* SIGHUP ends a dump as SIGTERM does; SIGUSR1 has it tell its totals. */
static void catch_signals(void)
{
	cli_stop_catch();
	cli_stop_on(SIGHUP);
	cli_signal_catch(SIGUSR1);
}

static bool has_ring(void *reader, uint16_t cpu)
{
	return reader && kmes_reader_has_cpu(reader, cpu);
}

/* Opens the rings that -c wants; CPUs without one are wrong usage. */
static struct kmes_reader *open_reader(const struct dump_opts *opts, struct cli *cli,
				       struct kmes_source *src)
{
	struct kmes_reader_options options = {
		.cpus = cli->cpus.count ? &cli->cpus.set : NULL,
		.order = opts->order,
		.only_new = opts->only_new,
		.snapshot = opts->snapshot,
	};
	struct kmes_error err = { "" };
	struct kmes_reader *reader = NULL;
	int rc = kmes_reader_open(&reader, src, &options, &err);

	if (!rc || rc == -ENODEV)
		cli_check_cpus(cli, has_ring, reader);
	if (rc) {
		cli_error("%s", *err.text ? err.text : strerror(-rc));
		exit(CLI_FAILED);
	}
	return reader;
}

static int end_status(const struct dump_opts *opts, enum dump_end end, int printed,
		      const struct dump_tally *tally)
{
	int status = cli_worse(end == DUMP_END_FAILED ? CLI_FAILED : CLI_DONE, printed);

	if (opts->fail_on_loss && tally->lost)
		status = cli_worse(status, CLI_LOSS);
	return status;
}

int main(int argc, char **argv)
{
	struct dump_opts opts;
	struct cli_printer printer;
	struct dump_tally tally;
	struct kmes_source *src;
	struct kmes_reader *reader;
	enum dump_end end;
	bool reader_is_gone;
	struct cli cli;
	int printed, status;

	dump_options_parse(&opts, &cli, argc, argv);
	catch_signals();
	src = cli_source_open(&cli);
	reader = open_reader(&opts, &cli, src);
	dump_options_set_times(&opts);
	cli_print_open(&printer, &opts.print);
	if (dump_tally_init(&tally))
		cli_no_memory();

	end = dump_run(&opts, reader, &printer, &tally);

	printed = cli_print_close(&printer, &reader_is_gone);
	if (!opts.quiet && !reader_is_gone) {
		cli_warn("source %s, rings: %u", kmes_source_name(src),
			 kmes_reader_rings(reader));
		dump_tally_print(&tally, kmes_filter_is_set(opts.events.filter));
	}
	status = end_status(&opts, end, printed, &tally);
	dump_tally_fini(&tally);
	kmes_reader_close(reader);
	kmes_source_close(src);
	dump_options_fini(&opts);
	cli_end(&cli);
	if (end == DUMP_END_STOPPED && opts.snapshot && status == CLI_DONE)
		cli_die_by_signal(cli_stop_signal());
	return status;
}
