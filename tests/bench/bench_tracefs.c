/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * bench_tracefs.c - trace records to text, a second of one core: kmes-dump beside
 * trace_pipe, perf script and trace-cmd report.
 *
 * A program makes system calls on one CPU while the reader is stopped, then the events
 * are switched off and the reader goes on; its CPU time until the buffer is empty counts,
 * so that other load on the machine disturbs little. All read the same kind of record,
 * in turn; of a few rounds the best is shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing"
#define CALLS 50000 /* fit into the 4 MiB of a buffer */
#define ROUNDS 5
#define PATH_SIZE 256

static char own[PATH_SIZE]; /* trace_pipe's instance */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void nap_ms(long ms)
{
	struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[2 * PATH_SIZE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		fprintf(stderr, "bench_tracefs: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
}

/* Records in the buffer of CPU 0. */
static double entries(const char *folder)
{
	char path[2 * PATH_SIZE];
	unsigned long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu0/stats", folder);
	f = fopen(path, "r");
	if (!f || fscanf(f, "entries: %lu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return (double)n;
}

static void make_calls(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		cpu_set_t set;
		int i;

		CPU_ZERO(&set);
		CPU_SET(0, &set);
		sched_setaffinity(0, sizeof(set), &set);
		for (i = 0; i < CALLS; i++)
			getppid();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void say(const char *name, double best)
{
	if (best > 0)
		printf("%-24s %7.2f million/s\n", name, best / 1e6);
	else
		printf("%-24s not measured\n", name);
}

/* ---- kmes-dump ---- */

/* The instance of a kmes-dump that reads by now; false: not yet. */
static int find_instance(pid_t pid, char *folder)
{
	char command[2 * PATH_SIZE];
	FILE *f;
	int found;

	snprintf(command, sizeof(command),
		 "grep -q trace_pipe_raw /proc/%d/maps && echo " TRACING
		 "/instances/kmes-%d-*",
		 (int)pid, (int)pid);
	f = popen(command, "r");
	found = f && fscanf(f, "%255s", folder) == 1;
	if (f)
		pclose(f);
	return found;
}

static double run_dump(const char *program)
{
	char folder[PATH_SIZE];
	uint64_t before;
	double records;
	clockid_t clock;
	int i, found = 0;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl(program, program, "-q", "-c0", "-S",
		      "tracefs:raw_syscalls/sys_enter", (char *)NULL);
		_exit(127);
	}
	for (i = 0; i < 500 && !found; i++) {
		nap_ms(10);
		found = find_instance(pid, folder);
	}
	if (!found) {
		kill(pid, SIGTERM);
		waitpid(pid, NULL, 0);
		return 0;
	}
	kill(pid, SIGSTOP);
	nap_ms(20);
	make_calls();
	put(folder, "events/raw_syscalls/sys_enter/enable", "0");
	records = entries(folder);
	clock_getcpuclockid(pid, &clock);
	before = clock_ns(clock);
	kill(pid, SIGCONT);
	for (i = 0; i < 1000 && entries(folder) > 0; i++)
		nap_ms(10);
	nap_ms(50); /* what was read is printed */
	before = clock_ns(clock) - before;
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return records * 1e9 / (double)before;
}

/* ---- peers ---- */

static double run_trace_pipe(void)
{
	static char text[1 << 16];
	char path[2 * PATH_SIZE];
	uint64_t before;
	double records;
	int fd;

	put(own, "trace", "");
	put(own, "events/raw_syscalls/sys_enter/enable", "1");
	make_calls();
	put(own, "events/raw_syscalls/sys_enter/enable", "0");
	records = entries(own);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu0/trace_pipe", own);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return 0;
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (read(fd, text, sizeof(text)) > 0)
		;
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	close(fd);
	return records * 1e9 / (double)before;
}

static double child_seconds(void)
{
	struct rusage ru;

	getrusage(RUSAGE_CHILDREN, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

/* Records with one command, prints with another: 0 where that is not installed. */
static double run_recorded(const char *record, const char *print, const char *count)
{
	unsigned long records = 0;
	double seconds;
	FILE *f;

	if (system(record))
		return 0;
	f = popen(count, "r");
	if (!f || fscanf(f, "%lu", &records) != 1)
		records = 0;
	if (f)
		pclose(f);
	seconds = child_seconds();
	if (!records || system(print))
		return 0;
	return (double)records / (child_seconds() - seconds);
}

#define DD "dd if=/dev/zero of=/dev/null bs=1 count=25000 status=none"
#define DATA "/tmp/kmes-bench-trace.data"

static double run_perf(void)
{
	return run_recorded("perf record -q -o " DATA " -e raw_syscalls:sys_enter " DD
			    " >/dev/null 2>&1",
			    "perf script -i " DATA " >/dev/null 2>&1",
			    "perf script -i " DATA " 2>/dev/null | wc -l");
}

static double run_trace_cmd(void)
{
	return run_recorded("trace-cmd record -q -o " DATA
			    " -e raw_syscalls:sys_enter " DD " >/dev/null 2>&1",
			    "trace-cmd report -q -i " DATA " >/dev/null 2>&1",
			    "trace-cmd report -q -i " DATA " 2>/dev/null | wc -l");
}

static void keep_best(double *best, double now)
{
	if (now > *best)
		*best = now;
}

int main(void)
{
	const char *bin = getenv("KMES_BIN");
	double dump = 0, pipe = 0, perf = 0, trace_cmd = 0, peer;
	char program[PATH_SIZE];
	int i;

	snprintf(program, sizeof(program), "%s/kmes-dump", bin ? bin : "build/bin");
	snprintf(own, sizeof(own), TRACING "/instances/kmes-bench-%d", (int)getpid());
	if (mkdir(own, 0700) < 0) {
		printf("skipped: %s: %s\n", own, strerror(errno));
		return 0;
	}
	put(own, "buffer_size_kb", "4096");
	for (i = 0; i < ROUNDS; i++) {
		keep_best(&dump, run_dump(program));
		keep_best(&pipe, run_trace_pipe());
		keep_best(&perf, run_perf());
		keep_best(&trace_cmd, run_trace_cmd());
	}
	unlink(DATA);
	rmdir(own);
	say("kmes-dump", dump);
	say("trace_pipe", pipe);
	say("perf script", perf);
	say("trace-cmd report", trace_cmd);
	peer = pipe > perf ? pipe : perf;
	if (trace_cmd > peer)
		peer = trace_cmd;
	if (peer > 0)
		printf("%-24s %7.2f\n", "times the fastest", dump / peer);
	return 0;
}
