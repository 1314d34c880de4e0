// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* rate_cases.c - token buckets, in children that are not exempt. */
#include <pthread.h>

#include "tests/vm/ring.h"

/*
 * The emulated machine may be very slow, so the rate is low: 100 tokens per second.
 * Tokens added meanwhile are computed from the clock, and a step that has to be fast is
 * repeated if it was not.
 */

/* Emits until the bucket is empty; returns the number of events. */
static unsigned int drain(unsigned int limit)
{
	unsigned int n = 0;

	while (n < limit && emit("rate") == 0)
		n++;
	if (n < limit)
		check_eq(errno, EAGAIN);
	return n;
}

/* A batch whose first `good` entries are valid; returns the number emitted. */
static int batch_until(uint32_t count, uint32_t good, uint32_t *emitted)
{
	static struct kmes_batch_entry entries[KMES_BATCH_MAX];
	struct kmes_ioc_batch call = { .entries = (uintptr_t)entries,
				       .emitted_out = (uintptr_t)emitted,
				       .count = count };

	for (uint32_t i = 0; i < count; i++)
		entries[i] =
			(struct kmes_batch_entry){ .event_type = (uintptr_t) "rate",
						   .event_type_len = i < good ? 4 : 0,
						   .payload = (uintptr_t) "\x80",
						   .payload_len = 1 };
	return ioctl(device(), KMES_IOC_BATCH, &call);
}

static int batch_of(uint32_t count)
{
	uint32_t emitted = 0;
	int r = batch_until(count, count, &emitted);

	check_eq(emitted, r ? 0 : count);
	return r;
}

static void begin(uint64_t rate)
{
	check_eq(config_set("max_emit_rate_per_process", rate), 0);
	drop_capabilities(CAP(SYS_ADMIN));
}

/*
 * Empties a full bucket in the given way, then requests all of it at once in less than a
 * second: refused, because it takes a second to refill.
 */
static void check_empty_after(void (*empty)(void))
{
	for (int tries = 0; tries < 30; tries++) {
		uint64_t start;
		int r, error;

		sleep_ms(1100);
		start = now_ns(CLOCK_MONOTONIC);
		empty();
		errno = 0;
		r = batch_of(100);
		error = errno;
		if (ms_since(start) < 950) {
			check(r == -1 && error == EAGAIN);
			return;
		}
	}
	fail("this machine is too slow for this test");
}

static void take_all(void)
{
	check_eq(batch_of(100), 0);
}

static void burst_then_refill(void)
{
	uint64_t start;
	unsigned int n;

	begin(100);
	start = now_ns(CLOCK_MONOTONIC);
	n = drain(5000);
	/* A full bucket, and the tokens added meanwhile. */
	check(n >= 100 && n <= 101 + ms_since(start) / 10);
	sleep_ms(300);
	n = drain(5000);
	check(n >= 29);
	/* Never more than a full bucket, no matter how long it waits. */
	sleep_ms(1500);
	start = now_ns(CLOCK_MONOTONIC);
	n = drain(5000);
	check(n >= 100 && n <= 101 + ms_since(start) / 10);
}

/* Of 100 tokens, 40 are used and 60 returned, which are then all there are. */
static void take_all_by_a_bad_batch(void)
{
	uint32_t emitted;

	check_errno(batch_until(100, 40, &emitted), EINVAL);
	check_eq(emitted, 40);
	check_eq(batch_of(60), 0);
}

static void refund(void)
{
	uint32_t emitted;

	begin(100);
	check_empty_after(take_all_by_a_bad_batch);
	sleep_ms(1100);
	for (int i = 0; i < 50; i++) {
		/* Refused before and after taking the tokens. */
		check_errno(batch_until(0, 0, &emitted), EINVAL);
		check_errno(batch_until(100, 0, &emitted), EINVAL);
		check_errno(batch_until(100, 100, (void *)8), EFAULT);
	}
	for (int i = 0; i < 300; i++) {
		check_errno(emit_raw("x", 1, "\xc1", 1), EINVAL);
		check_errno(emit_raw("x", 1, (void *)8, 1), EFAULT);
		check_errno(emit_raw("x", 0, "\x80", 1), EINVAL);
	}
	check(drain(5000) >= 100);
}

static void batch_whole_or_nothing(void)
{
	begin(100);
	check_errno(batch_of(101), EAGAIN);
	/* Another hundred fail so soon, while fewer succeed. */
	check_empty_after(take_all);
	sleep_ms(200);
	check_eq(batch_of(15), 0);
}

/* A new process has a full bucket, and does not refill its parent's. */
static void take_all_and_twice_in_children(void)
{
	take_all();
	check_eq(in_child(take_all), 0);
	check_eq(in_child(take_all), 0);
}

static void a_process_of_its_own(void)
{
	begin(100);
	check_empty_after(take_all_and_twice_in_children);
}

static void *thread_takes(void *arg)
{
	take_all();
	return arg;
}

static void take_all_in_a_thread(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, thread_takes, NULL) == 0);
	pthread_join(thread, NULL);
}

static void threads_share(void)
{
	begin(100);
	check_empty_after(take_all_in_a_thread);
}

static void exempt(void)
{
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_eq(drain(1000), 1000);
	drop_capabilities(CAP(SYS_ADMIN));
	check(drain(5000) >= 100);
}

/* Four hundred tokens or more are clamped to 100. */
static void take_all_after_a_change(void)
{
	check_eq(config_set("max_emit_rate_per_process", 1000), 0);
	sleep_ms(300);
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_eq(batch_of(100), 0);
}

static void change_applies_at_once(void)
{
	begin(1000);
	check_eq(batch_of(256), 0);
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_errno(batch_of(101), EAGAIN);
	check_empty_after(take_all_after_a_change);
	check_eq(config_set("max_emit_rate_per_process", 1000000), 0);
	sleep_ms(20);
	check_eq(batch_of(256), 0);
}

static void set_clock_by(int64_t seconds)
{
	struct timespec t;

	check(clock_gettime(CLOCK_REALTIME, &t) == 0);
	t.tv_sec += seconds;
	check(clock_settime(CLOCK_REALTIME, &t) == 0);
}

static void take_all_and_step_forward(void)
{
	take_all();
	set_clock_by(3600);
}

static void take_all_and_step_back(void)
{
	take_all();
	set_clock_by(-7200);
}

static void wall_clock_step(void)
{
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	/* May set the clock, but is not exempt. */
	drop_capabilities(CAP(SYS_ADMIN));
	check_empty_after(take_all_and_step_forward);
	check_empty_after(take_all_and_step_back);
	sleep_ms(300);
	check_eq(batch_of(25), 0);
	set_clock_by(3600);
}

/* As kmes(4) warns. */
static void events_of_any_size(void)
{
	uint32_t size = KMES_EVENT_SIZE_DEFAULT - KMES_HEADER_SIZE - 4;
	unsigned char *payload = sized_payload(size, 'x');
	struct vm_ring ring;
	uint64_t sequence;

	pin(0);
	ring = ring_open(0);
	begin(100);
	check_eq(emit("evidence"), 0);
	sequence = ring_last(&ring).h.sequence;
	for (uint64_t n = 0; n < KMES_CAPACITY_DEFAULT / KMES_EVENT_SIZE_DEFAULT; n++)
		check_eq(emit_raw("size", 4, payload, size), 0);
	check_eq(ring_event(&ring, ring.producer->tail_pos).h.sequence, sequence + 1);
}

/* Each case runs in a child: a new bucket, and capabilities are not lost for good. */
#define CASE(name)                                                                       \
	static void run_##name(void)                                                     \
	{                                                                                \
		int status = in_child(name);                                             \
		check_eq(config_set("max_emit_rate_per_process", 10000), 0);             \
		check_eq(status, 0);                                                     \
	}

CASE(burst_then_refill)
CASE(refund)
CASE(batch_whole_or_nothing)
CASE(a_process_of_its_own)
CASE(threads_share)
CASE(exempt)
CASE(change_applies_at_once)
CASE(wall_clock_step)
CASE(events_of_any_size)

static const struct vm_case cases[] = {
	{ "burst", run_burst_then_refill },	  { "refund", run_refund },
	{ "batch", run_batch_whole_or_nothing },  { "process", run_a_process_of_its_own },
	{ "threads", run_threads_share },	  { "exempt", run_exempt },
	{ "change", run_change_applies_at_once }, { "clock", run_wall_clock_step },
	{ "size", run_events_of_any_size },
};

KMES_CASES(cases)
