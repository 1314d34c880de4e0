// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* native_subject_cases.c - native calls use the identity and rights of the program. */
#include <pthread.h>

#include "tests/vm/ring.h"

#define RATE 100
#define TRIES 30

static int burst_of(uint32_t count)
{
	static struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t emitted = 77;
	int r;

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "burst",
							.event_type_len = 5,
							.payload = (uintptr_t) "\x80",
							.payload_len = 1 };
	r = (int)syscall(KMES_NR_EMIT_BATCH, entries, count, &emitted);
	check_eq(emitted, r ? 77 : count);
	return r;
}

/* ---- buckets ---- */

/* The size of a bucket. */
static void one_burst(void)
{
	check_eq(burst_of(RATE), 0);
}

/* Another program, in a process of its own. */
static void another_program(void)
{
	execl("/proc/self/exe", "native_subject_cases", "burst", NULL);
	fail("cannot execute this program again");
}

static void *thread_bursts(void *arg)
{
	*(int *)arg = burst_of(RATE / 2);
	return NULL;
}

static int burst_in_thread(void)
{
	pthread_t thread;
	int r = 0;

	check(pthread_create(&thread, NULL, thread_bursts, &r) == 0);
	pthread_join(thread, NULL);
	return r;
}

static bool within_ms(uint64_t start, uint64_t ms)
{
	return now_ns(CLOCK_MONOTONIC) - start < ms * 1000000;
}

/*
 * One round: two programs and their parent have a full bucket each, and the parent's
 * threads share one. False if it took too long to be conclusive: three bursts from one
 * bucket take 2 s, and half a burst is added in half a second.
 */
static bool each_has_a_bucket(void)
{
	uint64_t start, last;
	int in_thread, again;
	bool soon;

	sleep_ms(1100);
	start = now_ns(CLOCK_MONOTONIC);
	check_eq(in_child(another_program), 0);
	check_eq(in_child(another_program), 0);
	last = now_ns(CLOCK_MONOTONIC);
	check_eq(burst_of(RATE), 0);
	soon = within_ms(start, 1900);
	again = burst_of(RATE);
	in_thread = burst_in_thread();
	if (!within_ms(last, 450))
		return false;
	check_eq(again, -1);
	check_eq(in_thread, -1);
	return soon;
}

static void buckets(void)
{
	int i = 0;

	drop_capabilities(CAP(SYS_ADMIN));
	while (!each_has_a_bucket())
		check(++i < TRIES); /* else the machine is too slow for this test */
}

static void own_buckets(void)
{
	int status;

	check_eq(config_set("max_emit_rate_per_process", RATE), 0);
	status = in_child(buckets);
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
	check_eq(status, 0);
}

/* The exemption is the program's, too. */
static void own_exemption(void)
{
	check_eq(config_set("max_emit_rate_per_process", RATE), 0);
	for (int i = 0; i < 4; i++)
		check_eq(burst_of(KMES_BATCH_MAX), 0);
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
}

/* ---- identity ---- */

#define CPUS 4

static struct vm_ring rings[CPUS];
static uint64_t from[CPUS];

/* The only event of a type since the beginning, about `pid` if that is not 0. */
static struct vm_event the_event(const char *type, pid_t pid)
{
	struct vm_event found = { .type = NULL };

	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		struct vm_ring *r = &rings[cpu];
		uint64_t stop = kmes_load_acquire(&r->producer->write_pos);
		struct vm_event e;

		for (uint64_t pos = from[cpu]; pos < stop; pos += e.h.event_size) {
			e = ring_event(r, pos);
			if (!event_is(&e, type) ||
			    (pid && payload_number(&e, "pid") != pid))
				continue;
			check(!found.type);
			found = e;
		}
	}
	if (!found.type)
		fail("no event %s", type);
	return found;
}

static void *emit_in_thread(void *arg)
{
	check_eq(emit(arg), 0);
	return NULL;
}

static _Noreturn void emit_as_child(void)
{
	pthread_t thread;

	check_eq(emit("subject.child"), 0);
	check(pthread_create(&thread, NULL, emit_in_thread, "subject.thread") == 0);
	pthread_join(thread, NULL);
	_exit(0);
}

/* The fork event has the GUID of the child. */
static void own_guid(void)
{
	struct vm_event forked, mine, its, thread;
	struct kmes_mp_token guid;
	int status;
	pid_t pid;

	check_eq(config_set("process_events", 1), 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		rings[cpu] = ring_open(cpu);
		from[cpu] = rings[cpu].producer->write_pos;
	}
	check_eq(emit("subject.parent"), 0);
	pid = fork();
	if (!pid)
		emit_as_child();
	check(waitpid(pid, &status, 0) == pid && status == 0);
	check_eq(config_set("process_events", 0), 0);
	forked = the_event("process.fork", pid);
	guid = payload_get(&forked, "child_guid");
	check(guid.type == KMES_MP_BIN && guid.len == 16);
	mine = the_event("subject.parent", 0);
	its = the_event("subject.child", 0);
	thread = the_event("subject.thread", 0);
	check(!memcmp(mine.h.process_guid, forked.h.process_guid, 16));
	check(!memcmp(its.h.process_guid, guid.data, 16));
	check(!memcmp(thread.h.process_guid, guid.data, 16));
	check(memcmp(mine.h.process_guid, guid.data, 16));
	check_eq(its.h.origin_class, KMES_ORIGIN_USERSPACE);
}

/* ---- rights ---- */

/* A process of another user with only this capability. */
static void become_nobody_with(int capability)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	check(prctl(PR_SET_KEEPCAPS, 1) == 0);
	check(setresgid(65534, 65534, 65534) == 0);
	check(setresuid(65534, 65534, 65534) == 0);
	if (capability >= 0)
		data[capability / 32].effective = data[capability / 32].permitted =
			1u << capability % 32;
	check(syscall(SYS_capset, &head, data) == 0);
}

static void as_nobody(void)
{
	uint64_t value = 77;

	become_nobody_with(-1);
	check_errno(ring_attach(0, &value, NULL), EPERM);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, &value, NULL), EPERM);
	check_eq(value, 77);
	check_errno(emit("rights"), EPERM);
	check_errno(burst_of(1), EPERM);
}

static void as_reader(void)
{
	become_nobody_with(CAP_AUDIT_READ);
	struct vm_ring r = ring_open(0);
	check_errno(emit("rights"), EPERM);
	ring_close(&r);
}

static void as_emitter(void)
{
	uint64_t value = 77;

	become_nobody_with(CAP_AUDIT_WRITE);
	check_eq(emit("rights"), 0);
	check_errno(ring_attach(0, &value, NULL), EPERM);
	check_eq(value, 77);
}

/* Capabilities in a user namespace have no effect here. */
static void as_namespace_root(void)
{
	uint64_t value;

	check(unshare(CLONE_NEWUSER) == 0);
	check_errno(ring_attach(0, &value, NULL), EPERM);
	check_errno(emit("rights"), EPERM);
}

static void own_rights(void)
{
	check_eq(in_child(as_nobody), 0);
	check_eq(in_child(as_reader), 0);
	check_eq(in_child(as_emitter), 0);
	check_eq(in_child(as_namespace_root), 0);
}

/* ---- a program that is not dumpable ---- */

/* Queries the slots, emits, emits a batch: each fails with `expected`, 0 for success. */
static void check_calls(int expected)
{
	uint64_t slots;

	check_eq(ring_attach(KMES_ATTACH_QUERY_SLOTS, &slots, NULL) ? errno : 0,
		 expected);
	check_eq(emit("undumpable") ? errno : 0, expected);
	check_eq(burst_of(1) ? errno : 0, expected);
}

static void undumpable_is_refused(void)
{
	check_calls(0);
	check(prctl(PR_SET_DUMPABLE, 0) == 0);
	check_calls(EPERM);
	check(prctl(PR_SET_DUMPABLE, 1) == 0);
	check_calls(0);
}

static void undumpable_is_served(void)
{
	check(prctl(PR_SET_DUMPABLE, 0) == 0);
	check_calls(0);
}

static const struct vm_case cases[] = {
	{ "burst", one_burst },
	{ "buckets", own_buckets },
	{ "exempt", own_exemption },
	{ "guid", own_guid },
	{ "rights", own_rights },
	{ "undumpable", undumpable_is_served },
	{ "undumpable-refused", undumpable_is_refused },
};

KMES_CASES(cases)
