// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_dump.c - how fast kmes-dump reads and prints, in events per second of one core.
 *
 * A simulator's ring is filled with events of 160 bytes with a payload of four fields;
 * then each kind of output is printed from it as a snapshot, several times. The results
 * are for everything from exec to exit, by CPU time and by wall clock; the best and the
 * median of several rounds are shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "kmes.h"

#define EVENTS 1500000u
#define ROUNDS 5
#define ARGS_MAX 16

/*
 * {user: "alice", pid: 4711, result: 0, path: "/usr/lib/x86_64-linux-gnu/li"}: 67 bytes
 */
static const char payload[] = "\x84\xa4user\xa5"
			      "alice\xa3pid\xcd\x12\x67\xa6result\x00\xa4path\xbc"
			      "/usr/lib/x86_64-linux-gnu/li";
static const char type[] = "audit.file.opens";

static void fill(void)
{
	struct kmes_record records[KMES_BATCH_MAX];
	struct kmes_error err = { "" };
	struct kmes_source *src;
	uint32_t i, emitted, total;

	for (i = 0; i < KMES_BATCH_MAX; i++)
		records[i] = (struct kmes_record){ type, payload, sizeof(payload) - 1,
						   sizeof(type) - 1 };
	if (kmes_source_open(&src, bench_source, NULL, &err))
		bench_die(err.text);
	for (total = 0; total < EVENTS; total += emitted)
		if (kmes_source_emit_batch(src, 0, records, KMES_BATCH_MAX, &emitted))
			bench_die("emit");
	kmes_source_close(src);
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

/* A child that copies a pipe to /dev/null, and the pipe to it. */
static pid_t start_cat(int *to)
{
	int fds[2], null;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		bench_die("pipe");
	pid = fork();
	if (pid < 0)
		bench_die("fork");
	if (!pid) {
		null = open("/dev/null", O_WRONLY);
		dup2(fds[0], STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	*to = fds[1];
	return pid;
}

struct cost {
	double cpu, wall;
};

static struct cost run(const char *const *args, bool to_pipe)
{
	double begin = bench_now();
	struct rusage usage;
	struct cost cost;
	int out, status;
	pid_t cat = -1, pid;

	if (to_pipe)
		cat = start_cat(&out);
	else
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid = bench_start(args, out);
	close(out);
	if (wait4(pid, &status, 0, &usage) < 0 || status)
		bench_die("kmes-dump failed");
	cost.wall = bench_now() - begin;
	cost.cpu = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
	if (to_pipe)
		waitpid(cat, NULL, 0);
	return cost;
}

static void measure(const char *name, bool to_pipe, const char *const *options)
{
	const char *args[ARGS_MAX] = { "kmes-dump", "-s", "-q", "-S", bench_source };
	double cpu[ROUNDS], wall[ROUNDS];
	struct cost cost;
	int i;

	for (i = 0; options[i]; i++)
		args[5 + i] = options[i];
	for (i = 0; i < ROUNDS; i++) {
		cost = run(args, to_pipe);
		cpu[i] = EVENTS / cost.cpu / 1e6;
		wall[i] = EVENTS / cost.wall / 1e6;
	}
	bench_sort(cpu, ROUNDS);
	bench_sort(wall, ROUNDS);
	printf("%-28s %6.2f %6.2f   %6.2f %6.2f\n", name, cpu[ROUNDS - 1],
	       cpu[ROUNDS / 2], wall[ROUNDS - 1], wall[ROUNDS / 2]);
	fflush(stdout);
}

#define MEASURE(name, to_pipe, ...)                                                      \
	measure(name, to_pipe, (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

int main(void)
{
	bench_sim_start("/tmp", "256M");
	fill();
	printf("million events/s of 160 bytes; of %d rounds\n", ROUNDS);
	printf("%-28s %6s %6s   %6s %6s\n", "", "CPU", "median", "wall", "median");
	MEASURE("text to /dev/null", false);
	MEASURE("text to a pipe", true);
	MEASURE("JSON to /dev/null", false, "-j");
	MEASURE("JSON to a pipe", true, "-j");
	MEASURE("hex to /dev/null", false, "-x");
	MEASURE("-t, none passes", false, "-t", "nothing.*");
	MEASURE("-m of two fields, none passes", false, "-m", "user=alice", "-m",
		"result<0");
	MEASURE("order of CPUs, text", false, "-O", "cpu");
	bench_sim_stop();
	return 0;
}
