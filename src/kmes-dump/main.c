// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-dump: prints the events of KMES rings as text or JSON. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/*
 * SIGUSR1 prints the summary. SIGHUP reopens the capture of a recorder without a
 * terminal; otherwise it ends the run as SIGTERM does.
 */
static void catch_signals(const struct dump_opts *opts)
{
	cli_stop_catch();
	if (opts->record.file && strcmp(opts->record.file, "-") && !isatty(STDERR_FILENO))
		cli_signal_catch(SIGHUP);
	else
		cli_stop_on(SIGHUP);
	cli_signal_catch(SIGUSR1);
}

static void print_summary(const struct dump_opts *opts, const struct dump_input *in,
			  const struct dump_tally *tally)
{
	if (in->src)
		cli_warn("source %s, rings: %u", kmes_source_name(in->src),
			 kmes_reader_rings(in->reader));
	dump_tally_print(tally, kmesp_filter_is_set(opts->events.filter));
}

static int end_status(const struct dump_opts *opts, enum dump_end end, int printed,
		      const struct dump_tally *tally)
{
	int status =
		cli_status_max(end == DUMP_END_FAILED ? CLI_FAILED : CLI_DONE, printed);

	if (opts->fail_on_loss && tally->lost)
		status = cli_status_max(status, CLI_LOSS);
	return status;
}

int main(int argc, char **argv)
{
	struct dump_opts opts;
	struct dump_input input;
	struct cli_printer printer;
	struct dump_recorder recorder;
	struct dump_tally tally;
	enum dump_end end;
	bool reader_is_gone, is_cut_short;
	struct cli cli;
	int status;

	dump_options_parse(&opts, &cli, argc, argv);
	catch_signals(&opts);
	dump_input_open(&input, &opts, &cli);
	cli_print_open(&printer, &opts.print);
	if (opts.record.file)
		dump_record_init(&recorder, &opts.record, &input);
	if (dump_tally_init(&tally))
		cli_no_memory();

	end = dump_run(&opts, &input, &printer, opts.record.file ? &recorder : NULL,
		       &tally);

	status = opts.record.file ? dump_record_close(&recorder) : CLI_DONE;
	status = cli_status_max(status, cli_print_close(&printer, &reader_is_gone));
	if (opts.record.file)
		reader_is_gone |= dump_record_reader_is_gone(&recorder);
	if (!opts.quiet && !reader_is_gone)
		print_summary(&opts, &input, &tally);
	if (input.playback.has_failed)
		status = cli_status_max(status, CLI_FAILED);
	status = end_status(&opts, end, status, &tally);
	is_cut_short = end == DUMP_END_STOPPED &&
		       (opts.snapshot || (opts.captures && !opts.follow_capture));
	dump_tally_fini(&tally);
	dump_input_close(&input);
	dump_options_fini(&opts);
	cli_end(&cli);
	if (is_cut_short && status == CLI_DONE)
		cli_die_by_signal(cli_stop_signal());
	return status;
}
