// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * main.c - kmes-wait: blocks until an event, a resize, a loss, or the absence of events.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "wait.h"

enum { EXIT_COMMAND = 3, EXIT_TIMEOUT = 124 };

static bool has_ring(void *reader, uint16_t cpu)
{
	return reader && kmes_reader_has_cpu(reader, cpu);
}

/* Attaches to the rings; events from then on are not missed. */
static struct kmes_reader *open_reader(const struct wait_opts *opts, struct cli *cli,
				       struct kmes_source *src)
{
	struct kmes_reader_options options = {
		.cpus = cli->cpus.count ? &cli->cpus.set : NULL,
		.order = opts->surviving ? KMES_ORDER_TIME : KMES_ORDER_CPU,
		.only_new = !opts->surviving,
	};
	struct kmes_error err = { "" };
	struct kmes_reader *reader = NULL;
	int rc = kmes_reader_open(&reader, src, &options, &err);

	if (!rc || rc == -ENODEV)
		cli_check_cpus(cli, has_ring, reader);
	if (rc) {
		cli_source_die_if_stopped(src);
		cli_error("%s", *err.text ? err.text : strerror(-rc));
		exit(CLI_FAILED);
	}
	return reader;
}

static int end_status(enum wait_end end)
{
	switch (end) {
	case WAIT_END_MET:
	case WAIT_END_OUTPUT:
		return CLI_DONE;
	case WAIT_END_TIMEOUT:
		return EXIT_TIMEOUT;
	case WAIT_END_COMMAND:
		return EXIT_COMMAND;
	case WAIT_END_SIGNAL:
	case WAIT_END_FAILED:
		break;
	}
	return CLI_FAILED;
}

static void report_end(const struct wait_opts *opts, enum wait_end end,
		       const struct wait_command *command)
{
	if (opts->quiet)
		return;
	if (end == WAIT_END_TIMEOUT && command->pid && !command->has_ended)
		cli_warn("timed out; %s still runs as process %d", opts->command[0],
			 (int)command->pid);
	else if (end == WAIT_END_TIMEOUT)
		cli_warn("timed out");
	else if (end == WAIT_END_COMMAND && WIFSIGNALED(command->status))
		cli_warn("%s was killed by signal %d first", opts->command[0],
			 WTERMSIG(command->status));
	else if (end == WAIT_END_COMMAND)
		cli_warn("%s exited with status %d first", opts->command[0],
			 WEXITSTATUS(command->status));
}

int main(int argc, char **argv)
{
	struct wait_command command = { 0 };
	struct cli_printer printer;
	struct kmes_reader *reader;
	struct kmes_source *src;
	struct wait_opts opts;
	struct cli cli;
	enum wait_end end;
	bool reader_is_gone;
	int status;

	wait_options_parse(&opts, &cli, argc, argv);
	cli_stop_catch();
	cli_stop_on(SIGHUP);
	src = cli_source_open(&cli);
	reader = open_reader(&opts, &cli, src);
	status = opts.command ? wait_command_start(&command, opts.command) : 0;
	if (status)
		exit(status);
	cli_print_open(&printer, &opts.print);

	end = wait_run(&opts, reader, &command, &printer);

	status = cli_status_max(end_status(end),
				cli_print_close(&printer, &reader_is_gone));
	report_end(&opts, end, &command);
	kmes_reader_close(reader);
	cli_source_close(src);
	wait_options_fini(&opts);
	cli_end(&cli);
	if (end == WAIT_END_SIGNAL) {
		wait_command_signal(&command, cli_stop_signal());
		cli_die_by_signal(cli_stop_signal());
	}
	return status;
}
