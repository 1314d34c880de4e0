// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* native_hostile_cases.c - native calls of programs that are difficult for kmes-run. */
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "tests/vm/ring.h"

enum { ROUNDS = 100 };

/* No descriptor is available, and none is needed to emit. */
static void limit_of_descriptors(void)
{
	struct rlimit none = { 0, 0 };
	uint64_t capacity = 0;

	check(getrlimit(RLIMIT_NOFILE, &none) == 0);
	none.rlim_cur = 0;
	check(setrlimit(RLIMIT_NOFILE, &none) == 0);
	for (int i = 0; i < 3; i++)
		check_eq(emit("hostile.limit"), 0);
	check_errno(ring_attach(0, &capacity, NULL), EMFILE);
	check_eq(ring_attach(KMES_ATTACH_QUERY_SLOTS, &capacity, NULL), 0);
}

/* ---- rights of threads ---- */

static void *without_rights(void *arg)
{
	uint64_t value = 77;

	(void)arg;
	drop_capabilities(CAP(AUDIT_READ));
	check_errno(ring_attach(0, &value, NULL), EPERM);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, &value, NULL), EPERM);
	check_eq(value, 77);
	check_eq(emit("hostile.thread"), 0);
	drop_capabilities(CAP(AUDIT_WRITE));
	check_errno(emit("hostile.thread"), EPERM);
	return NULL;
}

static void rights_of_a_thread(void)
{
	uint64_t capacity;
	pthread_t thread;

	check(pthread_create(&thread, NULL, without_rights, NULL) == 0);
	pthread_join(thread, NULL);
	check_eq(close(ring_attach(0, &capacity, NULL)), 0);
	check_eq(emit("hostile.first"), 0);
}

/* ---- memory ---- */

/* A program may emit payloads directly from a ring's mapping. */
static void payload_in_a_ring(void)
{
	struct vm_ring r;
	struct vm_event e;
	uint64_t pos;

	pin(0);
	r = ring_open(0);
	pos = kmes_load_acquire(&r.producer->write_pos);
	check_eq(emit("hostile.ring"), 0);
	e = ring_event(&r, pos);
	check_eq(emit_raw(e.type, e.h.type_len, e.payload, 1), 0);
	e = ring_event(&r, pos + e.h.event_size);
	check(event_is(&e, "hostile.ring"));
	/* Nothing is stored to pages that the caller cannot write. */
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, (void *)e.payload, NULL),
		    EFAULT);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, (void *)r.producer, NULL),
		    EFAULT);
	ring_close(&r);
}

static unsigned char *moving;
static volatile bool over;

static void *move_memory(void *arg)
{
	(void)arg;
	while (!over) {
		check(mmap(moving, KMES_PAGE_SIZE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == moving);
		sched_yield();
		check(mmap(moving, KMES_PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == moving);
		memcpy(moving, "moving\x80", 7);
		usleep(200);
	}
	return NULL;
}

/* Memory that is mapped and unmapped: an event, or the right error. */
static void moving_memory(void)
{
	uint64_t before = emitted_by_all(), good = 0;
	pthread_t thread;
	int fd;

	moving =
		mmap(NULL, KMES_PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(moving != MAP_FAILED);
	check(pthread_create(&thread, NULL, move_memory, NULL) == 0);
	for (int i = 0; i < ROUNDS * 5; i++) {
		if (emit_raw(moving, 6, moving + 6, 1) == 0)
			good++;
		else
			check(errno == EFAULT || errno == EINVAL);
		fd = ring_attach(0, (void *)moving, NULL);
		check(fd >= 0 ? close(fd) == 0 : errno == EFAULT);
	}
	over = true;
	pthread_join(thread, NULL);
	check_eq(emitted_by_all() - before, good);
}

/* ---- kinds of children ---- */

static int attach_and_leave(void *fd)
{
	uint64_t capacity;

	*(volatile int *)fd = ring_attach(0, &capacity, NULL);
	return 0;
}

/* The descriptor is in the shared table. */
static void shared_table(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int fd = -1, status;
	pid_t pid = clone(attach_and_leave, stack + sizeof(stack),
			  CLONE_FILES | CLONE_VM | SIGCHLD, &fd);

	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	check(fd >= 0);
	check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	check_eq(close(fd), 0);
}

/* The parent sleeps in its vfork(2) while the child calls. */
static void vforked(void)
{
	uint64_t before = emitted_by_all();
	int status;

	for (int i = 0; i < 10; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			_exit(emit("hostile.vfork") != 0);
		check(waitpid(pid, &status, 0) == pid && status == 0);
	}
	check_eq(emitted_by_all() - before, 10);
}

/* ---- tracing ---- */

/* Ptrace stops at entry and exit of each call do not repeat it. */
static void traced_caller(void)
{
	uint64_t before = emitted_by_all();
	pid_t pid = fork();
	int status;

	if (!pid) {
		check(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
		raise(SIGSTOP);
		for (int i = 0; i < ROUNDS; i++)
			check_eq(emit("hostile.traced"), 0);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
		check(ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0);
	check_eq(status, 0);
	check_eq(emitted_by_all() - before, ROUNDS);
}

/* kmes-run, stopped by a tracer for a while, continues where it was. */
static void tracer_of_kmes_run(void)
{
	pid_t parent = getppid();
	int status;

	for (int i = 0; i < 10; i++) {
		check(ptrace(PTRACE_ATTACH, parent, 0, 0) == 0);
		check(waitpid(parent, &status, __WALL) == parent && WIFSTOPPED(status));
		check(ptrace(PTRACE_DETACH, parent, 0, 0) == 0);
		check_eq(emit("hostile.tracer"), 0);
	}
}

/* ---- stops of kmes-run ---- */

/* Each millisecond, or less often, so that calls complete in every other pause. */
static void stop_again_and_again(pid_t pid, volatile const unsigned int *done)
{
	unsigned int before = *done, stalls = 1;

	for (unsigned int i = 0;; i++) {
		kill(pid, SIGSTOP);
		kill(pid, SIGCONT);
		usleep(i * 37 % 2000 * stalls);
		if (*done == before)
			stalls++;
		else if (stalls > 1)
			stalls--;
		before = *done;
	}
}

/* Stopped as by a terminal's user; pending calls are answered afterwards. */
static void stopped_kmes_run(void)
{
	volatile unsigned int *attached = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getppid(), stopper = fork_bound();
	struct kmes_batch_entry entry = { .event_type = (uintptr_t) "hostile.stopped",
					  .event_type_len = 15,
					  .payload = (uintptr_t) "\x80",
					  .payload_len = 1 };
	uint64_t before = emitted_by_all(), capacity;
	uint32_t emitted;

	if (!stopper)
		stop_again_and_again(parent, attached);
	for (int i = 0; i < 5 * ROUNDS; i++) {
		int fd = ring_attach(0, &capacity, NULL);

		check(fd > 2);
		++*attached;
		check_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
		check_eq(close(fd), 0);
		if (i % 10)
			continue;
		check_eq(emit("hostile.stopped"), 0);
		check_eq(syscall(KMES_NR_EMIT_BATCH, &entry, 1, &emitted), 0);
	}
	end_child(stopper);
	check(kill(parent, SIGCONT) == 0);
	check_eq(emitted_by_all() - before, ROUNDS);
}

/* ---- the first thread ---- */

static void *call_without_first(void *arg)
{
	struct vm_ring r;
	struct vm_event e;

	while (!task_is(getpid(), 'Z'))
		sleep_ms(2);
	pin(0);
	r = ring_open(0);
	check_eq(emit("hostile.first"), 0);
	e = ring_last(&r);
	check(event_is(&e, "hostile.first"));
	ring_close(&r);
	exit(0);
	return arg;
}

/* The first thread has exited; its credentials still apply to the process's calls. */
static void first_thread_ends(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, call_without_first, NULL) == 0);
	syscall(SYS_exit, 1);
}

static const struct vm_case cases[] = {
	{ "limit", limit_of_descriptors },
	{ "thread-rights", rights_of_a_thread },
	{ "ring-payload", payload_in_a_ring },
	{ "moving", moving_memory },
	{ "files", shared_table },
	{ "vfork", vforked },
	{ "traced", traced_caller },
	{ "tracer", tracer_of_kmes_run },
	{ "stopped", stopped_kmes_run },
	{ "first-ends", first_thread_ends },
};

KMES_CASES(cases)
