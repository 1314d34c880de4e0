// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_run.c - the overhead of kmes-run for system calls that are not KMES's.
 *
 * It needs no module: commands are started by kmes-run's own functions, with its filter
 * and an unused listener, in turns with the same commands without a filter, and with a
 * filter of one statement that allows everything: the kernel's minimum for any filter.
 * Other load slows down adjacent runs alike, so the result is the ratio to the plain run
 * of the same round; shown are the median and its 95 % confidence interval. Target for
 * the wall time: a ratio of at most 1.02.
 *
 * KMES_BENCH_TREE is what tar archives (/usr/include), KMES_BENCH_ROUNDS the number of
 * builds (15); tar, which takes less time, runs TAR_ROUNDS times as often.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/kmes-run/run.h"

#define CALLS 2000000u
#define CALL_ROUNDS 11
#define MOST_ROUNDS 1000
#define TAR_ROUNDS 4

/* How a program is started. */
enum way { PLAIN, BARE_FILTER, KMES_RUN, WAYS };

static char folder[] = "/tmp/kmes-bench-run.XXXXXX";

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

static void install_bare_filter(void)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &pass };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &program) < 0)
		die("seccomp");
}

static pid_t start_alone(char **argv, enum way way)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (way == BARE_FILTER)
			install_bare_filter();
		execvp(argv[0], argv);
		_exit(RUN_NOT_FOUND);
	}
	if (pid < 0)
		die("fork");
	return pid;
}

/* Runs a shell command to its end. */
static struct cost run(const char *command, enum way way)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	struct run_program program = { .listener = -1 };
	struct cost cost = { -now(), -cpu_of_children() };
	int status;

	if (way != KMES_RUN)
		program.pid = start_alone(argv, way);
	else if (run_program_prepare(&program, argv) || run_program_start(&program, "sh"))
		exit(1);
	if (waitpid(program.pid, &status, 0) != program.pid || status) {
		fprintf(stderr, "bench_run: failed: %s\n", command);
		exit(1);
	}
	cost.wall += now();
	cost.cpu += cpu_of_children();
	if (program.listener >= 0)
		close(program.listener);
	return cost;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static double median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

/* The bounds are order statistics, by the normal approximation of the binomial. */
static void print_ratios(const char *what, double *values, unsigned int n)
{
	double middle = median(values, n);
	unsigned int off = 0;

	while (off < n / 2 && off * off < n)
		off++;
	printf(" %s %.3f (%.3f to %.3f)", what, middle, values[n / 2 - off],
	       values[n / 2 + off < n ? n / 2 + off : n - 1]);
}

/* `prepare` is not timed. */
static void compare_runs(const char *name, const char *prepare, const char *command,
			 unsigned int rounds)
{
	static double wall[WAYS][TAR_ROUNDS * MOST_ROUNDS],
		cpu[WAYS][TAR_ROUNDS * MOST_ROUNDS];

	/* Once to warm the caches. */
	run(prepare, PLAIN);
	run(command, PLAIN);
	for (unsigned int i = 0; i < rounds; i++) {
		struct cost cost[WAYS];

		/* The order rotates. */
		for (unsigned int turn = 0; turn < WAYS; turn++) {
			enum way way = (turn + i) % WAYS;

			run(prepare, PLAIN);
			cost[way] = run(command, way);
		}
		wall[PLAIN][i] = cost[PLAIN].wall;
		for (enum way way = BARE_FILTER; way < WAYS; way++) {
			wall[way][i] = cost[way].wall / cost[PLAIN].wall;
			cpu[way][i] = cost[way].cpu / cost[PLAIN].cpu;
		}
	}
	printf("run, %s: %.2f s; of that, aim 1.02, by kmes-run", name,
	       median(wall[PLAIN], rounds));
	print_ratios("wall", wall[KMES_RUN], rounds);
	print_ratios("cpu", cpu[KMES_RUN], rounds);
	printf(", behind any filter");
	print_ratios("wall", wall[BARE_FILTER], rounds);
	print_ratios("cpu", cpu[BARE_FILTER], rounds);
	printf("; %u rounds\n", rounds);
	fflush(stdout);
}

/* Nanoseconds per call, in a child that may have a filter. */
static double time_getppid(enum way way)
{
	double ns = 0;
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		die("fork");
	if (pid == 0) {
		double start;

		if (way == BARE_FILTER)
			install_bare_filter();
		if (way == KMES_RUN && run_filter_install() < 0)
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
	double ns[WAYS][CALL_ROUNDS];

	for (unsigned int i = 0; i < CALL_ROUNDS; i++)
		for (enum way way = PLAIN; way < WAYS; way++)
			ns[way][i] = time_getppid(way);
	printf("run, getppid: %.1f ns, by kmes-run %.1f ns, behind any filter %.1f ns "
	       "(medians of %d)\n",
	       median(ns[PLAIN], CALL_ROUNDS), median(ns[KMES_RUN], CALL_ROUNDS),
	       median(ns[BARE_FILTER], CALL_ROUNDS), CALL_ROUNDS);
}

static void read_settings(const char **tree, unsigned int *rounds)
{
	const char *number = getenv("KMES_BENCH_ROUNDS");

	*tree = getenv("KMES_BENCH_TREE");
	if (!*tree)
		*tree = "/usr/include";
	if (number)
		*rounds = (unsigned int)strtoul(number, NULL, 10);
	if (*rounds < 1 || *rounds > MOST_ROUNDS) {
		fprintf(stderr, "bench_run: KMES_BENCH_ROUNDS is not 1 to %d\n",
			MOST_ROUNDS);
		exit(1);
	}
}

int main(void)
{
	char prepare[256], command[4096];
	unsigned int rounds = 15;
	const char *tree;

	read_settings(&tree, &rounds);
	if (!mkdtemp(folder))
		die(folder);
	atexit(clean_up);
	compare_getppid();
	snprintf(command, sizeof(command), "tar -cf - -C '%s' . | cat >/dev/null", tree);
	compare_runs("tar over a source tree", "true", command, TAR_ROUNDS * rounds);
	/* This project's library, in a separate folder, without make's own variables. */
	snprintf(prepare, sizeof(prepare), "rm -rf %s/b", folder);
	snprintf(
		command, sizeof(command),
		"env -u MAKEFLAGS -u MAKELEVEL make -s -j2 B=%s/b CFLAGS=-O0 %s/b/lib/libkmes.a",
		folder, folder);
	compare_runs("parallel build", prepare, command, rounds);
	return 0;
}
