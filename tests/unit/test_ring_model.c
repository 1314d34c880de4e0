// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Random writes, batches, drops and migrations, compared after each with a model of one
 * rule: the live events are the longest suffix of all events that fits the capacity.
 */
#include <stdlib.h>
#include <string.h>

#include "kmes_ring.h"
#include "testring.h"
#include "unit.h"

#define EVENTS_MAX 40000

struct model {
	uint64_t seqs[EVENTS_MAX];
	uint32_t sizes[EVENTS_MAX];
	uint32_t count, first; /* live from `first` on */
	uint64_t capacity, sequence, dropped, bytes, wakes;
};

static struct model model;
static struct testring *ring;
static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % limit);
}

static uint64_t model_live_bytes(void)
{
	uint64_t sum = 0;

	for (uint32_t i = model.first; i < model.count; i++)
		sum += model.sizes[i];
	return sum;
}

static void model_fit(void)
{
	uint64_t live = model_live_bytes();

	while (live > model.capacity)
		live -= model.sizes[model.first++];
}

static void model_emit(uint32_t size)
{
	model.sizes[model.count] = size;
	model.seqs[model.count++] = ++model.sequence;
	model.bytes += size;
}

/* Small events mostly, sometimes up to just over half the ring. */
static uint32_t random_size(void)
{
	uint32_t half = (uint32_t)(model.capacity / 2);

	switch (random_below(8)) {
	case 0:
		return 78 + random_below(half - 78 + 3);
	case 1:
		return half - random_below(3);
	default:
		return 78 + random_below(400);
	}
}

static struct kmes_record make_record(uint32_t size, uint64_t seq, uint8_t *payload)
{
	memset(payload, (uint8_t)seq, size);
	return (struct kmes_record){ "m", payload, size - 78, 1 };
}

static void step_write(void)
{
	uint32_t size = random_size();
	uint8_t *payload = malloc(size);
	struct kmes_record record = make_record(size, model.sequence + 1, payload);
	struct kmes_stamp stamp = { .timestamp = 1 };
	bool wake, fits = size <= model.capacity / 2;

	assert_int_equal(kmes_ring_write(&ring->w, &record, &stamp, &wake),
			 fits ? 0 : -ENOSPC);
	assert_int_equal(wake, fits && ring->consumer->need_wake);
	model.wakes += wake;
	if (fits)
		model_emit(size);
	model_fit();
	free(payload);
}

static void step_batch(void)
{
	uint32_t count = 1 + random_below(random_below(4) ? 20 : 256);
	struct kmes_stamp stamp = { .timestamp = 1 };
	struct kmes_record records[256];
	uint8_t *payloads[256];
	bool wake, fits = true;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t size = random_size();

		payloads[i] = malloc(size);
		records[i] = make_record(size, model.sequence + 1 + i, payloads[i]);
		fits = fits && size <= model.capacity / 2;
	}
	assert_int_equal(kmes_ring_write_batch(&ring->w, records, count, &stamp, &wake),
			 fits ? 0 : -ENOSPC);
	assert_int_equal(wake, fits && ring->consumer->need_wake);
	model.wakes += wake;
	for (uint32_t i = 0; i < count; i++) {
		if (fits)
			model_emit(records[i].payload_len + 78);
		free(payloads[i]);
	}
	model_fit();
}

static void step_drop(void)
{
	kmes_ring_drop(&ring->w);
	model.sequence++;
	model.dropped++;
}

static void step_migrate(void)
{
	struct testring *old = ring;

	model.capacity = 4096u << random_below(9);
	ring = testring_successor(old, model.capacity);
	model.wakes += kmes_ring_retire(&old->w, &ring->w);
	testring_free(old);
	model_fit();
}

static void compare(void)
{
	const struct kmes_producer_page *page = ring->producer;
	const struct kmes_ring_counts *c = &ring->w.counts;
	uint64_t pos = page->tail_pos;

	assert_int_equal(page->write_pos - page->tail_pos, model_live_bytes());
	for (uint32_t i = model.first; i < model.count; i++) {
		const uint8_t *at = ring->data + pos % model.capacity;

		assert_memory_equal(at, &model.sizes[i], 4);
		assert_memory_equal(at + 16, &model.seqs[i], 8);
		pos += model.sizes[i];
	}
	if (random_below(8) == 0)
		assert_true(testring_walk(ring).is_filled);
	assert_int_equal(kmes_ring_live(&ring->w), model.count - model.first);
	assert_int_equal(ring->w.sequence, model.sequence);
	assert_int_equal(c->emitted_events, model.count);
	assert_int_equal(c->emitted_bytes, model.bytes);
	assert_int_equal(c->overwritten_events, model.first);
	assert_int_equal(c->dropped_events, model.dropped);
	assert_int_equal(c->wakes, model.wakes);
	assert_int_equal(c->corrupt_resyncs, 0);
}

/* [E7] [E8] [E9] [E12] [R9] [R10] [P4] [P5] */
TEST(model_agrees_after_each_of_many_random_steps)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		random_state = seed;
		memset(&model, 0, sizeof(model));
		model.capacity = 4096u << random_below(9);
		ring = testring_new(model.capacity, 1, 1);
		for (int step = 0; step < 900 && model.count < EVENTS_MAX - 256; step++) {
			ring->consumer->need_wake = (uint8_t)(random_below(4) == 0);
			switch (random_below(12)) {
			case 0:
				step_batch();
				break;
			case 1:
				step_drop();
				break;
			case 2:
				if (random_below(4) == 0)
					step_migrate();
				break;
			default:
				step_write();
			}
			compare();
		}
		testring_free(ring);
	}
}
