// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The ring's writer, one event at a time: pages, bytes, refusals, room, wakes, counts. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kmes_ring.h"
#include "testring.h"
#include "unit.h"

#define CAPACITY 65536u
static const struct kmes_stamp no_stamp;

/* Tries to write an event with a type and a payload of these sizes in bytes. */
static int try_write(struct testring *ring, uint16_t type_len, uint32_t payload_len)
{
	static const uint8_t text[0x20000];
	struct kmes_record record = { text, text, payload_len, type_len };
	bool wake;

	return kmes_ring_write(&ring->w, &record, &no_stamp, &wake);
}

static void assert_counts_add_up(const struct testring *ring)
{
	const struct kmes_ring_counts *c = &ring->w.counts;

	assert_int_equal(ring->w.sequence, c->emitted_events + c->dropped_events);
	assert_int_equal(c->emitted_events,
			 kmes_ring_live(&ring->w) + c->overwritten_events);
	assert_int_equal(testring_walk(ring).events, kmes_ring_live(&ring->w));
	assert_true(testring_walk(ring).is_consistent);
}

/* [P2] [M3] [P1] */
TEST(ring_init_fills_the_named_fields_and_leaves_the_rest_zero)
{
	struct testring *ring = testring_new(0x20000, 0x0203, 0x0a0b0c0d);
	static const uint8_t head[40] = {
		'K', 'M', 'E', 'S', 'R', 'I', 'N', 'G',	 1, 0, 0, 0, 3, 2, 0,  0,  0,  0,
		2,   0,	  0,   0,   0,	 0,   0,   0x20, 0, 0, 0, 0, 0, 0, 13, 12, 11, 10,
	};
	uint8_t *expected = calloc(1, ring->length);

	memcpy(expected, head, sizeof(head));
	assert_memory_equal(ring->base, expected, ring->length);
	free(expected);
	testring_free(ring);
}

/* [E5] [E7] [P2] [A3] */
TEST(ring_write_stores_every_field_at_its_offset)
{
	struct testring *ring = testring_new(CAPACITY, 0x0102, 1);
	struct kmes_record record = { "ab", "\x93\x01\x02\x03", 4, 2 };
	struct kmes_stamp stamp = { .timestamp = 0x1112131415161718,
				    .origin_class = 0xfe };
	static const uint8_t start[27] = {
		83,   0,    0, 0, 79, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13,
		0x12, 0x11, 1, 0, 0,  0, 0, 0, 0,    0,	   2,	 1,    0xfe,
	};
	const uint8_t *at = ring->data;
	bool wake;

	memset(stamp.effective_token_guid, 0xe1, 16);
	memset(stamp.true_token_guid, 0xe2, 16);
	memset(stamp.process_guid, 0xe3, 16);
	assert_int_equal(kmes_ring_write(&ring->w, &record, &stamp, &wake), 0);
	assert_memory_equal(at, start, 27);
	for (int i = 0; i < 16; i++) {
		assert_int_equal(at[27 + i], 0xe1);
		assert_int_equal(at[43 + i], 0xe2);
		assert_int_equal(at[59 + i], 0xe3);
	}
	assert_memory_equal(at + 75,
			    "\x02\x00"
			    "ab\x93\x01\x02\x03",
			    8);
	assert_int_equal(at[83], 0);
	assert_int_equal(ring->producer->write_pos, 83);
	assert_int_equal(ring->producer->tail_pos, 0);
	assert_counts_add_up(ring);
	testring_free(ring);
}

/* [E5] */
TEST(ring_write_stores_type_and_payload_of_every_length)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);
	uint8_t text[300];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7 + 1);
	for (uint32_t type_len = 1; type_len < 70; type_len++) {
		for (uint32_t len = 0; len < 200; len += 1 + len / 24) {
			struct kmes_record record = { text, text + 70, len,
						      (uint16_t)type_len };
			uint64_t pos = ring->w.write_pos;
			const uint8_t *at = ring->data + pos % CAPACITY;
			bool wake;

			assert_int_equal(
				kmes_ring_write(&ring->w, &record, &no_stamp, &wake), 0);
			assert_int_equal(ring->producer->write_pos - pos,
					 77 + type_len + len);
			assert_memory_equal(at + 77, text, type_len);
			assert_memory_equal(at + 77 + type_len, text + 70, len);
		}
	}
	assert_counts_add_up(ring);
	testring_free(ring);
}

/* [E12] */
TEST(ring_write_accepts_exactly_half_the_capacity)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	assert_int_equal(try_write(ring, 3, CAPACITY / 2 - 80), 0);
	assert_int_equal(ring->producer->write_pos, 32768);
	assert_int_equal(try_write(ring, 3, CAPACITY / 2 - 80), 0);
	assert_int_equal(ring->producer->write_pos, 65536);
	assert_int_equal(ring->producer->tail_pos, 0);
	assert_int_equal(kmes_ring_live(&ring->w), 2);
	assert_counts_add_up(ring);
	testring_free(ring);
}

/* [E2] [E7] [E12] */
TEST(ring_write_refused_has_no_effect)
{
	static const struct {
		uint16_t type_len;
		uint32_t payload_len;
		int error;
	} cases[] = {
		{ 0, 10, -EINVAL },
		{ 0, 0xffffffff, -EINVAL },
		{ 0, CAPACITY, -EINVAL },
		{ 1, 0xffffffff, -EINVAL },
		{ 1, 0xffffffff - 77, -EINVAL },
		{ 1, 0xffffffff - 78, -ENOSPC },
		{ 0xffff, 0xffff0000, -EINVAL },
		{ 3, CAPACITY / 2 - 79, -ENOSPC },
		{ 0xffff, 0, -ENOSPC },
		{ 1, CAPACITY, -ENOSPC },
	};
	struct testring *ring = testring_new(CAPACITY, 0, 1);
	uint8_t *before = malloc(ring->length);
	struct kmes_ring_writer w;

	assert_int_equal(try_write(ring, 5, 1000), 0);
	ring->consumer->need_wake = 1;
	memcpy(before, ring->base, ring->length);
	w = ring->w;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct kmes_record record = { "x", "x", cases[i].payload_len,
					      cases[i].type_len };
		bool wake = true;

		assert_int_equal(kmes_ring_write(&ring->w, &record, &no_stamp, &wake),
				 cases[i].error);
		assert_false(wake);
		assert_memory_equal(&w, &ring->w, sizeof(w));
		assert_memory_equal(before, ring->base, ring->length);
	}
	assert_int_equal(try_write(ring, 5, 1000), 0);
	assert_int_equal(ring->w.sequence, 2);
	free(before);
	testring_free(ring);
}

/* [M6] [M7] [P4] */
TEST(ring_write_across_the_end_reads_contiguous)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);
	struct kmes_mapping map;

	for (uint32_t before = 1; before < 200; before++) {
		struct testring_walk walk;

		/* The event starts `before` bytes before the end of the data. */
		testring_start_at(ring, (uint64_t)before * CAPACITY - before, before - 1);
		testring_emit_size(ring, 199);
		testring_map(ring, &map);
		assert_memory_equal(map.view.data + CAPACITY - before,
				    "\xc7\x00\x00\x00\x4e\x00\x00\x00", 8);
		assert_int_equal(map.view.data[CAPACITY - before + 198], (uint8_t)before);
		/* The bytes past the end are at the front too. */
		assert_memory_equal(map.view.data, map.view.data + CAPACITY, 199);
		walk = testring_walk(ring);
		assert_true(walk.is_consistent && walk.is_filled);
		assert_int_equal(walk.events, 1);
		testring_unmap(&map);
	}
	testring_free(ring);
}

/* [P4] */
TEST(ring_positions_continue_past_2_to_the_63)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	testring_start_at(ring, 0x7fffffffffffff00ull, 41);
	for (int i = 0; i < 200; i++)
		testring_emit_size(ring, 1000);
	assert_int_equal(ring->producer->write_pos, 0x7fffffffffffff00ull + 200000);
	/* 65 events of 1000 bytes fit; 200 - 65 are gone. */
	assert_int_equal(ring->producer->tail_pos, 0x7fffffffffffff00ull + 135000);
	assert_int_equal(kmes_ring_live(&ring->w), 65);
	assert_int_equal(testring_walk(ring).first_seq, 41 + 136);
	assert_true(testring_walk(ring).is_filled);
	testring_free(ring);
}

/* Only consumers store to need_wake's page; the writer only loads. [P5] [C1] */
TEST(ring_futex_counter_moves_only_when_need_wake_is_set)
{
	static const uint8_t flags[] = { 1, 2, 0x80, 0xff };
	struct testring *ring = testring_new(CAPACITY, 0, 1);
	struct kmes_record record = { "t", "\xc0", 1, 1 };
	bool wake = true;
	uint32_t count = 0;

	assert_int_equal(kmes_ring_write(&ring->w, &record, &no_stamp, &wake), 0);
	assert_false(wake);
	assert_int_equal(ring->producer->futex_counter, 0);
	for (size_t i = 0; i < COUNT(flags); i++) {
		ring->consumer->need_wake = flags[i];
		mprotect(ring->consumer, 4096, PROT_READ);
		assert_int_equal(kmes_ring_write(&ring->w, &record, &no_stamp, &wake), 0);
		assert_true(wake);
		assert_int_equal(ring->producer->futex_counter, ++count);
		assert_int_equal(
			kmes_ring_write_batch(&ring->w, &record, 1, &no_stamp, &wake), 0);
		assert_true(wake);
		assert_int_equal(ring->producer->futex_counter, ++count);
		mprotect(ring->consumer, 4096, PROT_READ | PROT_WRITE);
		assert_int_equal(ring->consumer->need_wake, flags[i]);
	}
	ring->consumer->need_wake = 0;
	ring->consumer->reserved4[0] = 0xff;
	assert_int_equal(kmes_ring_write(&ring->w, &record, &no_stamp, &wake), 0);
	assert_false(wake);
	assert_int_equal(ring->producer->futex_counter, 8);
	assert_int_equal(ring->w.counts.wakes, 8);
	testring_free(ring);
}

/* [P5] */
TEST(ring_futex_counter_wraps_at_32_bits)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	ring->producer->futex_counter = 0xffffffff;
	ring->consumer->need_wake = 1;
	testring_emit_size(ring, 100);
	assert_int_equal(ring->producer->futex_counter, 0);
	assert_int_equal(ring->w.counts.wakes, 1);
	testring_free(ring);
}

/* Values that a consumer could have written do not affect the writer. [O8] [P4] */
TEST(ring_writer_trusts_nothing_in_the_pages)
{
	struct testring *ring = testring_new(CAPACITY, 7, 3);

	for (int i = 0; i < 100; i++)
		testring_emit_size(ring, 1000);
	ring->producer->write_pos = 5;
	ring->producer->tail_pos = 0xffffffffffffffff;
	ring->producer->capacity = 4096;
	ring->producer->cpu_id = 9;
	ring->producer->generation = 77;
	testring_emit_size(ring, 1000);
	ring->producer->capacity = CAPACITY;
	assert_int_equal(ring->producer->write_pos, 101000);
	assert_int_equal(ring->producer->tail_pos, 36000);
	assert_int_equal(testring_walk(ring).events, 65);
	assert_int_equal(ring->data[100000 % CAPACITY + 24], 7);
	testring_free(ring);
}

/* [P4] [M9] */
TEST(ring_room_is_made_event_by_event_from_the_oldest)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	/* 100, 200, ... 1000 bytes, ten times: 55000. */
	for (int i = 0; i < 100; i++)
		testring_emit_size(ring, 100 + 100 * (i % 10));
	assert_int_equal(ring->producer->tail_pos, 0);
	testring_emit_size(ring, 10536);
	assert_int_equal(ring->producer->write_pos, 65536);
	assert_int_equal(ring->producer->tail_pos, 0);
	testring_emit_size(ring, 78); /* the ring is full: the oldest 100 go */
	assert_int_equal(ring->producer->tail_pos, 100);
	testring_emit_size(ring, 78); /* 22 are free: the next 200 go */
	assert_int_equal(ring->producer->tail_pos, 300);
	testring_emit_size(ring, 144); /* exactly what is free */
	assert_int_equal(ring->producer->tail_pos, 300);
	testring_emit_size(ring, 30000);
	assert_int_equal(ring->producer->tail_pos, 30300);
	assert_int_equal(ring->w.counts.overwritten_events, 57);
	assert_true(testring_walk(ring).is_filled);
	assert_counts_add_up(ring);
	testring_free(ring);
}

/* [E10] */
TEST(ring_drop_uses_a_sequence_and_shows_as_a_gap)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	testring_emit_size(ring, 100);
	kmes_ring_drop(&ring->w);
	kmes_ring_drop(&ring->w);
	assert_int_equal(ring->producer->write_pos, 100);
	assert_int_equal(testring_emit_size(ring, 100), 4);
	assert_int_equal(ring->w.counts.dropped_events, 2);
	assert_int_equal(ring->w.counts.emitted_events, 2);
	assert_int_equal(ring->w.counts.emitted_bytes, 200);
	assert_int_equal(ring->data[100 + 16], 4);
	assert_counts_add_up(ring);
	testring_free(ring);
}

/*
 * Overwrites the size of the oldest event, then writes one that needs room. 65000 leads
 * to write_pos, past 64 more events. [E13]
 */
TEST(ring_corrupt_size_gives_up_all_events_and_is_counted)
{
	static const uint32_t sizes[] = {
		0, 1, 77, 65000, 65001, 65535, 65536, 65537, 0x7fffffff, 0xffffffff,
	};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct testring *ring = testring_new(CAPACITY, 0, 1);

		for (int n = 0; n < 65; n++)
			testring_emit_size(ring, 1000);
		memcpy(ring->data, &sizes[i], 4);
		testring_emit_size(ring, 1000);
		assert_int_equal(ring->producer->tail_pos, 65000);
		assert_int_equal(ring->producer->write_pos, 66000);
		assert_int_equal(kmes_ring_live(&ring->w), 1);
		assert_int_equal(ring->w.counts.corrupt_resyncs, 1);
		assert_int_equal(ring->w.counts.overwritten_events, 65);
		assert_int_equal(testring_walk(ring).first_seq, 66);
		assert_counts_add_up(ring);
		testring_free(ring);
	}
}

/* Sizes too small for an event are not walked, even if they add up. [E13] */
TEST(ring_sizes_below_a_header_are_not_walked)
{
	struct testring *ring = testring_new(CAPACITY, 0, 1);

	for (int n = 0; n < 65; n++)
		testring_emit_size(ring, 1000);
	for (uint32_t at = 0; at < 64000; at += 77)
		memcpy(ring->data + at, "\x4d\0\0\0", 4);
	testring_emit_size(ring, 1000);
	assert_int_equal(ring->w.counts.corrupt_resyncs, 1);
	assert_int_equal(ring->producer->tail_pos, 65000);
	assert_counts_add_up(ring);
	testring_free(ring);
}

/*
 * A wrong size may lead into the middle of an event, which is noticed, or past several
 * events, which may go unnoticed; the ring stays consistent and no count goes below zero.
 * [E13]
 */
TEST(ring_wrong_size_never_makes_the_counts_disagree)
{
	uint32_t noticed = 0;

	for (uint32_t size = 78; size <= 65000; size += 977) {
		struct testring *ring = testring_new(CAPACITY, 0, 1);
		const struct kmes_ring_writer *w = &ring->w;

		for (int n = 0; n < 65; n++)
			testring_emit_size(ring, 1000);
		memcpy(ring->data, &size, 4);
		for (int n = 0; n < 40; n++)
			testring_emit_size(ring, 16000);
		assert_int_equal(testring_walk(ring).events, 4);
		assert_int_equal(testring_walk(ring).last_seq, 105);
		assert_between(kmes_ring_live(w), 4, 4 + size / 1000);
		assert_int_equal(w->counts.overwritten_events, 105 - kmes_ring_live(w));
		assert_between(w->counts.corrupt_resyncs, 0, 1);
		if (w->counts.corrupt_resyncs)
			assert_int_equal(kmes_ring_live(w), 4);
		noticed += w->counts.corrupt_resyncs;
		testring_free(ring);
	}
	/* All but the few that lead to an event's start. */
	assert_between(noticed, 60, 67);
}
