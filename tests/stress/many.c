// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * 256 rings, which need three waiting calls at a time, under the usual limit of 1024
 * descriptors: single events on any of them wake the sleeper, and a flood on all of them
 * is read completely. [A7] [N5] [N9]
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tap.h"
#include "testsource.h"

#define RINGS 256
#ifdef KMES_TSAN
#define SINGLES 300u
#else
#define SINGLES 3000u
#endif
#define LATE_NS 80000000ull

static struct testsource *ts;
static uint64_t seen;

static void *send_singles(void *arg)
{
	uint32_t random = 3;

	(void)arg;
	for (uint64_t n = 1; n <= SINGLES; n++) {
		struct testring *ring;

		random = random * 1664525 + 1013904223;
		ring = ts->rings[(random >> 16) % RINGS];
		while (!kmes_load_relaxed(&ring->consumer->need_wake))
			test_nap_us(10);
		testring_emit(ring, test_now_ns(), "many", "\xc0", 1);
		while (kmes_load_acquire(&seen) < n)
			test_nap_us(10);
	}
	return NULL;
}

static void check_singles(struct kmes_reader *rd)
{
	uint64_t end = test_now_ns() + 300000000000ull, worst = 0, late = 0, n = 0;
	uint32_t wrong = 0;
	pthread_t thread;
	struct kmes_item item;

	pthread_create(&thread, NULL, send_singles, NULL);
	while (n < SINGLES && test_now_ns() < end) {
		uint64_t ns;
		int r = kmes_reader_next(rd, &item);

		if (r == 0)
			kmes_reader_wait(rd, 100, -1);
		if (r <= 0)
			continue;
		if (item.kind != KMES_ITEM_EVENT) {
			wrong++;
			continue;
		}
		ns = test_now_ns() - item.event->ts_ns;
		worst = ns > worst ? ns : worst;
		late += ns > LATE_NS;
		kmes_store_release(&seen, ++n);
	}
	kmes_store_release(&seen, UINT64_MAX);
	pthread_join(thread, NULL);
	tap_note("%llu single events, worst %.1f ms, %llu near the bound",
		 (unsigned long long)n, (double)worst / 1e6, (unsigned long long)late);
	tap_ok(n == SINGLES && !wrong, "many: an event on any of %d rings is seen",
	       RINGS);
	tap_ok(late <= SINGLES / 100, "many: no event waits for a sleep to time out");
}

static void check_flood(struct kmes_reader *rd)
{
	uint32_t events = 0, wrong = 0;
	uint64_t last_ts = 0, last[RINGS];
	struct kmes_item item;

	for (int i = 0; i < RINGS; i++)
		last[i] = ts->rings[i]->w.sequence;
	for (int n = 0; n < 100; n++) {
		for (int i = 0; i < RINGS; i++)
			testring_emit(ts->rings[(i * 7 + n) % RINGS], test_real_ns(),
				      "flood", "\xc0", 1);
	}
	/* The newest events wait for the watermark. */
	for (int empty = 0; empty < 50;) {
		const struct kmes_event *e;

		if (kmes_reader_next(rd, &item) <= 0) {
			kmes_reader_wait(rd, 1, -1);
			empty++;
			continue;
		}
		e = item.event;
		if (item.kind != KMES_ITEM_EVENT || e->seq != last[e->cpu] + 1 ||
		    e->ts_ns < last_ts) {
			wrong++;
			continue;
		}
		last[e->cpu] = e->seq;
		last_ts = e->ts_ns;
		events++;
	}
	tap_ok(!wrong && events == 100 * RINGS,
	       "many: a flood on all rings is read whole and in order");
}

int main(void)
{
	struct rlimit limit = { 1024, 1024 };
	struct kmes_error err = { "" };
	struct kmes_reader *rd;

	setrlimit(RLIMIT_NOFILE, &limit);
	ts = testsource_new(RINGS, 65536);
	rd = testsource_read(ts, KMES_ORDER_TIME, false, false, &err);
	if (!tap_ok(rd != NULL, "many: %d rings are opened", RINGS)) {
		tap_note("%s", err.text);
		return tap_done();
	}
	check_singles(rd);
	check_flood(rd);
	kmes_reader_close(rd);
	testsource_free(ts);
	return tap_done();
}
