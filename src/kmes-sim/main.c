// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* main.c - kmes-sim: KMES in user space, for machines without the module. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/cli.h"
#include "options.h"
#include "sim.h"

/* Sets up everything that clients need. 0, or -1 after a message. */
static int sim_open(struct sim *sim, const struct sim_options *options)
{
	int rc;

	sim->options = options;
	sim->epoll = sim->listener.fd = sim->load.fd = sim->demo.fd = -1;
	sim_peers_init(&sim->peers, options->max_emit_rate);
	sim->self = sim_peers_get(&sim->peers, getpid());
	if (!sim->self)
		cli_no_memory();
	if (getrandom(sim->stream_id, sizeof(sim->stream_id), 0) < 0) {
		cli_error("cannot get a random stream id: %s", strerror(errno));
		return -1;
	}
	rc = sim_slots_init(&sim->slots, options->slots, &options->holes,
			    options->capacity);
	if (rc < 0) {
		cli_error("cannot create %u rings of %llu bytes: %s", options->slots,
			  (unsigned long long)options->capacity, strerror(-rc));
		return -1;
	}
	if (sim_server_open(sim) < 0)
		return -1;
	if (options->load)
		rc = sim_load_start(sim);
	if (rc == 0 && options->demo)
		rc = sim_demo_start(sim);
	if (rc < 0)
		cli_error("cannot start a timer: %s", strerror(-rc));
	return rc;
}

static void sim_close(struct sim *sim)
{
	sim_server_close(sim);
	if (sim->load.fd >= 0)
		close(sim->load.fd);
	if (sim->demo.fd >= 0)
		close(sim->demo.fd);
	sim_slots_fini(&sim->slots);
	sim_peers_fini(&sim->peers);
}

/*
 * Prints the line that reports readiness, then replaces standard output, so that a reader
 * that waits for its end continues.
 */
static int report_ready(const struct sim *sim)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "kmes-sim: ready on %s\n",
			 sim->options->address.sun_path);
	int rc = cli_write_all(STDOUT_FILENO, line, n);
	int fd;

	if (rc < 0) {
		if (rc != -EPIPE)
			cli_error("cannot write to standard output: %s", strerror(-rc));
		return rc;
	}
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		close(fd);
	}
	return 0;
}

static int run(const struct sim_options *options, int ready_fd)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	int status = CLI_FAILED, rc;

	if (!sim)
		cli_no_memory();
	cli_stop_catch();
	cli_stop_on(SIGHUP);
	if (sim_open(sim, options) == 0) {
		rc = report_ready(sim);
		if (rc == -EPIPE)
			status = CLI_DONE;
		if (rc == 0 && sim_daemon_ready(ready_fd)) {
			sim_server_run(sim);
			status = CLI_DONE;
		}
	}
	sim_close(sim);
	free(sim);
	return status;
}

int main(int argc, char **argv)
{
	struct sim_options options;
	int ready_fd = -1;

	sim_options_parse(&options, argc, argv);
	if (options.daemon)
		ready_fd = sim_daemon_start();
	return run(&options, ready_fd);
}
