// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kernel_cases.c - events from kernel code, emitted by the test module kmes_kick. */
#include <pthread.h>

#include "tests/vm/follow.h"

#define KICK "insmod $KMES_MODULES/kmes_kick.ko cpu=2 "

static void flood(void)
{
	static unsigned char payload[2 + 64] = { 0xc4, 64 };

	pin(2);
	for (unsigned char n = 0;; n++) {
		memset(payload + 2, n, 64);
		check_eq(emit_raw("flood", 5, payload, sizeof(payload)), 0);
	}
}

/* Interrupts of all kinds, a process and a kernel thread emit on one CPU. */
static void all_contexts_at_once(void)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq", "ipi",
						"timer" };
	uint64_t first, sent, refused;
	struct follower f;
	int status = -1;
	pid_t kick, user;

	/* Small rings, so that events are overwritten. */
	check_eq(config_set("buffer_capacity", 262144), 0);
	f = follow_start(2);
	first = f.last;
	user = fork_bound();
	if (!user)
		flood();
	kick = fork_bound();
	if (!kick)
		_exit(system(KICK "context=all ms=1500") != 0);
	while (waitpid(kick, &status, WNOHANG) == 0)
		follow(&f);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	end_child(user);
	follow_finish(&f);
	check_eq(counter(2, "emitted_events") + counter(2, "dropped_events"), f.last);
	check_eq(f.seen + f.lost, f.last - first);
	check_eq(counter(2, "corrupt_resyncs"), 0);
	sent = file_number("/sys/module/kmes_kick/parameters/sent");
	refused = file_number("/sys/module/kmes_kick/parameters/refused");
	printf("# %llu events, %llu of them by the kernel, %llu lost, %llu refused\n",
	       (unsigned long long)(f.last - first), (unsigned long long)sent,
	       (unsigned long long)f.lost, (unsigned long long)refused);
	check(sent > 100 && f.last - first > sent && f.seen > 100 && refused > 10);
	for (unsigned int i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/module/kmes_kick/parameters/%s",
			 contexts[i]);
		printf("# %s: %llu\n", contexts[i],
		       (unsigned long long)file_number(path));
		check(file_number(path) > 5);
	}
	check_eq(system("rmmod kmes_kick"), 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void *thread_that_ends(void *arg)
{
	return arg;
}

static void end_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 2; i++)
		check(pthread_create(&t, NULL, thread_that_ends, NULL) == 0);
	syscall(SYS_exit, 0);
}

/* Starts short-lived processes, some with several threads, until it is killed. */
static void start_processes(void)
{
	for (int n = 0;; n++) {
		pid_t pid = fork();

		check(pid >= 0);
		if (!pid && n % 2)
			end_threads();
		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		check(waitpid(pid, NULL, 0) == pid);
	}
}

/* Every sequence of a CPU is that of a counted event, in the ring or overwritten. */
static void check_account(uint32_t cpu)
{
	struct vm_ring r = ring_open(cpu);
	uint64_t events = 0, sequence = 0, pos = r.producer->tail_pos;
	struct vm_event e;

	for (; pos < r.producer->write_pos; pos += e.h.event_size, events++) {
		e = ring_event(&r, pos);
		check_eq(e.h.cpu_id, cpu);
		if (events)
			check_eq(e.h.sequence, sequence + 1);
		sequence = e.h.sequence;
	}
	check_eq(pos, r.producer->write_pos);
	check_eq(sequence, counter(cpu, "emitted_events"));
	check_eq(counter(cpu, "dropped_events"), 0);
	check_eq(counter(cpu, "emitted_events") - counter(cpu, "overwritten_events"),
		 events);
	check_eq(counter(cpu, "corrupt_resyncs"), 0);
	ring_close(&r);
}

/* The same while processes start and exit on all CPUs and are reported. */
static void all_contexts_beside_processes(void)
{
	pid_t starters[4];
	uint64_t before = emitted_by_all();

	check_eq(config_set("buffer_capacity", 262144), 0);
	check_eq(config_set("process_events", 1), 0);
	for (unsigned int i = 0; i < 4; i++) {
		starters[i] = fork_bound();
		if (!starters[i])
			start_processes();
	}
	check_eq(system(KICK "context=all ms=3000"), 0);
	check(file_number("/sys/module/kmes_kick/parameters/refused") > 10);
	check_eq(system("rmmod kmes_kick"), 0);
	for (unsigned int i = 0; i < 4; i++)
		end_child(starters[i]);
	check_eq(config_set("process_events", 0), 0);
	check(emitted_by_all() - before > 500);
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		check_account(cpu);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void drops(void)
{
	uint64_t emitted, dropped, pos, sequence;
	struct vm_event e;

	pin(2);
	check_eq(emit("before"), 0);
	struct vm_ring r = ring_open(2);
	sequence = ring_last(&r).h.sequence;
	pos = r.producer->write_pos;
	emitted = counter(2, "emitted_events");
	dropped = counter(2, "dropped_events");
	check_eq(system(KICK "context=drops && rmmod kmes_kick"), 0);
	check_eq(counter(2, "emitted_events"), emitted + 4);
	check_eq(counter(2, "dropped_events"), dropped + 5);
	/* Three dropped, one written, then a batch in which they alternate. */
	e = ring_event(&r, pos);
	check(event_is(&e, "kick.empty") && e.payload_len == 0);
	check_eq(e.h.sequence, sequence + 4);
	for (uint64_t next = sequence + 5; next <= sequence + 9; next += 2) {
		pos += e.h.event_size;
		e = ring_event(&r, pos);
		check(event_is(&e, "kick.batch"));
		check_eq(e.h.sequence, next);
	}
	check_eq(pos + e.h.event_size, r.producer->write_pos);
	ring_close(&r);
}

/* An NMI may have interrupted a write: nothing is written, counted or numbered. */
static void nmi(void)
{
	static const char *const names[] = { "emitted_events", "dropped_events",
					     "wakes" };
	uint64_t before[3], pos;
	uint32_t word;
	int i;

	pin(2);
	check_eq(emit("before"), 0);
	struct vm_ring r = ring_open(2);
	r.consumer->need_wake = 1;
	pos = r.producer->write_pos;
	word = r.producer->futex_counter;
	for (i = 0; i < 3; i++)
		before[i] = counter(2, names[i]);
	pin(0);
	check_eq(system(KICK "context=nmi"), 0);
	check_eq(file_number("/sys/module/kmes_kick/parameters/refused"), 1);
	check_eq(system("rmmod kmes_kick"), 0);
	for (i = 0; i < 3; i++)
		check_eq(counter(2, names[i]), before[i]);
	check_eq(r.producer->write_pos, pos);
	check_eq(r.producer->futex_counter, word);
	r.consumer->need_wake = 0;
	ring_close(&r);
}

static const struct vm_case cases[] = {
	{ "all-contexts", all_contexts_at_once },
	{ "beside-processes", all_contexts_beside_processes },
	{ "drops", drops },
	{ "nmi", nmi },
};

KMES_CASES(cases)
