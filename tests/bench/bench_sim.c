// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_sim.c - how fast the simulator accepts events, and how fast it generates its own.
 *
 * The generator runs at full speed in this process. For the socket a simulator runs in a
 * child: batches and single events of 160 bytes, and trivial requests.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/kmes-sim/sim.h"

#define SLOTS 4
#define SECOND 1000000000ull

static char folder[] = "/tmp/kmes-bench.XXXXXX";
static struct sim_options options = {
	.slots = SLOTS,
	.capacity = KMES_CAPACITY_DEFAULT,
	.limits = { KMES_EVENT_SIZE_DEFAULT, KMES_DEPTH_DEFAULT },
	.max_emit_rate = KMES_RATE_DEFAULT,
	.exempt = true,
	.load = 100000000,
};

static struct sim *make_sim(void)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim ||
	    sim_slots_init(&sim->slots, SLOTS, &options.holes, options.capacity) < 0)
		exit(1);
	sim->options = &options;
	sim_peers_init(&sim->peers, options.max_emit_rate);
	sim->self = sim_peers_get(&sim->peers, getpid());
	sim->epoll = sim->listener.fd = -1;
	return sim;
}

static void bench_load(void)
{
	struct sim *sim = make_sim();
	uint64_t start;

	sim->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sim_load_start(sim) < 0)
		exit(1);
	sim->load_due.filled_ns -= SECOND;
	start = kmesp_clock_ns(CLOCK_MONOTONIC);
	while (kmesp_clock_ns(CLOCK_MONOTONIC) < start + SECOND)
		sim->load.ready(sim, &sim->load);
	printf("--load at its limit        %8.2f million events/s\n",
	       (double)sim->load_count * 1e3 /
		       (double)(kmesp_clock_ns(CLOCK_MONOTONIC) - start));
	sim_slots_fini(&sim->slots);
	sim_peers_fini(&sim->peers);
	close(sim->load.fd);
	close(sim->epoll);
	free(sim);
}

static pid_t start_server(void)
{
	pid_t child = fork();
	struct sim *sim;

	if (child)
		return child;
	sim = make_sim();
	if (sim_server_open(sim) < 0)
		_exit(1);
	_exit(sim_server_run(sim) < 0);
}

/* Calls `step` for a second; returns calls per second. */
static double rate_of(int (*step)(struct kmes_source *src), struct kmes_source *src)
{
	uint64_t start = kmesp_clock_ns(CLOCK_MONOTONIC), n = 0, now;

	do {
		if (step(src) < 0) {
			fprintf(stderr, "bench_sim: the simulator refuses\n");
			exit(1);
		}
		n++;
		now = kmesp_clock_ns(CLOCK_MONOTONIC);
	} while (now < start + SECOND);
	return (double)n * 1e9 / (double)(now - start);
}

/* {user: "alice", pid: 4711, result: 0, path: "/usr/lib/x86_64-linux-gnu/li"} */
static const char payload[] = "\x84\xa4user\xa5"
			      "alice\xa3pid\xcd\x12\x67\xa6result\x00\xa4path\xbc"
			      "/usr/lib/x86_64-linux-gnu/li";
static const struct kmes_record event = {
	.type = "audit.file.opens",
	.type_len = 16,
	.payload = payload,
	.payload_len = sizeof(payload) - 1,
};

static int emit_batch(struct kmes_source *src)
{
	static struct kmes_record records[KMES_BATCH_MAX];
	uint32_t i, emitted;

	if (!records[0].type)
		for (i = 0; i < KMES_BATCH_MAX; i++)
			records[i] = event;
	return kmes_source_emit_batch(src, SIM_CPU_ANY, records, KMES_BATCH_MAX,
				      &emitted);
}

static int emit_one(struct kmes_source *src)
{
	return kmes_source_emit(src, SIM_CPU_ANY, &event);
}

static int ask_counters(struct kmes_source *src)
{
	struct kmes_counters counters;

	return kmes_source_counters(src, 0, &counters);
}

static void bench_socket(const char *name)
{
	struct kmes_source *src = NULL;
	struct kmes_error err;
	int tries = 500;

	while (kmes_source_open(&src, name, NULL, &err) < 0 && --tries)
		usleep(10000);
	if (!src) {
		fprintf(stderr, "bench_sim: %s\n", err.text);
		exit(1);
	}
	printf("batches of 256 by socket   %8.2f million events/s\n",
	       rate_of(emit_batch, src) * KMES_BATCH_MAX / 1e6);
	printf("single events by socket    %8.2f thousand events/s\n",
	       rate_of(emit_one, src) / 1e3);
	printf("counters by socket         %8.2f thousand requests/s\n",
	       rate_of(ask_counters, src) / 1e3);
	kmes_source_close(src);
}

int main(void)
{
	char path[64], name[80];
	pid_t child;

	bench_load();
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/s", folder);
	snprintf(name, sizeof(name), "sim:%s", path);
	kmesp_sim_address(&options.address, path);
	fflush(stdout);
	child = start_server();
	if (child < 0)
		return 1;
	bench_socket(name);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
	rmdir(folder);
	return 0;
}
