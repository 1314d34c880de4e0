// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_tracefs.c - trace records printed per second: kmes-dump, trace_pipe, trace-cmd
 * report and perf script.
 *
 * A program makes system calls on one CPU, whose sys_enter records stay in a buffer or a
 * file; only then does the reader, on another CPU, print them to /dev/null. So no reader
 * waits for records, and CPU and wall time are nearly equal. All are measured in turn,
 * for several rounds; the best round of each is shown. Readers of files get more records,
 * so that their startup matters less.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
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
#define ENABLE "events/raw_syscalls/sys_enter/enable"
#define LOAD_CPU 0
#define CALLS 50000	  /* fit in the 4 MiB of kmes-dump's buffer */
#define FILE_CALLS 200000 /* and these into OWN_KB */
#define OWN_KB "20480"
#define ROUNDS 5
#define PATH_SIZE 256

struct speed {
	double cpu, wall; /* records per second */
	char why_not[128];
};

static char own[PATH_SIZE];    /* an instance for the peers */
static char folder[PATH_SIZE]; /* for their files */
static char self[PATH_SIZE], dump_program[PATH_SIZE];
static int reader_cpu;

/* ---- helpers ---- */

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void nap_us(long us)
{
	struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void clean_up(void)
{
	char command[2 * PATH_SIZE];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (*folder && system(command))
		perror(folder);
	if (*own)
		rmdir(own);
}

static void put(const char *instance, const char *name, const char *text)
{
	char path[2 * PATH_SIZE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		fprintf(stderr, "bench_tracefs: %s: %s\n", path, strerror(errno));
		clean_up();
		exit(1);
	}
	close(fd);
}

/* Records in the buffer of the load's CPU. */
static double entries(const char *instance)
{
	char path[2 * PATH_SIZE];
	unsigned long n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", instance, LOAD_CPU);
	f = fopen(path, "r");
	if (!f || fscanf(f, "entries: %lu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return (double)n;
}

static int make_calls(int calls)
{
	run_on(LOAD_CPU);
	while (calls--)
		getppid();
	return 0;
}

/* The load in an instance, and nothing after it; returns the number of records. */
static double load(const char *instance, int calls)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(make_calls(calls));
	waitpid(pid, NULL, 0);
	put(instance, ENABLE, "0");
	return entries(instance);
}

static void keep_best(struct speed *best, double records, double cpu, double wall)
{
	if (records > 0 && records / cpu > best->cpu)
		best->cpu = records / cpu;
	if (records > 0 && records / wall > best->wall)
		best->wall = records / wall;
}

static void set_why(struct speed *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->why_not, sizeof(s->why_not), format, args);
	va_end(args);
}

/* Runs a shell command on the reader's CPU: 0, or an error. */
static int run_command(double *cpu, double *wall, const char *format, ...)
{
	char command[4 * PATH_SIZE];
	struct rusage ru;
	va_list args;
	int status;
	pid_t pid;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	*wall = now(CLOCK_MONOTONIC);
	pid = fork();
	if (pid == 0) {
		run_on(reader_cpu);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &ru) < 0)
		return -1;
	*wall = now(CLOCK_MONOTONIC) - *wall;
	*cpu = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	return status;
}

static int is_installed(const char *program)
{
	double cpu, wall;

	return run_command(&cpu, &wall, "command -v %s >/dev/null", program) == 0;
}

/* ---- kmes-dump ---- */

/* The instance of a running kmes-dump; false: none yet. */
static int find_instance(pid_t pid, char *instance)
{
	char command[2 * PATH_SIZE];
	FILE *f;
	int found;

	snprintf(command, sizeof(command),
		 "grep -q trace_pipe_raw /proc/%d/maps && echo " TRACING
		 "/instances/kmes-%d-*",
		 (int)pid, (int)pid);
	f = popen(command, "r");
	found = f && fscanf(f, "%255s", instance) == 1;
	if (f)
		pclose(f);
	return found;
}

/* Continues a stopped kmes-dump until its buffer is empty. */
static void drain_dump(pid_t pid, const char *instance, double records,
		       struct speed *best)
{
	double cpu, wall, deadline;
	clockid_t clock;

	clock_getcpuclockid(pid, &clock);
	cpu = now(clock);
	wall = now(CLOCK_MONOTONIC);
	deadline = wall + 10;
	kill(pid, SIGCONT);
	while (entries(instance) > 0 && now(CLOCK_MONOTONIC) < deadline)
		nap_us(200);
	wall = now(CLOCK_MONOTONIC) - wall;
	nap_us(50000); /* until it is printed */
	cpu = now(clock) - cpu;
	if (entries(instance) > 0)
		set_why(best, "did not come to the end");
	else
		keep_best(best, records, cpu, wall);
}

static void run_dump(struct speed *best)
{
	char instance[PATH_SIZE], cpu_option[32];
	int i, found = 0;
	pid_t pid = fork();

	if (pid == 0) {
		run_on(reader_cpu);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		snprintf(cpu_option, sizeof(cpu_option), "-c%d", LOAD_CPU);
		execl(dump_program, dump_program, "-q", cpu_option, "-S",
		      "tracefs:raw_syscalls/sys_enter", (char *)NULL);
		_exit(127);
	}
	for (i = 0; i < 500 && !found; i++) {
		nap_us(10000);
		found = find_instance(pid, instance);
	}
	if (found) {
		kill(pid, SIGSTOP);
		nap_us(20000);
		drain_dump(pid, instance, load(instance, CALLS), best);
	} else {
		set_why(best, "%s does not start", dump_program);
	}
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

/* ---- peers ---- */

static double fill_own(int calls)
{
	put(own, "trace", "");
	put(own, ENABLE, "1");
	return load(own, calls);
}

static int open_own(const char *name)
{
	char path[2 * PATH_SIZE];

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/%s", own, LOAD_CPU, name);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void run_trace_pipe(struct speed *best)
{
	static char text[1 << 16];
	double cpu, wall, records = fill_own(CALLS);
	int fd = open_own("trace_pipe");

	if (fd < 0) {
		set_why(best, "%s", strerror(errno));
		return;
	}
	run_on(reader_cpu);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	wall = now(CLOCK_MONOTONIC);
	while (read(fd, text, sizeof(text)) > 0)
		;
	keep_best(best, records, now(CLOCK_THREAD_CPUTIME_ID) - cpu,
		  now(CLOCK_MONOTONIC) - wall);
	run_on(LOAD_CPU);
	close(fd);
}

/* Raw records of the kernel to a file. */
static void save_raw(const char *name)
{
	char path[2 * PATH_SIZE], page[65536];
	ssize_t n;
	int to, fd = open_own("trace_pipe_raw");

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (fd >= 0 && to >= 0 && (n = read(fd, page, sizeof(page))) > 0)
		if (write(to, page, (size_t)n) != n)
			break;
	close(to);
	close(fd);
}

/*
 * `trace-cmd record` needs write access that some machines deny; `restore` builds the
 * same file from existing records.
 */
static void run_trace_cmd(struct speed *best)
{
	double cpu, wall, records;

	if (!is_installed("trace-cmd")) {
		set_why(best, "not installed (Debian: trace-cmd)");
		return;
	}
	records = fill_own(FILE_CALLS);
	save_raw("raw");
	if (run_command(&cpu, &wall,
			"cd %s && rm -f head trace && trace-cmd restore -c -o head && "
			"trace-cmd restore -i head -o trace raw >/dev/null 2>&1",
			folder))
		set_why(best, "trace-cmd restore failed");
	else if (run_command(&cpu, &wall,
			     "exec trace-cmd report -q -i %s/trace >/dev/null", folder))
		set_why(best, "trace-cmd report failed");
	else
		keep_best(best, records, cpu, wall);
}

static double count_lines(const char *command)
{
	char path[2 * PATH_SIZE], counted[4 * PATH_SIZE];
	unsigned long lines = 0;
	double cpu, wall;
	FILE *f;

	snprintf(path, sizeof(path), "%s/count", folder);
	if (run_command(&cpu, &wall, "%s | wc -l >%s", command, path))
		return 0;
	f = fopen(path, "r");
	if (!f || !fgets(counted, sizeof(counted), f) ||
	    sscanf(counted, "%lu", &lines) != 1)
		lines = 0;
	if (f)
		fclose(f);
	return (double)lines;
}

static void run_perf(struct speed *best)
{
	char print[2 * PATH_SIZE];
	double cpu, wall, records;

	if (!is_installed("perf")) {
		set_why(best, "not installed (Debian: linux-perf)");
		return;
	}
	snprintf(print, sizeof(print), "perf script -i %s/perf 2>/dev/null", folder);
	if (run_command(&cpu, &wall,
			"perf record -q -m 4096 -o %s/perf -e raw_syscalls:sys_enter "
			"%s --calls %d >/dev/null 2>&1",
			folder, self, FILE_CALLS)) {
		set_why(best, "perf record failed");
		return;
	}
	records = count_lines(print);
	if (run_command(&cpu, &wall, "exec %s >/dev/null", print))
		set_why(best, "perf script failed");
	else
		keep_best(best, records, cpu, wall);
}

/* ---- results ---- */

static void say(const char *name, const struct speed *s)
{
	if (s->cpu > 0)
		printf("%-24s %7.2f %7.2f million/s\n", name, s->cpu / 1e6,
		       s->wall / 1e6);
	else
		printf("%-24s not measured: %s\n", name, s->why_not);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct speed *best);
	} readers[] = {
		{ "kmes-dump", run_dump },
		{ "trace_pipe", run_trace_pipe },
		{ "trace-cmd report", run_trace_cmd },
		{ "perf script", run_perf },
	};
	enum { COUNT = sizeof(readers) / sizeof(readers[0]) };
	struct speed best[COUNT] = { 0 }, peer = { 0 };
	const char *bin = getenv("KMES_BIN");
	int i, k;

	if (argc == 3 && !strcmp(argv[1], "--calls"))
		return make_calls(atoi(argv[2]));
	snprintf(self, sizeof(self), "%s", argv[0]);
	snprintf(dump_program, sizeof(dump_program), "%s/kmes-dump",
		 bin ? bin : "build/bin");
	snprintf(own, sizeof(own), TRACING "/instances/kmes-bench-%d", (int)getpid());
	if (mkdir(own, 0700) < 0) {
		printf("skipped: %s: %s\n", own, strerror(errno));
		return 0;
	}
	strcpy(folder, "/tmp/kmes-bench.XXXXXX");
	if (!mkdtemp(folder))
		*folder = '\0';
	put(own, "buffer_size_kb", OWN_KB);
	put(own, "trace_clock", "mono");
	reader_cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	run_on(LOAD_CPU);
	for (i = 0; i < ROUNDS; i++)
		for (k = 0; k < COUNT; k++)
			readers[k].run(&best[k]);
	clean_up();

	printf("raw_syscalls/sys_enter to text by one process on one CPU, best of %d: "
	       "records a second\n%-24s %7s %7s\n",
	       ROUNDS, "", "CPU", "wall");
	for (k = 0; k < COUNT; k++) {
		say(readers[k].name, &best[k]);
		if (k && best[k].cpu > peer.cpu)
			peer.cpu = best[k].cpu;
		if (k && best[k].wall > peer.wall)
			peer.wall = best[k].wall;
	}
	if (peer.cpu > 0)
		printf("%-24s %7.2f %7.2f\n", "times the fastest", best[0].cpu / peer.cpu,
		       best[0].wall / peer.wall);
	return 0;
}
