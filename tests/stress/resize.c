// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Ten resizes under load, up and down, with two followers and repeated snapshots: no
 * sequence twice, no unreported loss, and a reader that keeps up loses nothing.
 * [R0] [R2] [R5] [R9] [R10] [L2] [A13]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "testsource.h"

#define CPUS 2
#define FOLLOWERS 2
/* With at most this many unread events nothing is overwritten in the smallest ring. */
#define AHEAD_MAX 150
#define EVENT_SIZE_MAX 300

static const uint64_t capacities[] = {
	4194304, 65536, 131072, 1048576, 65536, 262144, 2097152, 524288, 65536, 4194304,
};
#define RESIZES (sizeof(capacities) / sizeof(capacities[0]))

static struct testsource *ts;
static uint64_t written[CPUS];		       /* by the writer, for all threads */
static uint64_t kept_first[CPUS][RESIZES + 2]; /* oldest sequence by generation */
static uint32_t writer_ended, all_ended;

/* What a reader found in order, by CPU. */
struct account {
	uint64_t last, told_last, events, lost;
	bool has_last, has_told;
	uint64_t new_generation; /* the newest one reported */
};

struct follower {
	pthread_t thread;
	struct account cpu[CPUS];
	uint64_t resizes;
	char wrong[128]; /* the first violation */
	_Alignas(64) uint64_t seen[CPUS];
};

static struct follower followers[FOLLOWERS];

#define WRONG(f, ...)                                                                    \
	do {                                                                             \
		if (!(f)->wrong[0])                                                      \
			snprintf((f)->wrong, sizeof((f)->wrong), __VA_ARGS__);           \
	} while (0)

static void account_event(struct follower *f, const struct kmes_event *e)
{
	struct account *a = &f->cpu[e->cpu];
	uint64_t expected = a->has_told ? a->told_last + 1 : a->last + 1;
	uint64_t generation = a->new_generation;

	if (a->has_last && e->seq != expected)
		WRONG(f, "cpu%u: sequence %llu instead of %llu", e->cpu,
		      (unsigned long long)e->seq, (unsigned long long)expected);
	/* A gap at a replacement ends where the new ring begins, or later. */
	if (a->has_told && generation &&
	    e->seq < __atomic_load_n(&kept_first[e->cpu][generation], __ATOMIC_ACQUIRE))
		WRONG(f, "cpu%u: sequence %llu was not kept by generation %llu", e->cpu,
		      (unsigned long long)e->seq, (unsigned long long)generation);
	for (uint32_t i = 0; i < e->payload_len; i++) {
		if (e->payload[i] != (uint8_t)e->seq)
			WRONG(f, "cpu%u: sequence %llu is torn", e->cpu,
			      (unsigned long long)e->seq);
	}
	a->last = e->seq;
	a->has_last = true;
	a->has_told = false;
	a->events++;
}

static void account_item(struct follower *f, const struct kmes_item *item)
{
	struct account *a;

	switch (item->kind) {
	case KMES_ITEM_EVENT:
		account_event(f, item->event);
		break;
	case KMES_ITEM_LOSS:
		a = &f->cpu[item->loss.cpu];
		if (a->has_last && item->loss.first != a->last + 1)
			WRONG(f, "cpu%u: loss from %llu behind %llu", item->loss.cpu,
			      (unsigned long long)item->loss.first,
			      (unsigned long long)a->last);
		a->lost += item->loss.last - item->loss.first + 1;
		a->told_last = item->loss.last;
		a->has_told = true;
		break;
	case KMES_ITEM_RESIZE:
		a = &f->cpu[item->resize.cpu];
		if (item->resize.new_generation <= a->new_generation)
			WRONG(f, "generation %llu behind %llu",
			      (unsigned long long)item->resize.new_generation,
			      (unsigned long long)a->new_generation);
		a->new_generation = item->resize.new_generation;
		f->resizes++;
		break;
	case KMES_ITEM_NOTE:
		WRONG(f, "%s", item->note);
	}
}

static bool has_seen_all(const struct follower *f)
{
	if (!kmes_load_acquire(&writer_ended))
		return false;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		if (f->cpu[cpu].last != kmes_load_acquire(&written[cpu]))
			return false;
	}
	return true;
}

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct kmes_error err = { "" };
	struct kmes_reader *rd = testsource_read(ts, KMES_ORDER_TIME, false, false, &err);
	struct kmes_item item;
	int r = 0;

	while (rd && r >= 0 && !f->wrong[0] && !has_seen_all(f)) {
		r = kmes_reader_next(rd, &item);
		if (r == 0)
			kmes_reader_wait(rd, 10, -1);
		if (r <= 0)
			continue;
		account_item(f, &item);
		for (int cpu = 0; cpu < CPUS; cpu++)
			kmes_store_release(&f->seen[cpu], f->cpu[cpu].last);
	}
	if (!rd || r < 0)
		WRONG(f, "%s", rd ? kmes_reader_error(rd) : err.text);
	kmes_reader_close(rd);
	/* The writer does not wait for a reader that gave up. */
	for (int cpu = 0; cpu < CPUS; cpu++)
		kmes_store_release(&f->seen[cpu], UINT64_MAX);
	return NULL;
}

struct snapshots {
	pthread_t thread;
	uint32_t count;
	uint64_t events;
	char wrong[128];
};

static void *take_snapshots(void *arg)
{
	struct snapshots *s = arg;

	while (!kmes_load_acquire(&all_ended) && !s->wrong[0]) {
		struct kmes_error err = { "" };
		struct kmes_reader *rd =
			testsource_read(ts, KMES_ORDER_TIME, false, true, &err);
		struct follower *f = calloc(1, sizeof(*f));
		struct kmes_item item;
		int r = -EIO;

		while (rd && (r = kmes_reader_next(rd, &item)) > 0)
			account_item(f, &item);
		if (r != -ENODATA)
			WRONG(s, "ended with %d: %s", r, err.text);
		if (f->wrong[0])
			WRONG(s, "%s", f->wrong);
		for (int cpu = 0; cpu < CPUS; cpu++)
			s->events += f->cpu[cpu].events;
		s->count++;
		kmes_reader_close(rd);
		free(f);
		test_nap_us(500);
	}
	return NULL;
}

static void wait_for_followers(int cpu)
{
	for (int i = 0; i < FOLLOWERS; i++) {
		while (ts->rings[cpu]->w.sequence >= AHEAD_MAX &&
		       kmes_load_acquire(&followers[i].seen[cpu]) <
			       ts->rings[cpu]->w.sequence - AHEAD_MAX)
			test_nap_us(20);
	}
}

static void write_some(uint32_t count, bool wait)
{
	static uint32_t random = 7;

	for (uint32_t i = 0; i < count; i++) {
		int cpu = (int)(i % CPUS);
		struct testring *ring = ts->rings[cpu];
		uint8_t payload[EVENT_SIZE_MAX];
		uint32_t len;

		random = random * 1664525 + 1013904223;
		len = (random >> 16) % (EVENT_SIZE_MAX - 78);
		memset(payload, (uint8_t)(ring->w.sequence + 1), len);
		if (wait)
			wait_for_followers(cpu);
		testring_emit(ring, test_real_ns(), "r", payload, len);
		kmes_store_release(&written[cpu], ring->w.sequence);
	}
}

static void resize_all(uint64_t capacity)
{
	for (uint16_t cpu = 0; cpu < CPUS; cpu++) {
		uint64_t generation = ts->rings[cpu]->w.generation + 1;

		/* Set before the new ring is visible. */
		struct testring *probe = testring_successor(ts->rings[cpu], capacity);

		kmes_store_release(&kept_first[cpu][generation],
				   testring_walk(probe).events
					   ? testring_walk(probe).first_seq
					   : probe->w.sequence + 1);
		testring_free(probe);
		testsource_resize(ts, cpu, capacity);
	}
}

static void check_follower(int i, bool waits, const char *how)
{
	const struct follower *f = &followers[i];
	uint64_t events = 0, lost = 0;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		events += f->cpu[cpu].events;
		lost += f->cpu[cpu].lost;
	}
	tap_note("%s: follower %d: %llu read, %llu lost, %llu resizes", how, i,
		 (unsigned long long)events, (unsigned long long)lost,
		 (unsigned long long)f->resizes);
	if (f->wrong[0])
		tap_note("follower %d: %s", i, f->wrong);
	tap_ok(!f->wrong[0] && events + lost == written[0] + written[1],
	       "resize: each event is read or told as lost once, follower %d, %s", i,
	       how);
	if (waits)
		tap_ok(lost == 0,
		       "resize: a reader that keeps up loses nothing, follower %d, %s", i,
		       how);
}

static void run(bool waits, uint32_t events, const char *how)
{
	struct snapshots snapshots = { 0 };

	ts = testsource_new(CPUS, 65536);
	ts->tells_birth = waits;
	memset(followers, 0, sizeof(followers));
	memset(written, 0, sizeof(written));
	writer_ended = all_ended = 0;
	for (int i = 0; i < FOLLOWERS; i++)
		pthread_create(&followers[i].thread, NULL, follow, &followers[i]);
	pthread_create(&snapshots.thread, NULL, take_snapshots, &snapshots);
	/* All are ready before the flood. */
	write_some(CPUS, true);
	for (int i = 0; i < FOLLOWERS; i++) {
		while (!kmes_load_acquire(&followers[i].seen[0]))
			test_nap_us(100);
	}
	for (size_t i = 0; i < RESIZES; i++) {
		write_some(events / RESIZES, waits);
		resize_all(capacities[i]);
	}
	write_some(CPUS * 50, waits);
	kmes_store_release(&writer_ended, 1);
	for (int i = 0; i < FOLLOWERS; i++)
		pthread_join(followers[i].thread, NULL);
	kmes_store_release(&all_ended, 1);
	pthread_join(snapshots.thread, NULL);
	for (int i = 0; i < FOLLOWERS; i++)
		check_follower(i, waits, how);
	tap_note("%s: %u snapshots, %llu events in them", how, snapshots.count,
		 (unsigned long long)snapshots.events);
	if (snapshots.wrong[0])
		tap_note("snapshot: %s", snapshots.wrong);
	tap_ok(!snapshots.wrong[0] && snapshots.count > 0 && snapshots.events > 0,
	       "resize: snapshots are in order and end, %s", how);
	testsource_free(ts);
}

/* A follower that reads only at the end finds exactly two ranges. */
static void run_stopped(void)
{
	struct follower *f = calloc(1, sizeof(*f));
	struct kmes_error err;
	struct kmes_reader *rd;
	struct kmes_item item;
	struct testring_walk first, last;

	ts = testsource_new(CPUS, 65536);
	rd = testsource_read(ts, KMES_ORDER_TIME, false, false, &err);
	if (!rd)
		abort();
	write_some(2000, false);
	first = testring_walk(ts->rings[1]);
	for (size_t i = 0; i < RESIZES; i++) {
		resize_all(capacities[i]);
		write_some(2000, false);
	}
	resize_all(65536);
	last = testring_walk(ts->rings[1]);
	/* The newest events wait for the watermark. */
	for (int empty = 0; empty < 50;) {
		if (kmes_reader_next(rd, &item) > 0) {
			account_item(f, &item);
		} else {
			kmes_reader_wait(rd, 1, -1);
			empty++;
		}
	}
	if (f->wrong[0])
		tap_note("%s", f->wrong);
	tap_ok(!f->wrong[0] && f->cpu[1].last == last.last_seq,
	       "resize: a stopped follower continues");
	tap_ok(f->cpu[1].events == first.events + last.events,
	       "resize: it reads its own ring and the last one");
	tap_ok(f->cpu[1].lost ==
		       first.first_seq - 1 + last.first_seq - first.last_seq - 1,
	       "resize: it reports exactly the oldest part as lost");
	kmes_reader_close(rd);
	testsource_free(ts);
	free(f);
}

int main(void)
{
#ifdef KMES_TSAN
	uint32_t events = 20000;
#else
	uint32_t events = tap_is_full_run() ? 10000000 : 1000000;
#endif

	run(true, events / 4, "paced");
	run(false, events, "flood");
	run_stopped();
	return tap_done();
}
