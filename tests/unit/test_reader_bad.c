// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Corrupt rings: one message with CPU and position, no bad or duplicate events, no
 * endless loop, and reading continues.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "reader_fixture.h"
#include "unit.h"

/* An endless loop ends the program early. */
static void setup(void)
{
	alarm(30);
}
EACH_TEST(setup, fixture_end);

static const char *open_error(enum kmes_reader_order order)
{
	static struct kmes_error err;

	err.text[0] = 0;
	rd = testsource_read(ts, order, false, false, &err);
	return rd ? "opened" : err.text;
}

/* [P1] */
TEST(bad_ring_of_another_magic_is_refused)
{
	for (int i = 0; i < 8; i++) {
		fixture_begin(2, K64);
		ts->rings[1]->producer->magic[i] ^= 0x20;
		assert_string_equal(open_error(KMES_ORDER_TIME),
				    "cpu1: not a KMES ring (wrong magic)");
		fixture_end();
	}
}

/* [P1] */
TEST(bad_ring_of_another_version_is_refused)
{
	for (uint32_t version = 0; version < 4; version++) {
		fixture_begin(1, K64);
		ts->rings[0]->producer->version = version;
		/* It is checked before anything else. */
		if (version != 1) {
			ts->rings[0]->producer->capacity = 12345;
			assert_non_null(strstr(open_error(KMES_ORDER_TIME), "version"));
			assert_non_null(strstr(open_error(KMES_ORDER_TIME), "cpu0"));
		} else {
			assert_string_equal(open_error(KMES_ORDER_TIME), "opened");
		}
		fixture_end();
	}
	fixture_begin(1, K64);
	ts->rings[0]->producer->version = 0x10000001;
	assert_non_null(strstr(open_error(KMES_ORDER_TIME), "version"));
}

/* [M6] [P1] [A3] */
TEST(bad_ring_page_that_contradicts_the_attach_is_refused)
{
	struct kmes_producer_page *page;

	fixture_begin(1, K64);
	page = ts->rings[0]->producer;
	page->capacity = 2 * K64;
	assert_non_null(strstr(open_error(KMES_ORDER_TIME), "cpu0"));
	page->capacity = K64;
	page->data_offset = 4096;
	assert_non_null(strstr(open_error(KMES_ORDER_TIME), "cpu0"));
	page->data_offset = 8192;
	page->cpu_id = 1;
	assert_non_null(strstr(open_error(KMES_ORDER_TIME), "cpu0"));
	page->cpu_id = 0;
	assert_string_equal(open_error(KMES_ORDER_TIME), "opened");
}

/* Attach and page agree on an impossible capacity. [M6] */
TEST(bad_ring_capacity_not_a_power_of_two_is_refused)
{
	static const uint64_t capacities[] = { 0, 98304, 65537, 4097, 1 };

	for (size_t i = 0; i < COUNT(capacities); i++) {
		fixture_begin(1, K64);
		ts->rings[0]->w.capacity = capacities[i];
		ts->rings[0]->producer->capacity = capacities[i];
		ts->fixed_capacity = K64;
		if (!strstr(open_error(KMES_ORDER_TIME), "capacity"))
			fail_msg("%llu: %s", (unsigned long long)capacities[i],
				 open_error(KMES_ORDER_TIME));
		assert_non_null(strstr(open_error(KMES_ORDER_TIME), "cpu0"));
		ts->rings[0]->w.capacity = K64;
		fixture_end();
	}
}

/* Generations start at 1; a page with 0 never becomes current. [A13] */
TEST(bad_ring_of_generation_0_is_refused)
{
	fixture_begin(1, K64);
	ts->rings[0]->producer->generation = 0;
	assert_non_null(strstr(open_error(KMES_ORDER_TIME), "cpu0"));
}

struct bad_event {
	const char *what;
	uint32_t event_size, header_size;
	uint16_t type_len, cpu;
};

/* Correct: 78 + 1 bytes, a header of 78, a type of 1. */
static const struct bad_event bad_events[] = {
	{ "event_size 0", 0, 78, 1, 0 },
	{ "event_size 1", 1, 78, 1, 0 },
	{ "event_size 76", 76, 78, 1, 0 },
	{ "event_size 77 below its header", 77, 78, 1, 0 },
	{ "larger than the ring", K64 + 1, 78, 1, 0 },
	{ "as large as it gets", 0xffffffff, 78, 1, 0 },
	{ "one byte past write_pos", 80, 78, 1, 0 },
	{ "far past write_pos", 5000, 78, 1, 0 },
	{ "header_size 0", 79, 0, 1, 0 },
	{ "header_size 76", 79, 76, 1, 0 },
	{ "header_size 77 with a type", 79, 77, 1, 0 },
	{ "header_size above event_size", 79, 80, 1, 0 },
	{ "header_size as large as it gets", 79, 0xffffffff, 1, 0 },
	{ "type_len past header_size", 79, 78, 2, 0 },
	{ "type_len past everything", 79, 78, 0xffff, 0 },
	{ "the event of another CPU", 79, 78, 1, 1 },
};

static void put_bad(int cpu, const struct bad_event *bad)
{
	struct testring *ring = ts->rings[cpu];
	struct testring_event event = { .ts_ns = 5, .type = "t", .payload = "\xc0" };
	uint8_t bytes[100];
	uint32_t len;

	event.payload_len = 1;
	event.seq = ++ring->w.sequence;
	len = testring_build(&event, bytes, sizeof(bytes));
	memcpy(bytes, &bad->event_size, 4);
	memcpy(bytes + 4, &bad->header_size, 4);
	memcpy(bytes + 24, &bad->cpu, 2);
	memcpy(bytes + 75, &bad->type_len, 2);
	testring_put(ring, bytes, len);
}

static void check_bad(const struct bad_event *bad, enum kmes_reader_order order)
{
	char expected[64];

	fixture_begin(2, K64);
	emit(0, 1);
	emit(1, 2);
	emit(0, 3);
	put_bad(0, bad);
	fixture_start(order, false, false);
	for (int i = 0; i < 3; i++)
		assert_int_equal(testlog_drain(got, rd), 0);
	if (got->notes != 1)
		fail_msg("%s: %u notes, read %s", bad->what, got->notes, got->text);
	assert_int_equal(got->events, 3);
	snprintf(expected, sizeof(expected), "position %d", 2 * 79);
	if (!strstr(got->note, "cpu0") || !strstr(got->note, expected))
		fail_msg("%s: the note is: %s", bad->what, got->note);
	/* Later events are read, and the bad one counts as lost. */
	got->len = 0;
	emit(0, 6);
	emit(1, 7);
	testlog_drain(got, rd);
	assert_string_equal(got->text, "0.3-3 0.4 1.2 ");
	assert_int_equal(got->notes, 1);
	fixture_end();
}

/* [D6] */
TEST(bad_event_is_reported_once_and_skipped)
{
	for (size_t i = 0; i < COUNT(bad_events); i++) {
		check_bad(&bad_events[i], KMES_ORDER_TIME);
		check_bad(&bad_events[i], KMES_ORDER_CPU);
	}
}

/* The tail has passed it: overwritten, not corrupt. [D6] [D2] */
TEST(bad_event_that_was_overwritten_is_not_corruption)
{
	struct kmes_item item;

	fixture_begin(1, K64);
	emit(0, 1);
	put_bad(0, &bad_events[0]);
	emit(0, 3);
	fixture_start(KMES_ORDER_CPU, false, false);
	/* All three are copied with the first. */
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	testlog_add(got, &item);
	ts->rings[0]->w.tail_pos = 2 * 79;
	ts->rings[0]->producer->tail_pos = 2 * 79;
	assert_read("0.1 0.2-2 0.3 ");
	assert_int_equal(got->notes, 0);
}

/* What is left below write_pos is shorter than a header, or than a size. [D6] [M9] */
TEST(bad_remainder_shorter_than_a_header_is_reported_once)
{
	static const uint32_t sizes[] = { 0, 1, 3, 30, 76, 77, 0xffffffff };

	for (uint32_t len = 1; len < 78; len++) {
		for (size_t i = 0; i < COUNT(sizes); i++) {
			uint8_t bytes[78] = { 0 };

			fixture_begin(1, K64);
			emit(0, 1);
			memcpy(bytes, &sizes[i], 4);
			memcpy(bytes + 4, "\x4e", 1);
			testring_put(ts->rings[0], bytes, len);
			fixture_start(KMES_ORDER_TIME, false, false);
			testlog_drain(got, rd);
			assert_string_equal(got->text, "0.1 ! ");
			emit(0, 2);
			testlog_drain(got, rd);
			assert_int_equal(got->events, 2);
			assert_int_equal(got->notes, 1);
			fixture_end();
		}
	}
}

/* write_pos goes back while a bad event is skipped: the reader does not. [D6] [P4] */
TEST(bad_event_and_write_pos_going_back_is_reported_once)
{
	struct kmes_item item;

	fixture_begin(1, K64);
	emit(0, 1);
	put_bad(0, &bad_events[0]);
	fixture_start(KMES_ORDER_CPU, false, false);
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	testlog_add(got, &item);
	testring_set_positions(ts->rings[0], 0, 0);
	assert_read("0.1 ! ");
	testring_set_positions(ts->rings[0], 2 * 79, 0);
	emit(0, 3);
	testlog_drain(got, rd);
	assert_int_equal(got->notes, 2); /* it is still corrupt */
	assert_string_equal(got->text, "! ");
	got->len = 0;
	emit(0, 4);
	assert_read("0.2-3 0.4 ");
}

/* Bad events in many places of one ring: each reported, never a step back. [D6] */
TEST(bad_events_repeated_are_skipped)
{
	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	for (int i = 0; i < 50; i++) {
		emit(0, 1);
		assert_int_equal(testlog_drain(got, rd), 0);
		put_bad(0, &bad_events[i % 16]);
		assert_int_equal(testlog_drain(got, rd), 0);
	}
	assert_int_equal(got->events, 50);
	assert_int_equal(got->notes, 50);
	assert_int_equal(got->lost, 49);
}

/*
 * In a snapshot: an event that claims to reach past its end, into what was written
 * since. [D6] [M9]
 */
TEST(bad_event_over_the_end_of_a_snapshot_ends_it)
{
	static const struct bad_event past = { "past", 300, 78, 1, 0 };
	struct kmes_item item;

	for (int order = 0; order < 2; order++) {
		fixture_begin(1, K64);
		emit(0, 1);
		put_bad(0, &past);
		fixture_start(order ? KMES_ORDER_TIME : KMES_ORDER_CPU, false, true);
		for (int i = 0; i < 20; i++)
			emit(0, 2);
		testlog_drain(got, rd);
		assert_string_equal(got->text, "0.1 ! ");
		assert_int_equal(kmes_reader_next(rd, &item), -ENODATA);
		fixture_end();
	}
}

/* [D6] */
TEST(bad_positions_are_reported_once)
{
	static const uint64_t positions[][2] = {
		{ K64 + 1, 0 },
		{ 0xffffffffffffffff, 0 },
		{ 0xffffffffffffffff, 0xfffffffffff00000 },
		{ 1ull << 63, 5 },
	};

	for (size_t i = 0; i < 4; i++) {
		fixture_begin(2, K64);
		fixture_start(KMES_ORDER_TIME, false, false);
		testring_set_positions(ts->rings[0], positions[i][0], positions[i][1]);
		emit(1, 1);
		for (int n = 0; n < 3; n++) {
			assert_int_equal(testlog_drain(got, rd), 0);
			kmes_reader_wait(rd, 1, -1);
		}
		assert_int_equal(got->notes, 1);
		assert_non_null(strstr(got->note, "cpu0"));
		assert_non_null(strstr(got->note, "position"));
		assert_int_equal(got->events, 1);
		fixture_end();
	}
}

/* A write_pos that goes back repeats nothing. [D1] [P4] */
TEST(bad_write_pos_going_back_repeats_no_event)
{
	fixture_begin(1, K64);
	emit(0, 1);
	emit(0, 2);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 0.2 ");
	testring_set_positions(ts->rings[0], 79, 0);
	assert_read("");
	testring_set_positions(ts->rings[0], 0, 0);
	assert_read("");
	testring_set_positions(ts->rings[0], 158, 0);
	assert_read("");
	emit(0, 3);
	assert_read("0.3 ");
}

/* Sequences that repeat, fall or are 0 are never returned. [L1] [D6] */
TEST(bad_sequences_are_never_returned)
{
	static const uint64_t seqs[] = { 0, 5, 5, 4, 1, 0, 6, 6, 0xffffffffffffffff, 7 };

	fixture_begin(1, K64);
	ts->rings[0]->w.generation = 1;
	testring_start_at(ts->rings[0], 4096, 0);
	for (size_t i = 0; i < COUNT(seqs); i++)
		emit_seq(0, seqs[i], 1);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.5 0.6 0.7-18446744073709551614 0.18446744073709551615 ");
}

/* [D6] */
TEST(bad_event_without_a_type_is_not_returned)
{
	static const struct bad_event untyped = { "no type", 79, 78, 0, 0 };

	fixture_begin(1, K64);
	emit(0, 1);
	put_bad(0, &untyped);
	emit(0, 3);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	assert_int_equal(got->events, 2);
	assert_int_equal(got->lost, 1);
}

/* A later revision: eight more bytes between type and payload. [D6] [D7] */
TEST(bad_looking_longer_header_is_read)
{
	struct testring_event event = {
		.ts_ns = 3, .seq = 1, .type = "type", .payload = "\xa1z", .payload_len = 2
	};
	struct kmes_item item;
	uint8_t bytes[200];

	for (uint32_t grown = 0; grown <= 64; grown += 8) {
		fixture_begin(1, K64);
		event.grown = grown;
		testring_put(ts->rings[0], bytes,
			     testring_build(&event, bytes, sizeof(bytes)));
		fixture_start(KMES_ORDER_TIME, false, false);
		assert_int_equal(kmes_reader_next(rd, &item), 1);
		assert_int_equal(item.kind, KMES_ITEM_EVENT);
		assert_int_equal(item.event->type_len, 4);
		assert_memory_equal(item.event->type, "type", 4);
		assert_int_equal(item.event->payload_len, 2);
		assert_memory_equal(item.event->payload, "\xa1z", 2);
		assert_int_equal(kmes_reader_next(rd, &item), 0);
		fixture_end();
	}
}

/* And it sleeps. [N9] */
static void follow_for_ms(uint32_t ms)
{
	uint64_t until = test_now_ns() + ms * 1000000ull;
	uint32_t naps = 0;

	for (; test_now_ns() < until; naps++) {
		assert_int_equal(testlog_drain(got, rd), 0);
		kmes_reader_wait(rd, 20, -1);
	}
	assert_between(naps, 0, ms / 20 + 5);
}

/* [D1] */
TEST(bad_tail_ahead_permanently_is_reported_once_after_a_second)
{
	fixture_begin(2, K64);
	emit(0, 1);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 ");
	testring_set_positions(ts->rings[0], 79, 10000);
	follow_for_ms(500);
	assert_int_equal(got->items, 1);
	follow_for_ms(1700);
	assert_int_equal(got->notes, 1);
	assert_int_equal(got->items, 2);
	assert_non_null(strstr(got->note, "cpu0"));
	assert_non_null(strstr(got->note, "10000"));
	/* The other ring is read as usual. */
	got->len = 0;
	emit(1, 5);
	assert_read("1.1 ");
}

/* A batch larger than the ring, stopped in the middle for 200 ms. [D1] [E9] */
TEST(bad_looking_batch_in_the_middle_is_waited_for)
{
	struct testring *ring;
	uint64_t write_pos;

	fixture_begin(1, K64);
	ring = ts->rings[0];
	emit(0, 1);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit(0, 1);
	/* Five events after a gap of 200000 bytes, whose sequences are used up. */
	write_pos = ring->w.write_pos;
	ring->w.tail_pos = ring->w.write_pos = write_pos + 200000;
	ring->w.counts.overwritten_events = ring->w.counts.emitted_events;
	ring->w.counts.dropped_events += 2000;
	ring->w.sequence += 2000;
	testring_set_positions(ring, write_pos, ring->w.tail_pos);
	memset(ring->data, 0, 1000);
	follow_for_ms(200);
	assert_int_equal(got->items, 0);
	for (int i = 0; i < 5; i++)
		emit(0, 2);
	follow_for_ms(50);
	assert_string_equal(got->text, "0.2003 0.2004 0.2005 0.2006 0.2007 ");
	assert_int_equal(got->notes, 0);
}

/* The page shows a replacement that attaching does not return: no endless loop. [R0] */
TEST(bad_generation_without_a_new_ring_does_not_hang)
{
	for (int tells = 0; tells < 2; tells++) {
		fixture_begin(2, K64);
		ts->tells_birth = tells;
		fixture_start(KMES_ORDER_TIME, false, false);
		emit(0, 1);
		ts->rings[0]->producer->generation = 7;
		follow_for_ms(100);
		emit(0, 2);
		emit(1, 3);
		testlog_drain(got, rd);
		assert_int_equal(got->events, 3);
		assert_int_equal(got->lost, 0);
		/* A source that returns the birth generation contradicts the page. */
		assert_int_equal(got->notes, tells);
		assert_true(ts->attaches < 100);
		fixture_end();
	}
}
