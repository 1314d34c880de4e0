// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* process_cases.c - events for fork, exec and exit of processes. */
#include <pthread.h>

#include "tests/vm/ring.h"

static struct vm_ring rings[4];
static uint64_t from[4];

static void begin(void)
{
	check_eq(config_set("process_events", 1), 0);
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		rings[cpu] = ring_open(cpu);
		from[cpu] = rings[cpu].producer->write_pos;
	}
}

static void end(void)
{
	check_eq(config_set("process_events", 0), 0);
}

/* The number of events of a type about a process since begin(); `found` is the newest. */
static unsigned int count_events(const char *type, pid_t pid, struct vm_event *found)
{
	unsigned int n = 0;

	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct vm_ring *r = &rings[cpu];
		uint64_t stop = kmes_load_acquire(&r->producer->write_pos);
		struct vm_event e;

		for (uint64_t pos = from[cpu]; pos < stop; pos += e.h.event_size) {
			e = ring_event(r, pos);
			if (!event_is(&e, type) || payload_number(&e, "pid") != pid)
				continue;
			check_eq(e.h.origin_class, 255);
			if (!n++ || e.h.timestamp >= found->h.timestamp)
				*found = e;
		}
	}
	return n;
}

static void known_command(void)
{
	struct vm_event e, fork_event;
	struct kmes_mp_token guid;
	int status;
	pid_t pid;

	begin();
	pid = fork();
	if (!pid) {
		(void)emit("by the child");
		execl("/usr/bin/env", "env", "false", NULL);
	}
	check(waitpid(pid, &status, 0) == pid);
	end();

	check_eq(count_events("process.fork", pid, &fork_event), 1);
	check_eq(payload_number(&fork_event, "ppid"), getpid());
	check(payload_is(&fork_event, "comm", "process_cases"));
	/* env executes false in the same process: two execs. */
	check_eq(count_events("process.exec", pid, &e), 2);
	check(payload_is(&e, "comm", "false"));
	check(payload_get(&e, "filename").len > 5);
	guid = payload_get(&fork_event, "child_guid");
	check(guid.type == KMES_MP_BIN && guid.len == 16);
	check(!memcmp(guid.data, e.h.process_guid, 16));
	check(memcmp(guid.data, fork_event.h.process_guid, 16));
	check_eq(count_events("process.exit", pid, &e), 1);
	check(payload_is(&e, "comm", "false"));
	check_eq(payload_number(&e, "code"), 1);
	check(!memcmp(guid.data, e.h.process_guid, 16));
}

static void killed(void)
{
	struct vm_event e;
	pid_t pid;

	begin();
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	end();
	check_eq(count_events("process.exit", pid, &e), 1);
	check_eq(payload_number(&e, "code"), -SIGKILL);
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}

/* Eight threads that exit together, the leader first. */
static void threads_of_one(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 8);
	for (int i = 0; i < 8; i++)
		check(pthread_create(&t, NULL, thread, NULL) == 0);
	syscall(SYS_exit, 0);
}

static void one_exit(void)
{
	struct vm_event e;
	pid_t pids[20];

	begin();
	for (int i = 0; i < 20; i++) {
		pids[i] = fork();
		if (!pids[i])
			threads_of_one();
		check(waitpid(pids[i], NULL, 0) == pids[i]);
	}
	end();
	for (int i = 0; i < 20; i++) {
		check_eq(count_events("process.fork", pids[i], &e), 1);
		check_eq(count_events("process.exit", pids[i], &e), 1);
	}
}

static void *outlive_the_leader(void *arg)
{
	/* The leader has exited and is a zombie until the others have. */
	while (!task_is(getpid(), 'Z'))
		sleep_ms(2);
	pthread_barrier_wait(&barrier);
	syscall(SYS_exit, 3);
	return arg;
}

/* No event when the leader exits, one when the last of eight threads does. */
static void leader_first(void)
{
	struct vm_event e;
	int status;
	pid_t pid;

	begin();
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			pthread_t t;

			pthread_barrier_init(&barrier, NULL, 8);
			for (int n = 0; n < 8; n++)
				check(pthread_create(&t, NULL, outlive_the_leader,
						     NULL) == 0);
			syscall(SYS_exit, 0);
		}
		check(waitpid(pid, &status, 0) == pid);
		check_eq(count_events("process.fork", pid, &e), 1);
		check_eq(count_events("process.exit", pid, &e), 1);
		check_eq(payload_number(&e, "code"), WEXITSTATUS(status));
	}
	end();
}

static void *exec_true(void *arg)
{
	execl("/bin/true", "true", NULL);
	return arg;
}

/* A thread becomes the leader by exec: one exec and one exit of the process. */
static void exec_by_a_thread(void)
{
	struct vm_event forked, e;
	struct kmes_mp_token guid;
	pid_t pid;

	begin();
	pid = fork();
	if (!pid) {
		pthread_t t;

		check(pthread_create(&t, NULL, exec_true, NULL) == 0);
		for (;;)
			pause();
	}
	check(waitpid(pid, NULL, 0) == pid);
	end();
	check_eq(count_events("process.fork", pid, &forked), 1);
	guid = payload_get(&forked, "child_guid");
	check_eq(count_events("process.exec", pid, &e), 1);
	check(payload_is(&e, "comm", "true"));
	check(!memcmp(guid.data, e.h.process_guid, 16));
	check_eq(count_events("process.exit", pid, &e), 1);
	check_eq(payload_number(&e, "code"), 0);
	check(!memcmp(guid.data, e.h.process_guid, 16));
}

/* A path to true of this length, padded with slashes or "./". */
static void long_path(char *path, size_t len, bool dots)
{
	memcpy(path, "/bin/", 5);
	for (size_t i = 5; i < len - 4; i++)
		path[i] = dots && i % 2 && i + 1 < len - 4 ? '.' : '/';
	strcpy(path + len - 4, "true");
}

static void check_exec(pid_t pid, const char *prefix, const char *path)
{
	struct kmes_mp_token name;
	struct vm_event e;
	size_t at = strlen(prefix);

	check_eq(count_events("process.exec", pid, &e), 1);
	name = payload_get(&e, "filename");
	check_eq(name.len, at + strlen(path));
	check(!memcmp(name.data, prefix, at));
	check(!memcmp(name.data + at, path, strlen(path)));
}

/* A path has at most 4096 bytes, including the NUL. */
static void long_names(void)
{
	static const size_t sizes[] = { 255, 256, 257, 300, 4000, 4095 };
	int root = open("/", O_PATH | O_DIRECTORY);
	char path[4096], prefix[32];
	pid_t pid;

	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		long_path(path, sizes[i], i % 2);
		pid = fork();
		if (!pid) {
			execl(path, "true", NULL);
			_exit(1);
		}
		check(waitpid(pid, NULL, 0) == pid);
		check_exec(pid, "", path);
	}
	/* The kernel prefixes a relative path with the directory. */
	pid = fork();
	if (!pid) {
		char *const args[] = { "true", NULL };

		syscall(SYS_execveat, root, path + 1, args, args + 1, 0);
		_exit(1);
	}
	check(waitpid(pid, NULL, 0) == pid);
	snprintf(prefix, sizeof(prefix), "/dev/fd/%d/", root);
	check_exec(pid, prefix, path + 1);
	end();
	close(root);
}

/* Names of different lengths and shapes on each CPU, concurrently. */
static void long_names_at_once(void)
{
	pid_t *pids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	pid_t runners[4];
	char path[4096];
	int status;

	check(pids != MAP_FAILED);
	begin();
	for (unsigned int i = 0; i < 4; i++) {
		runners[i] = fork_bound();
		if (runners[i])
			continue;
		pin(i);
		long_path(path, 3500 + 100 * i, i % 2);
		for (int n = 0; n < 40; n++) {
			pid_t pid = fork();

			if (!pid) {
				execl(path, "true", NULL);
				_exit(1);
			}
			pids[40 * i + n] = pid;
			if (waitpid(pid, &status, 0) != pid || status)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < 4; i++)
		check(waitpid(runners[i], &status, 0) == runners[i] && status == 0);
	end();
	for (unsigned int i = 0; i < 160; i++) {
		long_path(path, 3500 + 100 * (i / 40), i / 40 % 2);
		check_exec(pids[i], "", path);
	}
}

/*
 * The number of allocated objects of 32 bytes in all slab caches of that size. Free
 * objects on per-CPU lists are counted as allocated, so the caches are shrunk first.
 */
static long small_objects(void)
{
	char line[512], name[64];
	long sum = 0, active;
	FILE *f;

	check_eq(
		system("for f in /sys/kernel/slab/kmalloc*-32/shrink; do echo 1 >$f; done"),
		0);
	f = fopen("/proc/slabinfo", "re");
	check(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", name, &active) == 2 &&
		    !strncmp(name, "kmalloc-", 8) &&
		    !strcmp(name + strlen(name) - 3, "-32"))
			sum += active;
	fclose(f);
	return sum;
}

#define ZOMBIES 500

/* The number of objects allocated for zombies whose leader exited first. */
static long objects_of_zombies(void)
{
	static pid_t pids[ZOMBIES];
	long before = small_objects(), after;
	siginfo_t info;

	pthread_barrier_init(&barrier, NULL, 1);
	for (int i = 0; i < ZOMBIES; i++) {
		pids[i] = fork();
		check(pids[i] >= 0);
		if (!pids[i]) {
			pthread_t t;

			check(pthread_create(&t, NULL, outlive_the_leader, NULL) == 0);
			syscall(SYS_exit, 0);
		}
	}
	for (int i = 0; i < ZOMBIES; i++)
		check(waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT) == 0);
	after = small_objects();
	while (waitpid(-1, NULL, 0) > 0)
		;
	return after - before;
}

/*
 * Other tasks, and KASAN's quarantine, free objects meanwhile; an object held for each
 * zombie would show in every try.
 */
static void unreaped(void)
{
	long without, with;
	int tries = 0;

	objects_of_zombies();
	do {
		without = objects_of_zombies();
		begin();
		with = objects_of_zombies();
		end();
		printf("# %ld objects, with events %ld\n", without, with);
	} while (with - without >= ZOMBIES / 2 && ++tries < 5);
	check(tries < 5);
}

static void off_by_default(void)
{
	struct vm_event e;
	pid_t pid;

	begin();
	end();
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	check_eq(count_events("process.fork", pid, &e), 0);
	check_eq(count_events("process.exit", pid, &e), 0);
}

/* Three threads of real-time priority that exit together. */
static void urgent_process(void)
{
	const struct sched_param priority = { .sched_priority = 10 };
	pthread_t t;

	prctl(PR_SET_NAME, "urgent");
	check(sched_setscheduler(0, SCHED_FIFO, &priority) == 0);
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		check(pthread_create(&t, NULL, thread, NULL) == 0);
	pthread_barrier_wait(&barrier);
	syscall(SYS_exit, 0);
}

/* Starts processes for this time, two at once; returns their number. */
static int run_urgent_processes(unsigned int ms)
{
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + ms * 1000000ull;
	int n;

	for (n = 0; now_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		pid_t pid = fork();

		check(pid >= 0);
		if (!pid)
			urgent_process();
		if (n % 2)
			check(waitpid(-1, NULL, 0) > 0);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return n;
}

static unsigned int count_urgent(const char *type)
{
	unsigned int n = 0;

	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct vm_ring *r = &rings[cpu];
		uint64_t stop = kmes_load_acquire(&r->producer->write_pos);
		struct vm_event e;

		for (uint64_t pos = from[cpu]; pos < stop; pos += e.h.event_size) {
			e = ring_event(r, pos);
			n += event_is(&e, type) && payload_is(&e, "comm", "urgent");
		}
	}
	return n;
}

/*
 * Real-time processes with several threads exit while ordinary tasks are preempted in the
 * allocator and elsewhere: the exits must not wait for these.
 */
static void real_time_exits(void)
{
	int *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	pid_t runners[8];
	int started = 0;

	check(counts != MAP_FAILED);
	check_eq(system("insmod $KMES_MODULES/kmes_alloc.ko"), 0);
	begin();
	for (int i = 0; i < 8; i++) {
		runners[i] = fork_bound();
		if (!runners[i]) {
			counts[i] = run_urgent_processes(5000);
			_exit(0);
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;

		check(waitpid(runners[i], &status, 0) == runners[i] && status == 0);
		started += counts[i];
	}
	end();
	check_eq(system("rmmod kmes_alloc"), 0);
	printf("# %d processes\n", started);
	check_eq(count_urgent("process.exit"), started);
}

static const struct vm_case cases[] = {
	{ "command", known_command },
	{ "killed", killed },
	{ "one-exit", one_exit },
	{ "leader-first", leader_first },
	{ "exec-by-thread", exec_by_a_thread },
	{ "long-names", long_names },
	{ "long-names-at-once", long_names_at_once },
	{ "unreaped", unreaped },
	{ "off", off_by_default },
	{ "real-time", real_time_exits },
};

KMES_CASES(cases)
