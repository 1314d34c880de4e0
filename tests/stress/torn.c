// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A writer at full speed and a reader that copies: no event is ever torn. Each payload
 * byte is the low byte of the event's sequence, the timestamp is the sequence, so a mix
 * of two events is detected. [D3] [D5] [O1] [O2] [O6] [O7] [E9]
 *
 * The writer is a thread, or another process; the reader is the copy itself, or the
 * library's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "testsource.h"

#ifdef KMES_TSAN
#define EVENTS 150000u
#else
#define EVENTS 10000000u
#endif
#define SECONDS_MAX 300

static struct shared {
	uint32_t stop;
	uint64_t written; /* sequences, after the writer has ended */
} * shared;

struct tally {
	uint64_t wanted, read, torn, lost, last_seq, laps;
};

/* Sizes that cross the end of the ring at varying positions. */
static void write_some(struct testring *ring, uint32_t *random)
{
	static uint8_t payloads[256][256];
	struct kmes_record records[256];
	struct kmes_stamp stamp;
	uint32_t count = 1;
	bool wake;

	*random = *random * 1664525 + 1013904223;
	/* Sometimes a batch; of 256, it exceeds a small ring. */
	if (*random >> 20 == 0)
		count = 256;
	else if (*random >> 24 == 0)
		count = 5;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t len = (*random >> 8) % 200 + (count > 200 ? 56 : 0);

		memset(payloads[i], (uint8_t)(ring->w.sequence + 1 + i), len);
		records[i] = (struct kmes_record){ "torn", payloads[i], len, 4 };
	}
	memset(&stamp, 0, sizeof(stamp));
	stamp.timestamp = ring->w.sequence + 1;
	if (count == 1)
		kmes_ring_write(&ring->w, records, &stamp, &wake);
	else
		kmes_ring_write_batch(&ring->w, records, count, &stamp, &wake);
	if (wake)
		testring_wake(ring);
}

static void *write_until_stopped(void *arg)
{
	struct testring *ring = arg;
	uint32_t random = 1;

	while (!kmes_load_relaxed(&shared->stop)) {
		for (int i = 0; i < 64; i++)
			write_some(ring, &random);
	}
	kmes_store_release(&shared->written, ring->w.sequence);
	return NULL;
}

static bool is_whole(const struct kmes_event *e)
{
	uint8_t low = (uint8_t)e->seq;

	if (e->type_len != 4 || memcmp(e->type, "torn", 4) || e->payload_len > 256)
		return false;
	/* A batch has one timestamp, that of its first event. */
	if (e->ts_ns > e->seq || e->seq - e->ts_ns > 255)
		return false;
	for (uint32_t i = 0; i < e->payload_len; i++) {
		if (e->payload[i] != low)
			return false;
	}
	return true;
}

static void count_event(struct tally *t, const struct kmes_event *e)
{
	if (!is_whole(e) || e->seq <= t->last_seq) {
		if (!t->torn++)
			tap_note("first torn event: sequence %llu after %llu",
				 (unsigned long long)e->seq,
				 (unsigned long long)t->last_seq);
		return;
	}
	t->lost += e->seq - t->last_seq - 1;
	t->last_seq = e->seq;
	t->read++;
}

/* Span by span, checked immediately after each copy. */
static void read_spans(struct testring *ring, struct tally *t)
{
	struct kmes_ring_view view = testring_view(ring);
	uint64_t end = test_now_ns() + SECONDS_MAX * 1000000000ull, pos = 0;
	uint32_t size = 8192; /* small pieces: the writer is always close */
	uint8_t *buf = malloc(size);

	while (t->read < t->wanted && test_now_ns() < end) {
		struct kmes_ring_span span;
		uint32_t used = 0;

		if (kmes_ring_copy(&view, pos, buf, size, &span) < 0) {
			t->torn++;
			break;
		}
		t->laps += span.lapped;
		while (used < span.len) {
			struct kmes_event e;
			int r = kmes_event_parse(&e, buf + span.skip + used,
						 span.len - used, 4096);

			if (r < 0)
				t->torn++;
			if (r <= 0)
				break;
			count_event(t, &e);
			used += e.size;
		}
		pos = span.pos + used;
		if (!span.len)
			test_nap_us(20);
	}
	free(buf);
}

static void read_items(struct testsource *ts, struct tally *t)
{
	uint64_t end = test_now_ns() + SECONDS_MAX * 1000000000ull, lost = 0;
	struct kmes_error err;
	struct kmes_reader *rd = testsource_read(ts, KMES_ORDER_TIME, false, false, &err);
	struct kmes_item item;

	if (!rd) {
		tap_note("%s", err.text);
		t->torn++;
		return;
	}
	while (t->read < t->wanted && test_now_ns() < end) {
		if (kmes_reader_next(rd, &item) <= 0) {
			kmes_reader_wait(rd, 10, -1);
			continue;
		}
		if (item.kind == KMES_ITEM_EVENT) {
			count_event(t, item.event);
		} else if (item.kind == KMES_ITEM_LOSS) {
			lost += item.loss.last - item.loss.first + 1;
			t->laps++;
		} else {
			tap_note("%s",
				 item.kind == KMES_ITEM_NOTE ? item.note : "resize");
			t->torn++;
		}
	}
	/* The reader reported each gap exactly, except before its start. */
	if (lost > t->lost || t->lost - lost > 1000000)
		t->torn++;
	kmes_reader_close(rd);
}

static void report(const char *how, const struct tally *t)
{
	tap_note("%s: %llu read, %llu lost in %llu laps", how,
		 (unsigned long long)t->read, (unsigned long long)t->lost,
		 (unsigned long long)t->laps);
	tap_ok(t->torn == 0 && t->read >= t->wanted, "torn: none of %llu events, %s",
	       (unsigned long long)t->wanted, how);
}

static void by_threads(uint64_t capacity, bool by_library, const char *how)
{
	struct testsource *ts = testsource_new(1, capacity);
	struct tally tally = { .wanted = by_library ? EVENTS : EVENTS / 5 };
	pthread_t thread;

	kmes_store_relaxed(&shared->stop, 0);
	pthread_create(&thread, NULL, write_until_stopped, ts->rings[0]);
	if (by_library)
		read_items(ts, &tally);
	else
		read_spans(ts->rings[0], &tally);
	kmes_store_relaxed(&shared->stop, 1);
	pthread_join(thread, NULL);
	report(how, &tally);
	tap_ok(tally.last_seq <= shared->written &&
		       tally.read + tally.lost == tally.last_seq,
	       "torn: read and lost are all there was, %s", how);
	testsource_free(ts);
}

static void by_processes(uint64_t capacity, const char *how)
{
	struct testsource *ts = testsource_new(1, capacity);
	struct tally tally = { .wanted = EVENTS };
	int status = -1;
	pid_t pid;

	kmes_store_relaxed(&shared->stop, 0);
	pid = fork();
	if (pid == 0) {
		write_until_stopped(ts->rings[0]);
		_exit(0);
	}
	read_items(ts, &tally);
	kmes_store_relaxed(&shared->stop, 1);
	waitpid(pid, &status, 0);
	report(how, &tally);
	tap_ok(status == 0 && tally.last_seq <= shared->written &&
		       tally.read + tally.lost == tally.last_seq,
	       "torn: read and lost are all there was, %s", how);
	testsource_free(ts);
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	/* Processes first: fork(2) does not copy other threads. */
	by_processes(1048576, "two processes, ring of 1 MiB");
	by_threads(65536, false, "copies by a thread, ring of 64 KiB");
	by_threads(4194304, true, "two threads, ring of 4 MiB");
	return tap_done();
}
