// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* process_cases.c - events for fork, exec and exit of processes. */
#include <pthread.h>

#include "tests/vm/case.h"

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

/* Events of a type about a process since the beginning; the newest into `found`. */
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
	/* env runs false in its own place: two of them. */
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

/* Eight threads that end together, the leader first. */
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
	/* It has ended, and waits for the others. */
	while (!task_is(getpid(), 'Z'))
		sleep_ms(2);
	pthread_barrier_wait(&barrier);
	syscall(SYS_exit, 3);
	return arg;
}

/* Nothing is told when the leader dies, one exit when the last of eight does. */
static void leader_first(void)
{
	struct vm_event e;
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
		check(waitpid(pid, NULL, 0) == pid);
		check_eq(count_events("process.fork", pid, &e), 1);
		check_eq(count_events("process.exit", pid, &e), 1);
	}
	end();
}

static void *exec_true(void *arg)
{
	execl("/bin/true", "true", NULL);
	return arg;
}

/* A thread that is not the leader becomes it by exec: one exec and one exit of the process. */
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

static const struct vm_case cases[] = {
	{ "command", known_command },
	{ "killed", killed },
	{ "one-exit", one_exit },
	{ "leader-first", leader_first },
	{ "exec-by-thread", exec_by_a_thread },
	{ "off", off_by_default },
};

KMES_CASES(cases)
