// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* native_cases.c - programs that make the native calls, as kmes-run meets them. */
#include <pthread.h>
#include <sys/time.h>

#include "tests/vm/case.h"

enum { MANY = 1000 };

static void on_tick(int sig)
{
	(void)sig;
}

static uint64_t emitted_by_all(void)
{
	uint64_t sum = 0, slots = 0;

	check(ring_attach(KMES_ATTACH_QUERY_SLOTS, &slots, NULL) == 0);
	for (unsigned int cpu = 0; cpu < slots; cpu++)
		sum += counter(cpu, "emitted_events");
	return sum;
}

/* Signals in the middle of calls repeat none of them. */
static void under_a_timer(void)
{
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	struct itimerval tick = { { 0, 1000 }, { 0, 1000 } },
			 off = { { 0, 0 }, { 0, 0 } };
	uint64_t before = emitted_by_all();

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	for (int i = 0; i < MANY; i++)
		check_eq(emit("native.tick"), 0);
	setitimer(ITIMER_REAL, &off, NULL);
	check_eq(emitted_by_all() - before, MANY);
}

static void *emit_some(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++)
		check_eq(emit("native.thread"), 0);
	return NULL;
}

static void threads_and_children(void)
{
	uint64_t before = emitted_by_all();
	pthread_t threads[4];
	int status;

	for (int i = 0; i < 4; i++)
		check(pthread_create(&threads[i], NULL, emit_some, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			emit_some(NULL);
			exit(0);
		}
	while (wait(&status) > 0)
		check_eq(status, 0);
	check_eq(emitted_by_all() - before, 8 * 50);
}

/* Attach, one mmap, and what was emitted is there with this process's identity. */
static void attach_and_read(void)
{
	struct vm_ring r;
	struct kmes_event_header h;
	unsigned char buf[4096];
	struct kmes_ring_span span;
	uint64_t pos;

	pin(0);
	r = ring_open(0);
	check(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
	pos = kmes_load_acquire(&r.producer->write_pos);
	check_eq(emit("native.read"), 0);
	check_eq(kmes_ring_copy(&r.view, pos, buf, sizeof(buf), &span), 0);
	check(span.len > KMES_HEADER_SIZE);
	memcpy(&h, buf + span.skip, sizeof(h));
	check_eq(h.type_len, strlen("native.read"));
	check(!memcmp(buf + span.skip + KMES_HEADER_SIZE, "native.read", h.type_len));
	ring_close(&r);
}

/* Arguments are cut to their width, as a system call does. */
static void truncated_arguments(void)
{
	uint64_t slots = 0;

	check_eq(syscall(KMES_NR_ATTACH, 0xabcd0000FFFFFFFFull, &slots), 0);
	check(slots > 0);
	check_eq(syscall(KMES_NR_EMIT, "ab", 0x10002ull, "\x80", 0x100000001ull), 0);
}

/* A call of a process that is killed meanwhile disturbs nobody. */
static void killed_callers(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				emit("native.killed");
		usleep(2000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	check_eq(emit("native.after"), 0);
}

/* A bad pointer is EFAULT, and no descriptor is left behind. */
static void bad_pointers(void)
{
	int before = dup(0);

	for (int i = 0; i < 50; i++)
		check_errno(ring_attach(0, (void *)8, NULL), EFAULT);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, (void *)8, NULL), EFAULT);
	close(before);
	check_eq(dup(0), before);
	check_errno(syscall(KMES_NR_EMIT, 8, 2, "\x80", 1), EFAULT);
	check_errno(syscall(KMES_NR_EMIT, "ab", 2, 8, 1), EFAULT);
	check_errno(syscall(KMES_NR_EMIT_BATCH, 8, 1, 8), EFAULT);
}

static const struct vm_case cases[] = {
	{ "fault", bad_pointers },
	{ "timer", under_a_timer },
	{ "threads", threads_and_children },
	{ "read", attach_and_read },
	{ "truncated", truncated_arguments },
	{ "killed", killed_callers },
};

KMES_CASES(cases)
