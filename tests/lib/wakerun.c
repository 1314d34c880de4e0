// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* wakerun.c - one writer, several followers, single events; see wakerun.h */
#include "wakerun.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testsource.h"

struct follower {
	pthread_t thread;
	struct kmes_reader *rd;
	struct wakerun run;
	uint32_t events;
	int schedstat;
	/*
	 * The last sleep: its start, and its duration without the time waiting for a CPU.
	 */
	uint64_t slept_from_ns, slept_ns;
	_Alignas(64) uint64_t seen; /* last sequence, read by the sender */
	uint32_t is_done;
};

static struct testsource *ts;
static struct follower followers[WAKERUN_FOLLOWERS_MAX];

/* Does not affect the order: CLOCK_MONOTONIC is long past in real time. */
static void take_event(struct follower *f, const struct kmes_event *e)
{
	uint64_t ns = test_now_ns() - e->ts_ns;
	uint32_t bucket = 0;

	for (uint64_t us = ns / 1000; us && bucket < WAKERUN_BUCKETS - 1; us /= 2)
		bucket++;
	f->run.buckets[bucket]++;
	if (ns > f->run.worst_ns)
		f->run.worst_ns = ns;
	if (e->ts_ns < f->slept_from_ns + WAKERUN_EARLY_NS &&
	    f->slept_ns > WAKERUN_LATE_NS)
		f->run.missed++;
	if (e->seq != f->seen + 1)
		f->run.wrong++;
	kmes_store_release(&f->seen, e->seq);
}

/* How long this thread has been runnable without running. */
static uint64_t run_delay_ns(const struct follower *f)
{
	unsigned long long on_cpu, delay = 0;
	char line[80];
	ssize_t len = pread(f->schedstat, line, sizeof(line) - 1, 0);

	line[len < 0 ? 0 : len] = '\0';
	return sscanf(line, "%llu %llu", &on_cpu, &delay) == 2 ? delay : 0;
}

static void sleep_once(struct follower *f)
{
	uint64_t delay_ns = run_delay_ns(f);

	f->slept_from_ns = test_now_ns();
	kmes_reader_wait(f->rd, 100, -1);
	f->slept_ns = test_now_ns() - f->slept_from_ns;
	delay_ns = run_delay_ns(f) - delay_ns;
	f->slept_ns -= delay_ns < f->slept_ns ? delay_ns : f->slept_ns;
	if (f->slept_ns > f->run.longest_sleep_ns)
		f->run.longest_sleep_ns = f->slept_ns;
}

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct kmes_item item;

	f->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	while (f->seen < f->events && !f->run.wrong) {
		int r = kmes_reader_next(f->rd, &item);

		if (r == 0)
			sleep_once(f);
		else if (r > 0 && item.kind == KMES_ITEM_EVENT)
			take_event(f, item.event);
		else
			f->run.wrong++;
	}
	if (f->schedstat >= 0)
		close(f->schedstat);
	kmes_store_release(&f->is_done, 1);
	return NULL;
}

/* All followers have seen it; false if one of them gave up. */
static bool wait_until_seen(int count, uint64_t seq)
{
	for (int i = 0; i < count; i++) {
		for (uint32_t n = 0; kmes_load_acquire(&followers[i].seen) < seq; n++) {
			if (kmes_load_acquire(&followers[i].is_done))
				return false;
			if (n > 100)
				test_nap_us(5);
		}
	}
	return true;
}

static void send_one(struct testring *ring)
{
	testring_emit(ring, test_now_ns(), "wake", "\xc0", 1);
}

static void send(uint32_t events, int followers_count, bool asleep)
{
	struct testring *ring = ts->rings[0];
	uint32_t random = 1;

	for (uint64_t seq = 1; seq <= events; seq++) {
		if (asleep) {
			while (!kmes_load_relaxed(&ring->consumer->need_wake))
				test_nap_us(5);
		} else if (seq % 2 == 0) {
			/*
			 * Up to about 10 us after the first of two: while they go to
			 * sleep.
			 */
			random = random * 1664525 + 1013904223;
			for (volatile uint32_t spin = random >> 18; spin; spin--)
				;
		}
		send_one(ring);
		if ((asleep || seq % 2 == 0) && !wait_until_seen(followers_count, seq))
			return;
	}
}

struct wakerun wakerun(uint32_t events, int count, bool asleep)
{
	struct wakerun sum = { 0 };
	struct kmes_error err;

	ts = testsource_new(1, 65536);
	memset(followers, 0, sizeof(followers));
	for (int i = 0; i < count; i++) {
		struct follower *f = &followers[i];

		f->events = events;
		f->rd = testsource_read(ts, KMES_ORDER_CPU, false, false, &err);
		if (!f->rd || pthread_create(&f->thread, NULL, follow, f))
			abort();
	}
	send(events, count, asleep);
	for (int i = 0; i < count; i++) {
		const struct wakerun *run = &followers[i].run;

		pthread_join(followers[i].thread, NULL);
		kmes_reader_close(followers[i].rd);
		sum.missed += run->missed;
		sum.wrong += run->wrong;
		if (run->worst_ns > sum.worst_ns)
			sum.worst_ns = run->worst_ns;
		if (run->longest_sleep_ns > sum.longest_sleep_ns)
			sum.longest_sleep_ns = run->longest_sleep_ns;
		for (int k = 0; k < WAKERUN_BUCKETS; k++)
			sum.buckets[k] += run->buckets[k];
	}
	sum.wakes = ts->rings[0]->w.counts.wakes;
	testsource_free(ts);
	return sum;
}

double wakerun_percentile_us(const struct wakerun *run, double percent)
{
	uint64_t all = 0, sum = 0;
	int i;

	for (i = 0; i < WAKERUN_BUCKETS; i++)
		all += run->buckets[i];
	for (i = 0; i < WAKERUN_BUCKETS; i++) {
		sum += run->buckets[i];
		if ((double)sum >= percent / 100.0 * (double)all)
			break;
	}
	return (double)(1ull << i);
}
