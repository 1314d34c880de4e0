// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Batches: one stamp and one publication, exactly the ring, more than the ring. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kmes_order.h"

/*
 * Every release store of the writer passes here, so that a test can inspect what a
 * consumer could see at that moment. The type of a field identifies it.
 */
static void on_release(const void *field, uint64_t value);
#undef kmes_store_release
#define kmes_store_release(p, v)                                                         \
	do {                                                                             \
		__typeof__(*(p)) value_ = (v);                                           \
		__atomic_store_n((p), value_, __ATOMIC_RELEASE);                         \
		on_release((p), value_);                                                 \
	} while (0)

#include "kmes_ring.h"
#include "testring.h"
#include "unit.h"

#define CAPACITY 65536u

static struct {
	const struct testring *ring;
	uint32_t tails, writes, counters;
	uint64_t tail_at_write; /* tail_pos when write_pos was published */
	uint64_t write_at_tail; /* write_pos when tail_pos was published */
	bool data_changed_before_tail;
	uint8_t *data; /* the ring's content before the batch */
} seen;

static void on_release(const void *field, uint64_t value)
{
	const struct kmes_producer_page *page;

	(void)value;
	if (!seen.ring)
		return;
	page = seen.ring->producer;
	if (field == &page->tail_pos) {
		seen.tails++;
		seen.write_at_tail = page->write_pos;
		if (memcmp(seen.data, seen.ring->data, seen.ring->w.capacity))
			seen.data_changed_before_tail = true;
	} else if (field == &page->write_pos) {
		seen.writes++;
		seen.tail_at_write = page->tail_pos;
	} else if (field == &page->futex_counter) {
		seen.counters++;
	}
}

/* `count` records of `size` bytes as events, payloads by their future sequences. */
static void make_batch(struct kmes_record *records, uint32_t count, uint32_t size,
		       uint64_t first_seq, uint8_t *bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *payload = bytes + (size_t)i * size;

		memset(payload, (uint8_t)(first_seq + i), size);
		records[i] = (struct kmes_record){ "b", payload, size - 78, 1 };
	}
}

static bool write_batch(struct testring *ring, uint32_t count, uint32_t size)
{
	struct kmes_record records[256];
	struct kmes_stamp stamp = { .timestamp = 99 };
	uint8_t *bytes = malloc((size_t)count * size + 1);
	bool wake;

	make_batch(records, count, size, ring->w.sequence + 1, bytes);
	memset(&seen, 0, sizeof(seen));
	seen.data = malloc(ring->w.capacity);
	memcpy(seen.data, ring->data, ring->w.capacity);
	seen.ring = ring;
	assert_int_equal(kmes_ring_write_batch(&ring->w, records, count, &stamp, &wake),
			 0);
	seen.ring = NULL;
	free(seen.data);
	free(bytes);
	return wake;
}

static void assert_ring_holds(const struct testring *ring, uint64_t first, uint64_t last)
{
	struct testring_walk walk = testring_walk(ring);
	const struct kmes_ring_counts *c = &ring->w.counts;

	assert_true(walk.is_consistent);
	assert_true(walk.is_filled);
	assert_int_equal(walk.events, last - first + 1);
	assert_int_equal(walk.first_seq, first);
	assert_int_equal(walk.last_seq, last);
	assert_int_equal(kmes_ring_live(&ring->w), walk.events);
	assert_int_equal(c->emitted_events,
			 kmes_ring_live(&ring->w) + c->overwritten_events);
	assert_int_equal(ring->w.sequence, c->emitted_events + c->dropped_events);
	assert_int_equal(ring->producer->write_pos, ring->w.write_pos);
	assert_int_equal(ring->producer->tail_pos, ring->w.tail_pos);
}

/* [E8] */
TEST(batch_has_one_stamp_and_one_publication)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	testring_emit_size(ring, 1000);
	ring->consumer->need_wake = 1;
	assert_true(write_batch(ring, 10, 100));
	assert_int_equal(seen.tails, 0);
	assert_int_equal(seen.writes, 1);
	assert_int_equal(seen.counters, 1);
	assert_int_equal(ring->producer->futex_counter, 1);
	assert_ring_holds(ring, 1, 11);
	for (int i = 0; i < 10; i++)
		assert_int_equal(ring->data[1000 + 100 * i + 8], 99);
	testring_free(ring);
}

/* [E8] [P4] */
TEST(batch_that_needs_room_publishes_the_tail_once_and_first)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	for (int i = 0; i < 65; i++)
		testring_emit_size(ring, 1000);
	write_batch(ring, 20, 300);
	assert_int_equal(seen.tails, 1);
	assert_int_equal(seen.writes, 1);
	assert_false(seen.data_changed_before_tail);
	assert_int_equal(seen.write_at_tail, 65000);
	/* 71000 - 65536 is in the sixth event. */
	assert_int_equal(seen.tail_at_write, 6000);
	assert_ring_holds(ring, 7, 85);
	testring_free(ring);
}

/* The single write keeps the same order. [O1] */
TEST(batch_of_none_has_no_effect_and_of_one_is_a_write)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	write_batch(ring, 0, 100);
	assert_int_equal(seen.tails + seen.writes + seen.counters, 0);
	assert_int_equal(ring->w.sequence, 0);
	write_batch(ring, 1, 100);
	assert_ring_holds(ring, 1, 1);
	testring_free(ring);
}

/* [E8] [E9] */
TEST(batch_of_exactly_the_ring_survives_whole)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	for (int i = 0; i < 100; i++)
		testring_emit_size(ring, 777);
	write_batch(ring, 256, 256);
	assert_ring_holds(ring, 101, 356);
	assert_int_equal(ring->w.counts.overwritten_events, 100);
	assert_int_equal(seen.tails, 1);
	assert_false(seen.data_changed_before_tail);
	testring_free(ring);
}

/* [E9] */
TEST(batch_larger_than_the_ring_keeps_its_newest_events)
{
	/* How many of 256 events of a size fit in 65536 bytes. */
	static const struct {
		uint32_t size, kept;
	} cases[] = { { 257, 255 }, { 300, 218 }, { 1000, 65 },
		      { 32768, 2 }, { 32767, 2 }, { 21846, 2 },
		      { 21845, 3 }, { 512, 128 }, { 511, 128 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct testring *ring = testring_new(CAPACITY, 0, 1);
		uint64_t total = 256ull * cases[i].size;

		for (int n = 0; n < 70; n++)
			testring_emit_size(ring, 1000);
		write_batch(ring, 256, cases[i].size);
		assert_ring_holds(ring, 326 - cases[i].kept + 1, 326);
		assert_int_equal(ring->producer->write_pos, 70000 + total);
		assert_int_equal(ring->w.counts.emitted_bytes, 70000 + total);
		assert_int_equal(ring->w.counts.overwritten_events, 326 - cases[i].kept);
		/*
		 * Published before the first byte: the tail was past the old write_pos.
		 */
		assert_int_equal(seen.tails, 1);
		assert_int_equal(seen.writes, 1);
		assert_false(seen.data_changed_before_tail);
		assert_int_equal(seen.write_at_tail, 70000);
		assert_true(seen.tail_at_write > 70000);
		/* And writing continues as usual. */
		for (int n = 0; n < 300; n++)
			testring_emit_size(ring, 100 + n);
		assert_true(testring_walk(ring).is_consistent);
		assert_int_equal(testring_walk(ring).last_seq, 626);
		assert_int_equal(testring_walk(ring).events, kmes_ring_live(&ring->w));
		testring_free(ring);
	}
}

/*
 * A batch larger than the ring will be where bytes of an earlier lap are: sizes that
 * would mislead a walk. [E9] [E13]
 */
TEST(batch_does_not_walk_bytes_of_an_earlier_lap)
{
	static const uint8_t fills[] = { 0x00, 0x01, 0x4e, 0xff };

	for (size_t i = 0; i < sizeof(fills); i++) {
		struct testring *ring = testring_new(CAPACITY, 0, 1);

		for (uint32_t at = 0; at < CAPACITY; at++)
			ring->data[at] = at % 4 ? 0 : fills[i];
		testring_start_at(ring, 3 * CAPACITY + 12345, 9);
		testring_emit_size(ring, 500);
		write_batch(ring, 256, 700);
		assert_int_equal(ring->w.counts.corrupt_resyncs, 0);
		/* 93 * 700 = 65100 */
		assert_ring_holds(ring, 10 + 257 - 93, 10 + 256);
		testring_free(ring);
	}
}

/* [E8] [E12] [E2] */
TEST(batch_with_a_bad_entry_writes_nothing)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);
	uint8_t *before = malloc(ring->length);
	struct kmes_stamp stamp = { .timestamp = 1 };
	struct kmes_ring_writer w;

	testring_emit_size(ring, 1000);
	ring->consumer->need_wake = 1;
	memcpy(before, ring->base, ring->length);
	w = ring->w;
	for (uint32_t bad = 0; bad < 4; bad++) {
		static const struct {
			uint32_t payload_len;
			uint16_t type_len;
			int error;
		} kinds[] = { { 5, 0, -EINVAL },
			      { 0xffffffff, 1, -EINVAL },
			      { CAPACITY / 2 - 77, 1, -ENOSPC } };

		for (size_t k = 0; k < 3; k++) {
			struct kmes_record records[4];
			bool wake = true;

			for (int i = 0; i < 4; i++)
				records[i] = (struct kmes_record){ "b", "12345", 5, 1 };
			records[bad].payload_len = kinds[k].payload_len;
			records[bad].type_len = kinds[k].type_len;
			assert_int_equal(kmes_ring_write_batch(&ring->w, records, 4,
							       &stamp, &wake),
					 kinds[k].error);
			assert_false(wake);
			assert_memory_equal(before, ring->base, ring->length);
			assert_memory_equal(&w, &ring->w, sizeof(w));
		}
	}
	free(before);
	testring_free(ring);
}

/* [P4] */
TEST(batch_positions_continue_past_2_to_the_63)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	testring_start_at(ring, 0x7ffffffffffff000ull, 0);
	write_batch(ring, 256, 1000);
	assert_int_equal(ring->producer->write_pos, 0x7ffffffffffff000ull + 256000);
	assert_int_equal(ring->producer->tail_pos, 0x7ffffffffffff000ull + 191000);
	assert_ring_holds(ring, 192, 256);
	testring_free(ring);
}
