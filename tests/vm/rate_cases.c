// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* rate_cases.c - token buckets: all in children that are not exempt. */
#include <pthread.h>

#include "tests/vm/case.h"

/*
 * The emulated machine may be slow beyond measure, so tokens come slowly: 100 a second. A
 * case that finds itself too slow to tell says so by trying again.
 */

/* Emits until the bucket is empty; returns how many went. */
static unsigned int drain(unsigned int limit)
{
	unsigned int n = 0;

	while (n < limit && emit("rate") == 0)
		n++;
	if (n < limit)
		check_eq(errno, EAGAIN);
	return n;
}

static int batch_of(uint32_t count)
{
	static struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t emitted = 0;
	struct kmes_ioc_batch call = { .entries = (uintptr_t)entries,
				       .emitted_out = (uintptr_t)&emitted,
				       .count = count };
	int r;

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "rate",
							.event_type_len = 4,
							.payload = (uintptr_t) "\x80",
							.payload_len = 1 };
	r = ioctl(device(), KMES_IOC_BATCH, &call);
	check_eq(emitted, r ? 0 : count);
	return r;
}

static void begin(uint64_t rate)
{
	check_eq(config_set("max_emit_rate_per_process", rate), 0);
	drop_capabilities(CAP(SYS_ADMIN));
}

static void burst_then_refill(void)
{
	uint64_t start;
	unsigned int n;

	begin(100);
	start = now_ns(CLOCK_MONOTONIC);
	n = drain(5000);
	/* A second's worth at once, and what came in meanwhile. */
	check(n >= 100 && n <= 101 + (now_ns(CLOCK_MONOTONIC) - start) / 10000000);
	sleep_ms(300);
	n = drain(5000);
	check(n >= 29);
	/* Never more than a second's worth, however long it waits. */
	sleep_ms(1500);
	start = now_ns(CLOCK_MONOTONIC);
	n = drain(5000);
	check(n >= 100 && n <= 101 + (now_ns(CLOCK_MONOTONIC) - start) / 10000000);
}

static void refund(void)
{
	begin(100);
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
	check_eq(batch_of(100), 0);
	/* Not a hundred again so soon, while fewer go through. */
	check_errno(batch_of(100), EAGAIN);
	sleep_ms(200);
	check_eq(batch_of(15), 0);
}

static void child_drains(void)
{
	check(drain(5000) >= 100);
}

static void a_process_of_its_own(void)
{
	begin(100);
	check(drain(5000) >= 100);
	/* A new process starts full, and does not fill its parent's. */
	check_eq(in_child(child_drains), 0);
	check_eq(in_child(child_drains), 0);
	check_errno(batch_of(100), EAGAIN);
}

static void *thread_drains(void *arg)
{
	*(unsigned int *)arg = drain(5000);
	return NULL;
}

static void threads_share(void)
{
	unsigned int n = 0, mine;
	pthread_t thread;

	begin(100);
	mine = drain(60);
	check(pthread_create(&thread, NULL, thread_drains, &n) == 0);
	pthread_join(thread, NULL);
	check_eq(mine, 60);
	check_errno(batch_of(100), EAGAIN);
	check(n >= 40);
}

static void exempt(void)
{
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_eq(drain(1000), 1000);
	drop_capabilities(CAP(SYS_ADMIN));
	check(drain(5000) >= 100);
}

static void change_applies_at_once(void)
{
	begin(1000);
	check_eq(batch_of(256), 0);
	/* 744 and what came in: clamped to 100, then no more at a time than that. */
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_errno(batch_of(101), EAGAIN);
	check_eq(batch_of(90), 0);
	check_errno(batch_of(100), EAGAIN);
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

static void wall_clock_step(void)
{
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	/* May set the clock, and is not exempt. */
	drop_capabilities(CAP(SYS_ADMIN));
	check(drain(5000) >= 100);
	set_clock_by(3600);
	check_errno(batch_of(100), EAGAIN);
	set_clock_by(-7200);
	check_errno(batch_of(100), EAGAIN);
	sleep_ms(300);
	check_eq(batch_of(25), 0);
	set_clock_by(3600);
}

/* Each case in a child, so that a bucket is fresh and rights are back afterwards. */
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

static const struct vm_case cases[] = {
	{ "burst", run_burst_then_refill },	  { "refund", run_refund },
	{ "batch", run_batch_whole_or_nothing },  { "process", run_a_process_of_its_own },
	{ "threads", run_threads_share },	  { "exempt", run_exempt },
	{ "change", run_change_applies_at_once }, { "clock", run_wall_clock_step },
};

KMES_CASES(cases)
