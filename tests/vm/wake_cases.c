// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* wake_cases.c - need_wake, futex_counter, and which waiters are woken. */
#include "tests/vm/sleep.h"

/* A child with its own mapping of a ring that sleeps on it. */
static pid_t sleeper(uint32_t cpu, int op, unsigned int seconds)
{
	pid_t pid = fork_bound();

	if (!pid) {
		struct vm_ring r = ring_open(cpu);

		_exit(sleep_on(&r, op, seconds));
	}
	struct vm_ring r = ring_open(cpu);
	wait_asleep(pid, &r);
	ring_close(&r);
	return pid;
}

static void word_moves_when_asked(void)
{
	uint32_t word;
	uint64_t wakes = counter(0, "wakes");

	pin(0);
	struct vm_ring r = ring_open(0);
	check_eq(r.consumer->need_wake, 0);
	word = r.producer->futex_counter;
	for (int i = 0; i < 10; i++)
		check_eq(emit("quiet"), 0);
	check_eq(r.producer->futex_counter, word);
	for (unsigned int value = 1; value < 256; value += 127) {
		r.consumer->need_wake = (unsigned char)value;
		check_eq(emit("loud"), 0);
		check_eq(r.producer->futex_counter, ++word);
		/* Only consumers change the flag. */
		check_eq(r.consumer->need_wake, value);
	}
	check_eq(counter(0, "wakes"), wakes + 3);
	/* Other bytes of the page are ignored. */
	r.consumer->need_wake = 0;
	memset(r.consumer->reserved4, 0xff, sizeof(r.consumer->reserved4));
	check_eq(emit("quiet"), 0);
	check_eq(r.producer->futex_counter, word);
	memset(r.consumer->reserved4, 0, sizeof(r.consumer->reserved4));
	ring_close(&r);
}

static void shared_waiters(void)
{
	pid_t pids[3];

	pin(1);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			pids[i] = sleeper(1, FUTEX_WAIT, 20);
		check_eq(emit("wake up"), 0);
		for (int i = 0; i < 3; i++)
			check_eq(end_of(pids[i]), 0);
	}
}

static void private_waiter(void)
{
	pid_t pid;

	pin(1);
	pid = sleeper(1, FUTEX_WAIT_PRIVATE, 2);
	check_eq(emit("no wake"), 0);
	check_eq(end_of(pid), ETIMEDOUT);
}

static void replaced_ring(void)
{
	pid_t pid = sleeper(2, FUTEX_WAIT, 20);

	check_eq(config_set("buffer_capacity", 65536), 0);
	check_eq(end_of(pid), 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void killed_sleeper(void)
{
	pid_t pid = sleeper(3, FUTEX_WAIT, 20);
	int status;

	kill(pid, SIGKILL);
	check(waitpid(pid, &status, 0) == pid);
	/* The mapping may go away only after the process has become a zombie. */
	for (int i = 0; i < 400; i++) {
		struct vm_ring r = ring_open(3);
		int need_wake = r.consumer->need_wake;

		ring_close(&r);
		if (!need_wake)
			return;
		sleep_ms(5);
	}
	fail("need_wake of a killed consumer is still set");
}

/* Kernel code wakes in each context; the test module emits an event while it loads. */
static void from_every_context(void)
{
	static const char *const contexts[] = { "process", "irqsoff", "softirq",
						"hardirq", "ipi" };
	char command[256];

	for (unsigned int i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		pid_t pid = sleeper(1, FUTEX_WAIT, 30);

		snprintf(
			command, sizeof(command),
			"insmod $KMES_MODULES/kmes_kick.ko context=%s cpu=1 && rmmod kmes_kick",
			contexts[i]);
		check_eq(system(command), 0);
		check_eq(end_of(pid), 0);
		struct vm_ring r = ring_open(1);
		struct vm_event e = ring_last(&r);
		static const unsigned char zero[16];
		bool has_guid = memcmp(e.h.process_guid, zero, 16);
		char type[32];

		snprintf(type, sizeof(type), "kick.%s", contexts[i]);
		check(event_is(&e, type));
		check_eq(e.h.origin_class, 3);
		/* The emitter is known in task context, not in an interrupt. */
		check_eq(has_guid, i < 2);
		ring_close(&r);
	}
}

static const struct vm_case cases[] = {
	{ "word", word_moves_when_asked }, { "shared", shared_waiters },
	{ "private", private_waiter },	   { "replaced", replaced_ring },
	{ "killed", killed_sleeper },	   { "contexts", from_every_context },
};

KMES_CASES(cases)
