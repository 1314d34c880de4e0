// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* bench.c - processes of the benchmarks, their simulator and clock. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char bench_folder[64], bench_source[128];
static pid_t simulator;

void bench_sim_stop(void)
{
	char command[128];

	if (simulator > 0) {
		kill(simulator, SIGTERM);
		waitpid(simulator, NULL, 0);
	}
	simulator = 0;
	snprintf(command, sizeof(command), "rm -rf %s", bench_folder);
	if (bench_folder[0] && system(command))
		fprintf(stderr, "bench: cannot remove %s\n", bench_folder);
}

_Noreturn void bench_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	bench_sim_stop();
	exit(1);
}

pid_t bench_start(const char *const *argv, int out)
{
	const char *bin = getenv("KMES_BIN");
	char path[4096];
	pid_t pid = fork();

	if (pid < 0)
		bench_die("fork");
	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	snprintf(path, sizeof(path), "%s/%s", bin ? bin : "build/bin", argv[0]);
	if (!strncmp(argv[0], "kmes-", 5))
		execv(path, (char *const *)argv);
	else
		execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

void bench_sim_start(const char *parent, const char *capacity)
{
	char socket_arg[96], capacity_arg[32], line[256];
	const char *const argv[] = { "kmes-sim",   socket_arg, "--slots=1",
				     capacity_arg, "--exempt", NULL };
	int fds[2];
	FILE *out;

	snprintf(bench_folder, sizeof(bench_folder), "%s/kmes-bench.XXXXXX", parent);
	if (!mkdtemp(bench_folder) || pipe2(fds, O_CLOEXEC) < 0)
		bench_die("setup");
	snprintf(socket_arg, sizeof(socket_arg), "--socket=%s/sock", bench_folder);
	snprintf(bench_source, sizeof(bench_source), "sim:%s/sock", bench_folder);
	snprintf(capacity_arg, sizeof(capacity_arg), "--capacity=%s", capacity);
	simulator = bench_start(argv, fds[1]);
	close(fds[1]);
	out = fdopen(fds[0], "r");
	if (!out || !fgets(line, sizeof(line), out))
		bench_die("kmes-sim does not start");
}

double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), ascending);
}
