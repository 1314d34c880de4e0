// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The reader's sleep: what ends it, its stores to the pages, and its bound. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader_fixture.h"
#include "unit.h"

#define MS_NS 1000000ull

static void setup(void)
{
	alarm(60);
}
EACH_TEST(setup, fixture_end);

static uint64_t wait_ms(int timeout_ms)
{
	uint64_t before = test_now_ns();

	kmes_reader_wait(rd, timeout_ms, -1);
	return (test_now_ns() - before) / MS_NS;
}

struct later {
	pthread_t thread;
	int cpu;
	uint64_t sent_ns;
};

/* Emits once the reader sleeps on the ring. */
static void *emit_when_armed(void *arg)
{
	struct later *later = arg;

	while (!kmes_load_relaxed(&ts->rings[later->cpu]->consumer->need_wake))
		test_nap_us(200);
	test_nap_us(3000);
	later->sent_ns = test_now_ns();
	emit(later->cpu, 1);
	return NULL;
}

/* From the emit until the event is returned, in ms; the best of several. */
static uint64_t wake_ms(int cpu)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		struct later later = { .cpu = cpu };

		testlog_drain(got, rd);
		pthread_create(&later.thread, NULL, emit_when_armed, &later);
		testlog_wait(got, rd, 1, 5000);
		pthread_join(later.thread, NULL);
		later.sent_ns = got->last_event_ns - later.sent_ns;
		best = later.sent_ns < best ? later.sent_ns : best;
	}
	return best / MS_NS;
}

/* [N9] */
TEST(wait_on_idle_rings_is_bounded)
{
	uint64_t ms;

	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	ms = wait_ms(100);
	assert_between(ms, 90, 1000);
	/* A longer or infinite timeout is limited to the bound. */
	assert_between(wait_ms(60000), 90, 1000);
	assert_between(wait_ms(-1), 90, 1000);
	assert_between(wait_ms(20), 15, 500);
	assert_between(wait_ms(0), 0, 50);
}

/* [N5] [N7] [P5] */
TEST(wait_ends_when_an_event_arrives)
{
	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_CPU, false, false);
	/* Well below the bound of a sleep. */
	assert_between(wake_ms(0), 0, 40);
	assert_between(wake_ms(1), 0, 40);
}

/* [N2] [N3] [N8] */
TEST(wait_does_not_sleep_while_an_event_is_available)
{
	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	emit(1, 1);
	assert_between(wait_ms(100), 0, 80);
	/* Cleared on the ring with an event, kept on the other. */
	assert_int_equal(ts->rings[1]->consumer->need_wake, 0);
	testlog_drain(got, rd);
	assert_string_equal(got->text, "1.1 ");
}

/* [N1] [N6] [C2] [C3] */
TEST(wait_sets_need_wake_and_clears_it_on_rings_with_events)
{
	static const uint8_t zeros[4095];

	fixture_begin(3, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	wait_ms(1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ts->rings[i]->consumer->need_wake, 1);
	emit(1, 1);
	assert_int_equal(ts->rings[1]->producer->futex_counter, 1);
	wait_ms(1);
	testlog_drain(got, rd);
	assert_int_equal(ts->rings[1]->consumer->need_wake, 0);
	assert_int_equal(ts->rings[0]->consumer->need_wake, 1);
	for (int i = 0; i < 3; i++)
		assert_memory_equal(ts->rings[i]->consumer->reserved4, zeros, 4095);
}

/*
 * Under load the flag is cleared where events are read, not only at the next sleep, which
 * may never come: else each event costs its emitter a wake. [N8] [P5]
 */
TEST(wait_flag_does_not_stay_set_under_load)
{
	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	wait_ms(1); /* both rings are armed now */
	for (int i = 0; i < 200; i++) {
		emit(0, 1 + i);
		emit(1, 1 + i);
		testlog_drain(got, rd);
	}
	assert_int_equal(got->events, 400);
	assert_between(ts->rings[0]->w.counts.wakes, 1, 2);
	assert_between(ts->rings[1]->w.counts.wakes, 1, 2);
	assert_int_equal(ts->rings[0]->consumer->need_wake, 0);
	assert_int_equal(ts->rings[1]->consumer->need_wake, 0);
}

/*
 * Another consumer clears a sleeper's flag: the event is late by the bound at most. [N9]
 */
static void *clear_and_emit(void *arg)
{
	struct later *later = arg;

	while (!kmes_load_relaxed(&ts->rings[0]->consumer->need_wake))
		test_nap_us(200);
	test_nap_us(3000);
	kmes_store_relaxed(&ts->rings[0]->consumer->need_wake, 0);
	later->sent_ns = test_now_ns();
	emit(0, 1);
	return NULL;
}

TEST(wait_with_its_flag_cleared_sees_the_event_within_the_bound)
{
	uint64_t best = UINT64_MAX;

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	for (int i = 0; i < 3; i++) {
		struct later later = { 0 };

		testlog_drain(got, rd);
		pthread_create(&later.thread, NULL, clear_and_emit, &later);
		while (testlog_drain(got, rd) == 0 && got->events == (uint32_t)i)
			kmes_reader_wait(rd, 100, -1);
		pthread_join(later.thread, NULL);
		later.sent_ns = got->last_event_ns - later.sent_ns;
		best = later.sent_ns < best ? later.sent_ns : best;
	}
	assert_int_equal(ts->rings[0]->w.counts.wakes, 0);
	assert_between(best / MS_NS, 0, 110);
}

/* The futex is shared, so a wake from another process reaches it. [N7] [N5] */
TEST(wait_is_ended_by_another_process)
{
	uint64_t best = UINT64_MAX;

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_CPU, false, false);
	for (uint32_t i = 0; i < 5; i++) {
		uint64_t sent_ns;
		int pipes[2];
		pid_t pid;

		testlog_drain(got, rd);
		assert_int_equal(pipe(pipes), 0);
		pid = fork();
		if (pid == 0) {
			struct later later = { .cpu = 0 };

			emit_when_armed(&later);
			_exit(write(pipes[1], &later.sent_ns, 8) != 8);
		}
		testlog_wait(got, rd, 1, 5000);
		assert_int_equal(read(pipes[0], &sent_ns, 8), 8);
		waitpid(pid, NULL, 0);
		close(pipes[0]);
		close(pipes[1]);
		sent_ns = got->last_event_ns - sent_ns;
		best = sent_ns < best ? sent_ns : best;
		/* The child's writer is a copy of this one, which repeats it. */
		emit(0, 1);
	}
	assert_between(best / MS_NS, 0, 40);
}

/* [N9] */
TEST(wait_on_256_rings_is_ended_by_any_of_them)
{
	static const int cpus[] = { 0, 126, 127, 128, 200, 253, 254, 255 };

	fixture_begin(256, 4096);
	fixture_start(KMES_ORDER_CPU, false, false);
	for (size_t i = 0; i < COUNT(cpus); i++)
		assert_between(wake_ms(cpus[i]), 0, 60);
	assert_int_equal(got->events, 40);
	testlog_drain(got, rd);
	assert_between(wait_ms(100), 90, 1000);
}

/* As many as fit in one call, one more, and enough for three calls. [N5] */
TEST(wait_on_more_rings_than_fit_in_one_call)
{
	static const int counts[] = { 127, 128, 129, 254, 255, 382 };

	for (size_t i = 0; i < COUNT(counts); i++) {
		fixture_begin(counts[i], 4096);
		fixture_start(KMES_ORDER_CPU, false, false);
		assert_between(wake_ms(counts[i] - 1), 0, 60);
		testlog_drain(got, rd);
		assert_between(wait_ms(30), 25, 500);
		fixture_end();
	}
}

/* A sleeper notices that the reader of its output has closed, without any event. */
TEST(wait_reports_a_hangup_of_the_watched_descriptor)
{
	int fds[2];

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(kmes_reader_wait(rd, 5, fds[1]), 0);
	close(fds[0]);
	assert_int_equal(kmes_reader_wait(rd, 5, fds[1]), 1);
	close(fds[1]);
}

/* The same with events of which none is printed, so that no wait times out. */
TEST(wait_reports_a_hangup_of_the_watched_descriptor_under_load)
{
	uint64_t begun = test_now_ns();
	int fds[2], gone = 0;

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	while (!gone && test_now_ns() - begun < 20000 * MS_NS) {
		emit(0, 1);
		gone = kmes_reader_wait(rd, 100, fds[1]);
		testlog_drain(got, rd);
	}
	assert_int_equal(gone, 1);
	close(fds[1]);
}

/* While each wait finds events at once, no wake is requested. [N1 N2] */
TEST(wait_requests_no_wake_while_events_keep_arriving)
{
	struct testring *ring;
	uint64_t begun;

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	ring = ts->rings[0];
	testlog_drain(got, rd);
	begun = test_now_ns();
	for (int i = 0; i < 100; i++) {
		emit(0, 1);
		kmes_reader_wait(rd, 100, -1);
		assert_int_equal(ring->consumer->need_wake, 0);
		testlog_drain(got, rd);
	}
	assert_int_equal(got->events, 100);
	assert_int_equal(ring->w.counts.wakes, 0);
	/* The ring stays nearly empty, so naps become longer. */
	assert_true(test_now_ns() - begun > 60 * MS_NS);
	/* A nap without events is the last one. */
	kmes_reader_wait(rd, 100, -1);
	assert_int_equal(ring->consumer->need_wake, 0);
	assert_between(wait_ms(30), 25, 500);
	assert_int_equal(ring->consumer->need_wake, 1);
}

static void *sleep_on_the_ring(void *arg)
{
	const uint32_t *word = &ts->rings[0]->producer->futex_counter;
	struct timespec limit = { .tv_sec = 30 };

	kmes_store_release((uint32_t *)arg, 1);
	return syscall(SYS_futex, word, FUTEX_WAIT, kmes_load_acquire(word), &limit, NULL,
		       0)
		       ? arg
		       : NULL;
}

/* Whose flag was cleared by one that naps now is woken by that one. [N2] */
TEST(wait_wakes_other_sleepers_while_it_naps)
{
	uint32_t sleeps = 0;
	uint64_t begun = test_now_ns();
	pthread_t thread;
	void *failed;

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	pthread_create(&thread, NULL, sleep_on_the_ring, &sleeps);
	while (!kmes_load_acquire(&sleeps))
		test_nap_us(100);
	while (pthread_tryjoin_np(thread, &failed) &&
	       test_now_ns() - begun < 60000 * MS_NS) {
		emit(0, 1);
		kmes_reader_wait(rd, 100, -1);
		testlog_drain(got, rd);
	}
	assert_null(failed);
	assert_int_equal(ts->rings[0]->w.counts.wakes, 0);
}

/*
 * An endless stream of bad events: the reader still returns, so that its caller can end,
 * and the other rings are read. [D6]
 */
static int stop_flood;

static void *flood_with_bad_events(void *arg)
{
	struct testring *ring = arg;
	struct kmes_record record = { "t", "\xc0", 1, 1 };
	struct kmes_stamp stamp = { .timestamp = 1 };
	bool wake;

	while (!kmes_load_relaxed(&stop_flood)) {
		ring->w.sequence = 0; /* each has sequence 1 */
		ring->w.cpu_id ^= 1;  /* and every other one is of another CPU */
		kmes_ring_write(&ring->w, &record, &stamp, &wake);
	}
	return NULL;
}

/* CPU time of this thread, which other load does not affect. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS_NS + (uint64_t)t.tv_nsec;
}

TEST(wait_is_reached_under_a_flood_of_bad_events)
{
	struct kmes_item item;
	pthread_t thread;
	uint64_t begun, longest = 0;
	uint32_t calls = 0;

	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	kmes_store_relaxed(&stop_flood, 0);
	pthread_create(&thread, NULL, flood_with_bad_events, ts->rings[0]);
	begun = test_now_ns();
	emit(1, 1);
	while (test_now_ns() - begun < 500 * MS_NS || calls <= 20) {
		uint64_t before = cpu_ns();
		int r = kmes_reader_next(rd, &item);

		before = cpu_ns() - before;
		longest = before > longest ? before : longest;
		assert_true(r >= 0);
		if (r > 0)
			testlog_add(got, &item);
		calls++;
	}
	kmes_store_relaxed(&stop_flood, 1);
	pthread_join(thread, NULL);
	ts->rings[0]->w.cpu_id = 0;
	assert_between(longest / MS_NS, 0, 200);
	assert_between(got->events, 1, 2);
	assert_non_null(strstr(got->text, "1.1 "));
}
