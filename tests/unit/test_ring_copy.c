// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Copying out of a ring: the result is always consistent, wherever in the copy the writer
 * proceeds. The writer acts at each access of the copy, in turn.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kmes_order.h"

/* Every shared access of the code under test calls this first. */
static void on_access(void);

static void copy_in_pieces(void *dst, const void *src, size_t n)
{
	for (size_t at = 0; at < n; at += 32) {
		on_access();
		kmes_copy_shared((uint8_t *)dst + at, (const uint8_t *)src + at,
				 n - at < 32 ? n - at : 32);
	}
}

#undef kmes_load_acquire
#define kmes_load_acquire(p) (on_access(), __atomic_load_n((p), __ATOMIC_ACQUIRE))
#define kmes_copy_shared(dst, src, n) copy_in_pieces((dst), (src), (n))

#include "kmes_view.h"
#include "testring.h"
#include "unit.h"

#define CAPACITY 4096u
#define STREAM 4194304u

/* Every byte that was ever written, by position; 0x100: never in a ring. */
static uint16_t stream[STREAM];

static struct testring *ring;
static uint32_t accesses, act_at;
static void (*act)(void);

static void on_access(void)
{
	if (accesses++ == act_at && act)
		act();
}

static void remember(uint64_t pos, uint64_t end, uint64_t first_kept)
{
	for (; pos < end; pos++)
		stream[pos] = pos < first_kept ? 0x100 : ring->data[pos % CAPACITY];
}

static void emit(uint32_t size)
{
	uint64_t pos = ring->w.write_pos;

	testring_emit_size(ring, size);
	remember(pos, ring->w.write_pos, pos);
}

/* The span has exactly the bytes that were written at its position. */
static void assert_span_is_true(const struct kmes_ring_span *span, const uint8_t *buf)
{
	for (uint32_t i = 0; i < span->len; i++)
		assert_int_equal(buf[span->skip + i], stream[span->pos + i]);
}

static struct kmes_ring_span copy(uint64_t pos, uint8_t *buf, uint32_t size)
{
	struct kmes_ring_view view = testring_view(ring);
	struct kmes_ring_span span;

	accesses = 0;
	assert_int_equal(kmes_ring_copy(&view, pos, buf, size, &span), 0);
	return span;
}

static void setup(void)
{
	ring = testring_new(CAPACITY, 0, 1);
	act = NULL;
}

static void teardown(void)
{
	testring_free(ring);
}
EACH_TEST(setup, teardown);

/* [D1] */
TEST(copy_of_an_empty_ring_is_empty)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span = copy(0, buf, sizeof(buf));

	assert_int_equal(span.len, 0);
	assert_int_equal(span.pos, 0);
	assert_false(span.lapped);
	emit(100);
	span = copy(100, buf, sizeof(buf));
	assert_int_equal(span.len, 0);
	assert_int_equal(span.pos, 100);
	/* Ahead of write_pos: empty, and not moved back. */
	span = copy(200, buf, sizeof(buf));
	assert_int_equal(span.len, 0);
	assert_int_equal(span.pos, 200);
}

/* [D0] [D4] [D7] */
TEST(copy_returns_available_bytes_up_to_the_buffer)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	for (int i = 0; i < 5; i++)
		emit(100);
	span = copy(0, buf, sizeof(buf));
	assert_int_equal(span.len, 500);
	assert_int_equal(span.write_pos, 500);
	assert_false(span.lapped);
	assert_span_is_true(&span, buf);
	memset(buf, 0xa5, sizeof(buf));
	span = copy(200, buf, 150);
	assert_int_equal(span.pos, 200);
	assert_int_equal(span.len, 150);
	assert_span_is_true(&span, buf);
	assert_int_equal(buf[150], 0xa5);
}

/* [D2] [M7] [M8] */
TEST(copy_of_a_lapped_position_starts_at_the_oldest_event)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	for (int i = 0; i < 100; i++)
		emit(123);
	span = copy(0, buf, sizeof(buf));
	assert_true(span.lapped);
	assert_int_equal(span.pos, 67 * 123); /* 33 of 123 bytes fit */
	assert_int_equal(span.len, 33 * 123);
	assert_span_is_true(&span, buf);
	/* At the tail and after it: not lapped. */
	span = copy(67 * 123, buf, sizeof(buf));
	assert_false(span.lapped);
	assert_int_equal(span.len, 33 * 123);
	span = copy(68 * 123, buf, sizeof(buf));
	assert_false(span.lapped);
	assert_int_equal(span.len, 32 * 123);
}

/* A batch larger than the ring is being written: the tail is ahead. [D1] */
TEST(copy_with_the_tail_ahead_is_empty_and_never_goes_back)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	emit(100);
	emit(100);
	testring_set_positions(ring, 200, 5000);
	span = copy(100, buf, sizeof(buf));
	assert_int_equal(span.len, 0);
	assert_int_equal(span.tail_pos, 5000);
	assert_int_equal(span.write_pos, 200);
	assert_true(span.pos == 100 || span.pos == 5000);
	/* A reader that has read everything is not lapped yet. */
	span = copy(200, buf, sizeof(buf));
	assert_int_equal(span.len, 0);
	assert_int_equal(span.pos, 200);
	assert_false(span.lapped);
}

/* More than the capacity between tail and write_pos: corrupt. [D6] */
TEST(copy_refuses_positions_that_no_writer_publishes)
{
	struct kmes_ring_view view = testring_view(ring);
	struct kmes_ring_span span;
	uint8_t buf[CAPACITY];

	testring_set_positions(ring, 4096, 0);
	assert_int_equal(kmes_ring_copy(&view, 0, buf, sizeof(buf), &span), 0);
	assert_int_equal(span.len, 4096);
	testring_set_positions(ring, 4097, 0);
	assert_int_equal(kmes_ring_copy(&view, 0, buf, sizeof(buf), &span), -EINVAL);
	assert_int_equal(span.len, 0);
	testring_set_positions(ring, 0xffffffffffffffff, 0);
	assert_int_equal(kmes_ring_copy(&view, 0, buf, sizeof(buf), &span), -EINVAL);
	testring_set_positions(ring, 0xffffffffffffffff, 5000);
	assert_int_equal(kmes_ring_copy(&view, 0, buf, sizeof(buf), &span), -EINVAL);
}

/* [P4] */
TEST(copy_works_at_positions_past_2_to_the_63)
{
	uint64_t start = 0x8000000000000000ull - 300;
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	testring_start_at(ring, start, 0);
	for (int i = 0; i < 8; i++)
		testring_emit_size(ring, 100);
	span = copy(start, buf, sizeof(buf));
	assert_int_equal(span.pos, start);
	assert_int_equal(span.len, 800);
	assert_int_equal(buf[799], 8);
	for (int i = 0; i < 80; i++)
		testring_emit_size(ring, 100);
	span = copy(start, buf, sizeof(buf));
	assert_int_equal(span.pos, start + 4800);
	assert_int_equal(span.len, 4000);
	assert_int_equal(buf[99], 49);
}

/* [M9] */
TEST(copy_does_not_read_past_write_pos)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	memset(ring->data, 0x77, CAPACITY);
	memset(buf, 0, sizeof(buf));
	emit(100);
	span = copy(0, buf, sizeof(buf));
	assert_int_equal(span.len, 100);
	assert_int_equal(buf[100], 0);
}

static void act_emit_one(void)
{
	emit(200);
}

static void act_emit_some(void)
{
	for (int i = 0; i < 7; i++)
		emit(300);
}

static void act_emit_a_lap(void)
{
	for (int i = 0; i < 60; i++)
		emit(100);
}

static void act_emit_again_and_again(void)
{
	emit(900);
	emit(900);
	act_at += 2;
}

static void act_start_a_large_batch(void)
{
	testring_set_positions(ring, ring->w.write_pos, ring->w.write_pos + 10000);
	memset(ring->data, 0xdb, CAPACITY / 2);
}

static void write_large_batch(void)
{
	struct kmes_record records[64];
	struct kmes_stamp stamp = { 0 };
	uint64_t pos = ring->w.write_pos;
	bool wake;

	for (int i = 0; i < 64; i++)
		records[i] = (struct kmes_record){ "l", "123456789", 9, 1 };
	assert_int_equal(kmes_ring_write_batch(&ring->w, records, 64, &stamp, &wake), 0);
	remember(pos, ring->w.write_pos, ring->w.tail_pos);
}

/*
 * The writer acts at access number 0, 1, 2, ... of the copy: the result matches the
 * stream, starts at an event, and nothing is skipped silently. [D3] [D5]
 */
TEST(copy_survives_the_writer_at_each_of_its_accesses)
{
	static void (*const acts[])(void) = {
		act_emit_one,
		act_emit_some,
		act_emit_a_lap,
		act_emit_again_and_again,
		act_start_a_large_batch,
		write_large_batch,
	};
	uint32_t discarded = 0, skipped = 0;

	for (size_t a = 0; a < COUNT(acts); a++) {
		for (uint32_t at = 0; at < 160; at++) {
			uint8_t buf[CAPACITY];
			struct kmes_ring_span span;
			uint64_t start;

			teardown();
			setup();
			for (int i = 0; i < 39; i++)
				emit(100);
			start = ring->w.tail_pos;
			act = acts[a];
			act_at = at;
			span = copy(start, buf, sizeof(buf));
			act = NULL;
			assert_span_is_true(&span, buf);
			assert_int_equal(span.lapped, span.pos != start);
			assert_true(span.pos >= start);
			assert_true((uint64_t)span.skip + span.len <= sizeof(buf));
			assert_true(span.len == 0 ||
				    span.pos + span.len <= ring->w.write_pos);
			if (span.len)
				assert_memory_equal(buf + span.skip + 4, "\x4e\0\0\0", 4);
			discarded += span.lapped && !span.len;
			skipped += span.lapped && span.skip;
		}
	}
	/* Both kinds of overwriting occurred. */
	assert_between(skipped, 100, 960);
	assert_between(discarded, 50, 960);
}

/*
 * The writer laps between the loads of write_pos and tail_pos: moved to the tail, the
 * copy reloads write_pos and is not empty. [D2] [O6]
 */
TEST(copy_lapped_between_its_loads_still_finds_events)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	emit(500);
	act = act_emit_a_lap;
	act_at = 1;
	span = copy(0, buf, sizeof(buf));
	act = NULL;
	assert_true(span.lapped);
	assert_int_equal(span.pos, 2500); /* 4000 of 6500 bytes fit */
	assert_int_equal(span.len, 4000);
	assert_span_is_true(&span, buf);
}

/* Lapped in each of its rounds, the copy ends and continues next time. [D5] */
static void act_lap_always(void)
{
	for (int i = 0; i < 9; i++)
		emit(1000);
	act_at = accesses;
}

TEST(copy_lapped_in_every_round_ends_and_resumes)
{
	uint8_t buf[CAPACITY];
	struct kmes_ring_span span;

	emit(500);
	act = act_lap_always;
	act_at = 2;
	span = copy(0, buf, sizeof(buf));
	act = NULL;
	assert_int_equal(span.len, 0);
	assert_true(span.lapped);
	assert_true(accesses < 200);
	span = copy(span.pos, buf, sizeof(buf));
	assert_int_equal(span.len, 4000);
	assert_span_is_true(&span, buf);
}
