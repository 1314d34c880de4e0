/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * bench_run.c - what a program pays under kmes-run for calls that are not KMES's.
 *
 * It needs no module: commands are started by kmes-run's own functions, behind its filter
 * and with a listener that nobody calls, in turns with the same commands started plainly.
 * Of each pair of runs the ratio of their times counts, since a busy machine slows down
 * both; shown are the median and the quartiles, and the ratio of the least times of all,
 * which are those that others disturbed least. Aim: a ratio of at most 1.02.
 *
 * KMES_BENCH_TREE is what tar packs (/usr/include), KMES_BENCH_PAIRS how often (15).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/kmes-run/run.h"

#define CALLS 2000000u
#define CALL_PAIRS 11
#define MOST_PAIRS 1000

static char folder[] = "/tmp/kmes-bench-run.XXXXXX";
static unsigned int pairs = 15;

static void clean_up(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		fprintf(stderr, "bench_run: %s is left behind\n", folder);
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench_run: %s: %s\n", what, strerror(errno));
	exit(1);
}

struct cost {
	double wall, cpu; /* seconds */
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu_of_children(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static pid_t start_plain(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(RUN_NOT_FOUND);
	}
	if (pid < 0)
		die("fork");
	return pid;
}

/* Runs a shell command to its end, plainly or as kmes-run starts a program. */
static struct cost run(const char *command, bool behind_filter)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	struct run_program program = { .listener = -1 };
	struct cost cost = { -now(), -cpu_of_children() };
	int status;

	if (!behind_filter)
		program.pid = start_plain(argv);
	else if (run_program_prepare(&program, argv) || run_program_start(&program, "sh"))
		exit(1);
	if (waitpid(program.pid, &status, 0) != program.pid || status) {
		fprintf(stderr, "bench_run: failed: %s\n", command);
		exit(1);
	}
	cost.wall += now();
	cost.cpu += cpu_of_children();
	if (behind_filter)
		close(program.listener);
	return cost;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value below which so many of four parts lie; sorts. */
static double quartile(double *values, unsigned int n, unsigned int which)
{
	qsort(values, n, sizeof(*values), compare);
	return values[(n - 1) * which / 4];
}

static void print_ratios(const char *what, double *values, unsigned int n)
{
	printf(", %s %.4f (%.4f to %.4f)", what, quartile(values, n, 2),
	       quartile(values, n, 1), quartile(values, n, 3));
}

static struct cost least_of(struct cost a, struct cost b)
{
	return (struct cost){ a.wall < b.wall ? a.wall : b.wall,
			      a.cpu < b.cpu ? a.cpu : b.cpu };
}

/* What `prepare` does is not part of the time. */
static void compare_runs(const char *name, const char *prepare, const char *command)
{
	static double wall[MOST_PAIRS], cpu[MOST_PAIRS], plain[MOST_PAIRS];
	struct cost least[2] = { { 1e9, 1e9 }, { 1e9, 1e9 } };

	/* Once for the caches. */
	run(prepare, false);
	run(command, false);
	for (unsigned int i = 0; i < pairs; i++) {
		struct cost cost[2];

		/* Who is the first changes, too. */
		for (unsigned int turn = 0; turn < 2; turn++) {
			bool behind = (turn + i) % 2;

			run(prepare, false);
			cost[behind] = run(command, behind);
			least[behind] = least_of(least[behind], cost[behind]);
		}
		plain[i] = cost[0].wall;
		wall[i] = cost[1].wall / cost[0].wall;
		cpu[i] = cost[1].cpu / cost[0].cpu;
	}
	printf("run, %s: %.2f s without; with, of that", name, quartile(plain, pairs, 2));
	print_ratios("wall", wall, pairs);
	print_ratios("cpu", cpu, pairs);
	printf("; least wall %.4f, least cpu %.4f; %u pairs, aim 1.02\n",
	       least[1].wall / least[0].wall, least[1].cpu / least[0].cpu, pairs);
	fflush(stdout);
}

/* Nanoseconds a call, in a child that may be behind the filter. */
static double time_getppid(bool behind_filter)
{
	double ns = 0;
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		die("fork");
	if (pid == 0) {
		double start;

		if (behind_filter && run_filter_install() < 0)
			die("seccomp");
		start = now();
		for (unsigned int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		ns = (now() - start) * 1e9 / CALLS;
		_exit(write(ends[1], &ns, sizeof(ns)) != sizeof(ns));
	}
	close(ends[1]);
	if (read(ends[0], &ns, sizeof(ns)) != sizeof(ns))
		die("getppid");
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return ns;
}

static void compare_getppid(void)
{
	double without[CALL_PAIRS], with[CALL_PAIRS];

	for (unsigned int i = 0; i < CALL_PAIRS; i++) {
		without[i] = time_getppid(false);
		with[i] = time_getppid(true);
	}
	printf("run, getppid: %.1f ns without, %.1f ns with (medians of %d)\n",
	       quartile(without, CALL_PAIRS, 2), quartile(with, CALL_PAIRS, 2),
	       CALL_PAIRS);
}

static void read_settings(const char **tree)
{
	const char *number = getenv("KMES_BENCH_PAIRS");

	*tree = getenv("KMES_BENCH_TREE");
	if (!*tree)
		*tree = "/usr/include";
	if (number)
		pairs = (unsigned int)strtoul(number, NULL, 10);
	if (pairs < 1 || pairs > MOST_PAIRS) {
		fprintf(stderr, "bench_run: KMES_BENCH_PAIRS is not 1 to %d\n",
			MOST_PAIRS);
		exit(1);
	}
}

int main(void)
{
	char prepare[256], command[4096];
	const char *tree;

	read_settings(&tree);
	if (!mkdtemp(folder))
		die(folder);
	atexit(clean_up);
	compare_getppid();
	snprintf(command, sizeof(command), "tar -cf - -C '%s' . | cat >/dev/null", tree);
	compare_runs("tar over a source tree", "true", command);
	/* This project's library, in a folder of its own; make's own variables are not it. */
	snprintf(prepare, sizeof(prepare), "rm -rf %s/b", folder);
	snprintf(
		command, sizeof(command),
		"env -u MAKEFLAGS -u MAKELEVEL make -s -j2 B=%s/b CFLAGS=-O0 %s/b/lib/libkmes.a",
		folder, folder);
	compare_runs("parallel build", prepare, command);
	return 0;
}
