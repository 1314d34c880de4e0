// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* testsource.c - a test's rings as a source, see testsource.h */
#include "testsource.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ring.h"

static struct testsource *to_testsource(struct kmes_source *src)
{
	return (struct testsource *)src;
}

static int slots(struct kmes_source *src)
{
	return to_testsource(src)->slots;
}

static int alive(struct kmes_source *src)
{
	return !kmes_load_relaxed(&to_testsource(src)->ended);
}

static void give_mapping(struct testsource *ts, struct testring *ring,
			 struct kmes_mapping *map)
{
	uint64_t told = ring->w.capacity;

	if (ts->fixed_capacity) {
		ring->w.capacity = ts->fixed_capacity;
		testring_map(ring, map);
		ring->w.capacity = told;
		map->view.capacity = told;
	} else if (ts->shares_mapping) {
		map->view = testring_view(ring);
		map->need_wake = &ring->consumer->need_wake;
	} else {
		testring_map(ring, map);
	}
}

static int attach(struct kmes_source *src, uint16_t cpu, struct kmes_mapping *map,
		  struct kmes_error *err)
{
	struct testsource *ts = to_testsource(src);
	struct testring *ring;

	pthread_mutex_lock(&ts->lock);
	ts->attaches++;
	ring = cpu < ts->slots ? ts->rings[cpu] : NULL;
	if (ring && alive(src)) {
		give_mapping(ts, ring, map);
		map->cpu = cpu;
		if (ts->tells_birth)
			map->generation = ring->w.generation;
	}
	pthread_mutex_unlock(&ts->lock);
	if (ring && ts->on_attach)
		ts->on_attach(ts, cpu);
	if (!alive(src))
		return kmes_error_set(err, -EPIPE, "cpu%u: the test source ended", cpu);
	if (!ring)
		return kmes_error_set(err, -EINVAL, "cpu%u: no ring", cpu);
	return 0;
}

static void close_nothing(struct kmes_source *src)
{
	(void)src;
}

static const struct kmes_source_ops test_ops = {
	.name = "test",
	.attach_hint = "",
	.close = close_nothing,
	.slots = slots,
	.alive = alive,
	.attach = attach,
	.ring_open = kmesp_ring_open_mapped,
};

struct testsource *testsource_new(int slot_count, uint64_t capacity)
{
	struct testsource *ts = calloc(1, sizeof(*ts));

	if (!ts || slot_count > TESTSOURCE_SLOTS)
		abort();
	ts->src.ops = &test_ops;
	ts->src.fd = -1;
	ts->slots = slot_count;
#ifdef KMES_TSAN
	ts->shares_mapping = true;
#endif
	pthread_mutex_init(&ts->lock, NULL);
	for (int i = 0; capacity && i < slot_count; i++)
		ts->rings[i] = testring_new(capacity, (uint16_t)i, 1);
	return ts;
}

void testsource_free(struct testsource *ts)
{
	for (int i = 0; i < ts->slots; i++)
		testring_free(ts->rings[i]);
	for (int i = 0; i < ts->retired_count; i++)
		testring_free(ts->retired[i]);
	pthread_mutex_destroy(&ts->lock);
	free(ts);
}

void testsource_resize(struct testsource *ts, uint16_t cpu, uint64_t capacity)
{
	struct testring *old = ts->rings[cpu];
	struct testring *next = testring_successor(old, capacity);

	pthread_mutex_lock(&ts->lock);
	ts->rings[cpu] = next;
	pthread_mutex_unlock(&ts->lock);
	testring_retire(old, next);
	if (ts->shares_mapping && ts->retired_count < TESTSOURCE_SLOTS)
		ts->retired[ts->retired_count++] = old;
	else
		testring_free(old);
}

static void append(struct testlog *log, const char *text)
{
	size_t len = strlen(text);

	if (log->len + len >= sizeof(log->text))
		return;
	memcpy(log->text + log->len, text, len + 1);
	log->len += len;
}

void testlog_add(struct testlog *log, const struct kmes_item *item)
{
	char text[128] = "! ";

	log->items++;
	switch (item->kind) {
	case KMES_ITEM_EVENT:
		log->events++;
		log->last_event_ns = test_now_ns();
		snprintf(text, sizeof(text), "%u.%llu ", item->event->cpu,
			 (unsigned long long)item->event->seq);
		break;
	case KMES_ITEM_LOSS:
		log->lost += item->loss.last - item->loss.first + 1;
		snprintf(text, sizeof(text), "%u.%llu-%llu ", item->loss.cpu,
			 (unsigned long long)item->loss.first,
			 (unsigned long long)item->loss.last);
		break;
	case KMES_ITEM_RESIZE:
		snprintf(text, sizeof(text), "%u:%llu>%llu ", item->resize.cpu,
			 (unsigned long long)item->resize.old_generation,
			 (unsigned long long)item->resize.new_generation);
		break;
	case KMES_ITEM_NOTE:
		log->notes++;
		snprintf(log->note, sizeof(log->note), "%s", item->note);
		break;
	}
	append(log, text);
}

int testlog_drain(struct testlog *log, struct kmes_reader *rd)
{
	struct kmes_item item;
	int r;

	while ((r = kmes_reader_next(rd, &item)) > 0)
		testlog_add(log, &item);
	return r;
}

int testlog_wait(struct testlog *log, struct kmes_reader *rd, uint32_t items,
		 uint32_t timeout_ms)
{
	uint64_t end = test_now_ns() + timeout_ms * 1000000ull;
	uint32_t wanted = log->items + items;
	struct kmes_item item;
	int r = 0;

	while (log->items < wanted && test_now_ns() < end) {
		r = kmes_reader_next(rd, &item);
		if (r < 0)
			return r;
		if (r > 0)
			testlog_add(log, &item);
		else
			kmes_reader_wait(rd, 100, -1);
	}
	return r;
}

struct kmes_reader *testsource_read(struct testsource *ts, enum kmes_reader_order order,
				    bool only_new, bool snapshot, struct kmes_error *err)
{
	struct kmes_reader_options options = {
		.order = order,
		.only_new = only_new,
		.snapshot = snapshot,
	};
	struct kmes_reader *rd = NULL;

	if (kmes_reader_open(&rd, &ts->src, &options, err) < 0)
		return NULL;
	return rd;
}

uint64_t test_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

uint64_t test_real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void test_nap_us(uint64_t us)
{
	struct timespec ts = { .tv_sec = (time_t)(us / 1000000),
			       .tv_nsec = (long)(us % 1000000 * 1000) };

	nanosleep(&ts, NULL);
}
