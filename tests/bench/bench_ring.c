// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ring's speed compared with an upper bound, measured alternately in one run: writing
 * with a bare ring of memcpy and release store, reading with a walk over packed headers,
 * copying out with memcpy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testsource.h"

#define CAPACITY (4u << 20)
#define TYPE_LEN 16
#define PAYLOAD_LEN 64
#define EVENT_LEN (KMES_HEADER_SIZE + TYPE_LEN + PAYLOAD_LEN)
/* Many short rounds: other load disturbs few of them. */
#define WRITES 6400u /* per round */
#define ROUNDS 401

struct times {
	double ns[ROUNDS];
	int count;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void add_time(struct times *t, uint64_t begun, uint64_t items)
{
	t->ns[t->count++] = (double)(test_now_ns() - begun) / (double)items;
}

static double best(struct times *t)
{
	qsort(t->ns, (size_t)t->count, sizeof(t->ns[0]), compare);
	return t->ns[0];
}

static double median(struct times *t)
{
	best(t);
	return t->ns[t->count / 2];
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
	return test_real_ns();
#endif
}

/* ---- writing ---- */

/* The minimum for a ring: the bytes, and a position after them. */
static void write_bare(struct testring *ring, uint64_t (*clock)(void), uint32_t count)
{
	static uint8_t event[EVENT_LEN];
	uint64_t pos = ring->producer->write_pos;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t stamp = clock();

		memcpy(event + 8, &stamp, sizeof(stamp));
		memcpy(ring->data + (pos & (CAPACITY - 1)), event, sizeof(event));
		pos += sizeof(event);
		kmes_store_release(&ring->producer->write_pos, pos);
	}
}

static void write_ours(struct testring *ring, uint64_t (*clock)(void), uint32_t count)
{
	static const char type[TYPE_LEN + 1] = "bench.ring.event";
	static const uint8_t payload[PAYLOAD_LEN];
	struct kmes_record record = { type, payload, PAYLOAD_LEN, TYPE_LEN };
	struct kmes_stamp stamp = { .origin_class = 0 };
	bool wake;

	for (uint32_t i = 0; i < count; i++) {
		stamp.timestamp = clock();
		kmes_ring_write(&ring->w, &record, &stamp, &wake);
	}
}

static void write_batches(struct testring *ring, uint64_t (*clock)(void), uint32_t count)
{
	static const char type[TYPE_LEN + 1] = "bench.ring.event";
	static const uint8_t payload[PAYLOAD_LEN];
	struct kmes_record records[64];
	struct kmes_stamp stamp = { .origin_class = 0 };
	bool wake;

	for (int i = 0; i < 64; i++)
		records[i] = (struct kmes_record){ type, payload, PAYLOAD_LEN, TYPE_LEN };
	for (uint32_t i = 0; i < count; i += 64) {
		stamp.timestamp = clock();
		kmes_ring_write_batch(&ring->w, records, 64, &stamp, &wake);
	}
}

/* Rounds on one ring after another: memory is populated, the rings are full. */
typedef void writer(struct testring *, uint64_t (*)(void), uint32_t);

static struct testring *full_ring(writer *write)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	write(ring, ticks, 2 * CAPACITY / EVENT_LEN);
	return ring;
}

static void time_writes(struct times *t, struct testring *ring, writer *write,
			uint64_t (*clock)(void))
{
	uint64_t begun = test_now_ns();

	write(ring, clock, WRITES);
	add_time(t, begun, WRITES);
}

static void bench_writing(const char *name, uint64_t (*clock)(void))
{
	writer *const writers[] = { write_bare, write_ours, write_batches };
	struct times times[3] = { 0 };
	struct testring *rings[3];

	for (int i = 0; i < 3; i++)
		rings[i] = full_ring(writers[i]);
	for (int i = 0; i < ROUNDS * 3; i++)
		time_writes(&times[i % 3], rings[i % 3], writers[i % 3], clock);
	for (int i = 0; i < 3; i++)
		testring_free(rings[i]);
	printf("write, %s: bare ring %.1f ns (median %.1f), ours %.1f ns (%.1f), ratio %.2f "
	       "(%.2f); in batches of 64 %.1f ns\n",
	       name, best(&times[0]), median(&times[0]), best(&times[1]),
	       median(&times[1]), best(&times[1]) / best(&times[0]),
	       median(&times[1]) / median(&times[0]), best(&times[2]));
}

/* ---- one write, which the module does with interrupts off ---- */

#define LARGE_MAX (4u << 20)
#define SECTIONS 15

/* One call on a ring full of the smallest events. */
static void bench_section(uint64_t capacity, uint32_t size, uint32_t count)
{
	struct testring *ring = testring_new(capacity, 0, 1);
	struct kmes_record small = { "s", NULL, 0, 1 }, records[256];
	struct kmes_stamp stamp = { .origin_class = 0 };
	struct times t = { .count = 0 };
	uint8_t *payload = calloc(1, LARGE_MAX);
	bool wake;

	for (uint32_t i = 0; i < count; i++)
		records[i] = (struct kmes_record){ "l", payload, size - 78, 1 };
	for (int round = 0; payload && round < SECTIONS; round++) {
		uint64_t begun;

		for (uint64_t n = 0; n < capacity / 78 + 1; n++)
			kmes_ring_write(&ring->w, &small, &stamp, &wake);
		begun = test_now_ns();
		kmes_ring_write_batch(&ring->w, records, count, &stamp, &wake);
		add_time(&t, begun, 1);
	}
	printf("one write, ring of %llu KiB: %u of %u bytes: %.0f us (median %.0f)\n",
	       (unsigned long long)capacity >> 10, count, size, best(&t) / 1e3,
	       median(&t) / 1e3);
	free(payload);
	testring_free(ring);
}

static void bench_sections(void)
{
	/* The default sizes, then the largest that can be set. */
	bench_section(4u << 20, 65536, 1);
	bench_section(4u << 20, 16384, 256);
	bench_section(256u << 20, 65536, 1);
	bench_section(256u << 20, LARGE_MAX, 1);
	bench_section(256u << 20, LARGE_MAX, 64);
}

/* ---- reading ---- */

static volatile uint64_t sink;

/* The limit: header fields only, nothing checked, nothing copied. */
static uint64_t walk_bare(const struct testring *ring)
{
	uint64_t pos = ring->w.tail_pos, sum = 0, events = 0;

	while (pos < ring->w.write_pos) {
		const uint8_t *at = ring->data + (pos & (CAPACITY - 1));
		uint32_t size;
		uint64_t seq;

		memcpy(&size, at, 4);
		memcpy(&seq, at + 16, 8);
		sum += seq;
		pos += size;
		events++;
	}
	sink = sum;
	return events;
}

static uint64_t walk_reader(struct kmes_reader *rd)
{
	struct kmes_item item;
	uint64_t sum = 0, events = 0;

	while (kmes_reader_next(rd, &item) > 0) {
		if (item.kind != KMES_ITEM_EVENT)
			continue;
		sum += item.event->seq;
		events++;
	}
	sink = sum;
	return events;
}

static void bench_reading(enum kmes_reader_order order, int cpus, const char *name)
{
	struct testsource *ts = testsource_new(cpus, CAPACITY);
	struct times limit = { .count = 0 }, ours = { .count = 0 };
	struct kmes_error err;
	struct kmes_reader *rd = testsource_read(ts, order, false, false, &err);
	static uint64_t stamp = 1;

	for (int round = 0; rd && round < ROUNDS; round++) {
		uint64_t begun, events;

		/* Past timestamps in runs of 16, so that merging has work. */
		for (int i = 0; i < 26000 / cpus * cpus; i++) {
			uint8_t payload[PAYLOAD_LEN] = { 0 };

			testring_emit(ts->rings[i / 16 % cpus], stamp++,
				      "bench.ring.event", payload, sizeof(payload));
		}
		begun = test_now_ns();
		events = walk_bare(ts->rings[0]);
		add_time(&limit, begun, events);
		begun = test_now_ns();
		events = walk_reader(rd);
		add_time(&ours, begun, events);
	}
	if (rd)
		printf("read, %s: bare walk %.1f M/s, reader %.1f M/s (median %.1f)\n",
		       name, 1e3 / best(&limit), 1e3 / best(&ours), 1e3 / median(&ours));
	kmes_reader_close(rd);
	testsource_free(ts);
}

static void bench_copying(void)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);
	struct kmes_ring_view view = testring_view(ring);
	struct times bare = { .count = 0 }, ours = { .count = 0 };
	const uint32_t size = 256 << 10;
	uint8_t *buf = malloc(size);

	write_ours(ring, ticks, 60000);
	for (int round = 0; buf && round < ROUNDS; round++) {
		uint64_t begun = test_now_ns(), bytes = 0;

		for (uint64_t pos = 0; pos + size <= CAPACITY; pos += size) {
			memcpy(buf, ring->data + pos, size);
			sink = buf[round];
			bytes += size;
		}
		add_time(&bare, begun, bytes);
		begun = test_now_ns();
		bytes = 0;
		for (uint64_t pos = ring->w.tail_pos; pos < ring->w.write_pos;) {
			struct kmes_ring_span span;

			kmes_ring_copy(&view, pos, buf, size, &span);
			pos += span.len;
			bytes += span.len;
		}
		add_time(&ours, begun, bytes);
	}
	printf("copy out: memcpy %.1f GB/s, spans of 256 KiB %.1f GB/s\n",
	       1 / best(&bare), 1 / best(&ours));
	free(buf);
	testring_free(ring);
}

/* ---- both at once ---- */

static struct {
	struct testring *ring;
	uint32_t stop;
} flood;

static void *write_flat_out(void *arg)
{
	static const uint8_t payload[PAYLOAD_LEN];

	(void)arg;
	while (!kmes_load_relaxed(&flood.stop))
		testring_emit(flood.ring, test_real_ns(), "bench.ring.event", payload,
			      sizeof(payload));
	return NULL;
}

static void bench_flood(void)
{
	struct testsource *ts = testsource_new(1, CAPACITY);
	struct kmes_error err;
	struct kmes_reader *rd = testsource_read(ts, KMES_ORDER_TIME, false, false, &err);
	uint64_t begun = test_now_ns(), events = 0, lost = 0;
	struct kmes_item item;
	pthread_t thread;

	flood.ring = ts->rings[0];
	flood.stop = 0;
	pthread_create(&thread, NULL, write_flat_out, NULL);
	while (rd && test_now_ns() - begun < 2000000000ull) {
		for (int i = 0; i < 1000; i++) {
			if (kmes_reader_next(rd, &item) <= 0) {
				kmes_reader_wait(rd, 10, -1);
				break;
			}
			if (item.kind == KMES_ITEM_EVENT)
				events++;
			else if (item.kind == KMES_ITEM_LOSS)
				lost += item.loss.last - item.loss.first + 1;
		}
	}
	kmes_store_relaxed(&flood.stop, 1);
	pthread_join(thread, NULL);
	printf("flat out beside a reader: %.1f M/s written, %.1f M/s read, %.1f %% lost\n",
	       (double)flood.ring->w.sequence / 2e6, (double)events / 2e6,
	       100.0 * (double)lost / (double)(events + lost + 1));
	kmes_reader_close(rd);
	testsource_free(ts);
}

int main(void)
{
	bench_writing("time stamp counter", ticks);
	bench_writing("CLOCK_REALTIME", test_real_ns);
	bench_sections();
	bench_copying();
	bench_reading(KMES_ORDER_CPU, 1, "one ring");
	bench_reading(KMES_ORDER_TIME, 1, "one ring by time");
	bench_reading(KMES_ORDER_TIME, 8, "eight rings by time");
	bench_flood();
	return 0;
}
