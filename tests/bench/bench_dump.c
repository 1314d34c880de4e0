// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_dump.c - how fast kmes-dump reads and prints, in events a second of one core.
 *
 * A simulator's ring is filled with events of 160 bytes with a payload of four fields;
 * then each kind of output is printed from it as a snapshot, a few times. The figures
 * count everything from exec to exit against the CPU time that kmes-dump took, and
 * against the wall clock; of a few rounds the best and the median are shown.
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

#include "kmes.h"

#define EVENTS 1500000u
#define ROUNDS 5
#define ARGS_MAX 16

static const char *bin_dir;
static char folder[] = "/tmp/kmes-bench.XXXXXX";
static char source[64];
static pid_t simulator;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench_dump: %s: %s\n", what, strerror(errno));
	if (simulator > 0)
		kill(simulator, SIGTERM);
	exit(1);
}

/* Starts a program of ours with its stdout on `out`. */
static pid_t start(const char *program, const char *const *args, int out)
{
	const char *argv[ARGS_MAX + 2] = { program };
	char path[4096];
	pid_t pid;
	int i;

	for (i = 0; args[i] && i < ARGS_MAX; i++)
		argv[i + 1] = args[i];
	snprintf(path, sizeof(path), "%s/%s", bin_dir, program);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	execv(path, (char *const *)argv);
	fprintf(stderr, "bench_dump: %s: %s\n", path, strerror(errno));
	_exit(127);
}

static void simulator_start(void)
{
	static char socket_arg[64];
	static const char *const args[] = { socket_arg, "--slots=1", "--capacity=256M",
					    "--exempt", NULL };
	char line[256];
	int fds[2];
	FILE *out;

	if (!mkdtemp(folder) || pipe2(fds, O_CLOEXEC) < 0)
		die("setup");
	snprintf(socket_arg, sizeof(socket_arg), "--socket=%s/sock", folder);
	snprintf(source, sizeof(source), "sim:%s/sock", folder);
	simulator = start("kmes-sim", args, fds[1]);
	close(fds[1]);
	out = fdopen(fds[0], "r");
	if (!out || !fgets(line, sizeof(line), out))
		die("kmes-sim does not start");
}

static void simulator_stop(void)
{
	kill(simulator, SIGTERM);
	waitpid(simulator, NULL, 0);
	rmdir(folder);
}

/* {user: "alice", pid: 4711, result: 0, path: "/usr/lib/x86_64-linux-gnu/li"}: 67 bytes */
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
	if (kmes_source_open(&src, source, NULL, &err)) {
		fprintf(stderr, "bench_dump: %s\n", err.text);
		exit(1);
	}
	for (total = 0; total < EVENTS; total += emitted)
		if (kmes_source_emit_batch(src, 0, records, KMES_BATCH_MAX, &emitted))
			die("emit");
	kmes_source_close(src);
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* A child that copies what comes through a pipe to /dev/null, and the pipe to it. */
static pid_t start_cat(int *to)
{
	int fds[2], null;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
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
	double begin = now();
	struct rusage usage;
	struct cost cost;
	int out, status;
	pid_t cat = -1, pid;

	if (to_pipe)
		cat = start_cat(&out);
	else
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid = start("kmes-dump", args, out);
	close(out);
	if (wait4(pid, &status, 0, &usage) < 0 || status)
		die("kmes-dump failed");
	cost.wall = now() - begin;
	cost.cpu = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
	if (to_pipe)
		waitpid(cat, NULL, 0);
	return cost;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name, bool to_pipe, const char *const *options)
{
	const char *args[ARGS_MAX + 1] = { "-s", "-q", "-S", source };
	double cpu[ROUNDS], wall[ROUNDS];
	struct cost cost;
	int i;

	for (i = 0; options[i]; i++)
		args[4 + i] = options[i];
	for (i = 0; i < ROUNDS; i++) {
		cost = run(args, to_pipe);
		cpu[i] = EVENTS / cost.cpu / 1e6;
		wall[i] = EVENTS / cost.wall / 1e6;
	}
	qsort(cpu, ROUNDS, sizeof(cpu[0]), ascending);
	qsort(wall, ROUNDS, sizeof(wall[0]), ascending);
	printf("%-28s %6.2f %6.2f   %6.2f %6.2f\n", name, cpu[ROUNDS - 1],
	       cpu[ROUNDS / 2], wall[ROUNDS - 1], wall[ROUNDS / 2]);
	fflush(stdout);
}

#define MEASURE(name, to_pipe, ...)                                                      \
	measure(name, to_pipe, (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

int main(void)
{
	bin_dir = getenv("KMES_BIN") ? getenv("KMES_BIN") : "build/bin";
	simulator_start();
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
	simulator_stop();
	return 0;
}
