// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The reader over the test's own rings: every event once, exact loss, starting positions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader_fixture.h"
#include "unit.h"

EACH_TEST(NULL, fixture_end);

/* [D0] [D7] [A8] [A3] */
TEST(reader_returns_every_event_once_from_the_oldest)
{
	fixture_begin(3, K64);
	for (int i = 1; i <= 3; i++)
		emit(1, i);
	emit(2, 9);
	fixture_start(KMES_ORDER_CPU, false, false);
	assert_read("1.1 1.2 1.3 2.1 ");
	assert_read("");
	emit(0, 10);
	emit(1, 11);
	assert_read("0.1 1.4 ");
	assert_int_equal(kmes_reader_events(rd), 6);
}

/* [A7] [A4] [A5] */
TEST(reader_skips_holes_and_requires_one_ring)
{
	struct kmes_error err;

	fixture_begin(6, K64);
	testring_free(ts->rings[2]);
	testring_free(ts->rings[4]);
	ts->rings[2] = NULL;
	ts->rings[4] = NULL;
	emit(5, 1);
	emit(3, 2);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("5.1 3.1 ");
	assert_int_equal(kmes_reader_rings(rd), 4);
	assert_true(kmes_reader_has_cpu(rd, 3));
	assert_false(kmes_reader_has_cpu(rd, 2));
	assert_false(kmes_reader_has_cpu(rd, 6));
	fixture_end();

	fixture_begin(4, 0);
	assert_null(testsource_read(ts, KMES_ORDER_TIME, false, false, &err));
	assert_non_null(strstr(err.text, "no ring"));
	fixture_end();

	fixture_begin(0, 0);
	assert_null(testsource_read(ts, KMES_ORDER_TIME, false, false, &err));
	assert_string_not_equal(err.text, "");
}

/* [A8] */
TEST(reader_attaches_to_the_selected_cpus_only)
{
	struct kmes_cpus *cpus = calloc(1, sizeof(*cpus));
	struct kmes_reader_options options = { .cpus = cpus };
	struct kmes_error err;

	fixture_begin(4, K64);
	for (int cpu = 0; cpu < 4; cpu++)
		emit(cpu, 1 + cpu);
	kmes_cpus_add(cpus, 1);
	kmes_cpus_add(cpus, 3);
	assert_int_equal(kmes_reader_open(&rd, &ts->src, &options, &err), 0);
	free(cpus);
	assert_read("1.1 3.1 ");
	assert_int_equal(kmes_reader_rings(rd), 2);
}

/* [L1] [L2] [L3] */
TEST(reader_loss_is_the_gap_and_reported_once_before_the_event)
{
	fixture_begin(2, K64);
	emit(0, 1);
	emit(0, 2);
	emit_seq(0, 6, 3);
	emit_seq(1, 10, 4);
	emit(1, 5);
	fixture_start(KMES_ORDER_TIME, false, false);
	/* A first sequence of 10 is the starting point, not a loss. */
	assert_read("0.1 0.2 0.3-5 0.6 1.10 1.11 ");
	emit(0, 6);
	emit(1, 7);
	assert_read("0.7 1.12 ");
	assert_int_equal(got->lost, 3);
}

/* [L2] */
TEST(reader_loss_counts_past_2_to_the_32)
{
	fixture_begin(1, K64);
	emit(0, 1);
	emit_seq(0, 5000000001, 2);
	emit_seq(0, 0xffffffffffffffff, 3);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 0.2-5000000000 0.5000000001 "
		    "0.5000000002-18446744073709551614 0.18446744073709551615 ");
}

/* A loss has the timestamp of the event that revealed it. [L3] */
TEST(reader_loss_has_cpu_and_time_of_the_next_event)
{
	struct kmes_item item;

	fixture_begin(2, K64);
	emit(1, 100);
	emit_seq(1, 4, 200);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	assert_int_equal(item.kind, KMES_ITEM_EVENT);
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	assert_int_equal(item.kind, KMES_ITEM_LOSS);
	assert_int_equal(item.loss.cpu, 1);
	assert_int_equal(item.loss.first, 2);
	assert_int_equal(item.loss.last, 3);
	assert_int_equal(item.loss.ts_ns, 200);
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	assert_int_equal(item.kind, KMES_ITEM_EVENT);
	assert_int_equal(item.event->seq, 4);
	assert_int_equal(kmes_reader_next(rd, &item), 0);
}

/* [L2] [D2] */
TEST(reader_lapped_resumes_at_the_oldest_event)
{
	fixture_begin(1, K64);
	testring_emit_size(ts->rings[0], 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 ");
	for (int i = 0; i < 1000; i++)
		testring_emit_size(ts->rings[0], 1000);
	/* 65 of 1000 bytes fit: 937 to 1001. */
	testlog_drain(got, rd);
	assert_memory_equal(got->text, "0.2-936 0.937 0.938 ", 20);
	assert_int_equal(got->events, 1 + 65);
	assert_int_equal(got->lost, 935);
}

/* Events of every size up to half the ring, also larger than one copy. [D7] */
TEST(reader_returns_events_up_to_half_of_the_ring)
{
	static const uint32_t sizes[] = { 524288, 78, 524288, 300000, 262144, 262145 };
	struct kmes_item item;

	fixture_begin(1, 1048576);
	fixture_start(KMES_ORDER_CPU, false, false);
	for (int round = 0; round < 50; round++) {
		uint32_t size = sizes[round % 6];
		uint64_t seq = testring_emit_size(ts->rings[0], size);

		assert_int_equal(kmes_reader_next(rd, &item), 1);
		assert_int_equal(item.kind, KMES_ITEM_EVENT);
		assert_int_equal(item.event->seq, seq);
		assert_int_equal(item.event->size, size);
		assert_int_equal(item.event->payload_len, size - 78);
		if (size > 78) {
			assert_int_equal(item.event->payload[0], seq);
			assert_int_equal(item.event->payload[size - 79], seq);
		}
	}
	assert_int_equal(kmes_reader_next(rd, &item), 0);
}

/* Events are returned from private memory: the ring may change. [D5] */
TEST(reader_event_stays_while_the_ring_is_overwritten)
{
	struct kmes_item item;

	fixture_begin(1, K64);
	testring_emit(ts->rings[0], 5, "type", "\xa3xyz", 4);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	for (int i = 0; i < 300; i++)
		testring_emit_size(ts->rings[0], 1000);
	assert_int_equal(item.event->seq, 1);
	assert_int_equal(item.event->type_len, 4);
	assert_memory_equal(item.event->type, "type", 4);
	assert_int_equal(item.event->payload_len, 4);
	assert_memory_equal(item.event->payload, "\xa3xyz", 4);
}

/* [D0] */
TEST(reader_of_new_events_skips_existing_ones)
{
	fixture_begin(2, K64);
	for (int i = 0; i < 100; i++)
		testring_emit_size(ts->rings[0], 1000);
	fixture_start(KMES_ORDER_TIME, true, false);
	assert_read("");
	emit(1, 1);
	emit(0, 2);
	assert_read("1.1 0.101 ");
	assert_int_equal(got->lost, 0);
}

static int stop_flood;

static void *flood(void *arg)
{
	struct kmes_record record = { "t", "\xc0", 1, 1 };
	struct kmes_stamp stamp = { .timestamp = 1 };
	struct testring *ring = arg;
	bool wake;

	while (!kmes_load_relaxed(&stop_flood))
		kmes_ring_write(&ring->w, &record, &stamp, &wake);
	return NULL;
}

/*
 * Lapped while searching its start: what was overwritten before the start is not a
 * loss. [L2]
 */
TEST(reader_of_new_events_does_not_count_earlier_ones)
{
	const struct kmes_producer_page *page;
	struct kmes_error err;
	struct kmes_item item;
	pthread_t thread;
	uint64_t until = test_now_ns() + 1000000000;
	uint32_t events = 0;

	fixture_begin(1, 8 * K64);
	page = ts->rings[0]->producer;
	kmes_store_relaxed(&stop_flood, 0);
	pthread_create(&thread, NULL, flood, ts->rings[0]);
	for (int i = 0; i < 1000 && test_now_ns() < until; i++) {
		/* All events are 79 bytes long. */
		uint64_t seq = kmes_load_acquire(&page->write_pos) / 79;

		rd = testsource_read(ts, KMES_ORDER_CPU, true, false, &err);
		assert_non_null(rd);
		for (int n = 0; n < 3; n++) {
			if (kmes_reader_next(rd, &item) <= 0)
				continue;
			if (item.kind == KMES_ITEM_LOSS)
				assert_true(item.loss.first > seq);
			else if (item.kind == KMES_ITEM_EVENT)
				assert_true(item.event->seq > seq);
			events++;
		}
		kmes_reader_close(rd);
		rd = NULL;
	}
	kmes_store_relaxed(&stop_flood, 1);
	pthread_join(thread, NULL);
	assert_true(events > 0);
}

/* Lapped before the first read: what was written since the start is a loss. [L2] */
TEST(reader_of_new_events_knows_its_start_when_opened)
{
	fixture_begin(1, K64);
	for (int i = 0; i < 30; i++)
		testring_emit_size(ts->rings[0], 1000);
	fixture_start(KMES_ORDER_TIME, true, false);
	for (int i = 0; i < 200; i++)
		testring_emit_size(ts->rings[0], 1000);
	testlog_drain(got, rd);
	assert_memory_equal(got->text, "0.31-165 0.166 ", 15);
	assert_int_equal(got->events, 65);
}

/* A drop after the start shows, also before the first event. [L2] */
TEST(reader_of_new_events_reports_a_loss_at_its_start)
{
	fixture_begin(1, K64);
	emit(0, 1);
	emit(0, 2);
	fixture_start(KMES_ORDER_TIME, true, false);
	emit_seq(0, 5, 3);
	assert_read("0.3-4 0.5 ");
}

/* [L2] */
TEST(reader_of_an_empty_first_ring_expects_sequence_1)
{
	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit_seq(0, 3, 1);
	assert_read("0.1-2 0.3 ");
}

TEST(reader_snapshot_ends_with_what_was_there)
{
	struct kmes_item item;

	fixture_begin(2, K64);
	emit(0, 1);
	emit(1, 2);
	fixture_start(KMES_ORDER_TIME, false, true);
	emit(0, 3);
	emit(1, 4);
	assert_read("0.1 1.1 ");
	assert_int_equal(kmes_reader_next(rd, &item), -ENODATA);
	fixture_end();

	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_CPU, false, true);
	emit(0, 3);
	assert_int_equal(kmes_reader_next(rd, &item), -ENODATA);
	assert_int_equal(kmes_reader_next(rd, &item), -ENODATA);
}

/* All events of a snapshot are overwritten before it reads. [D2] */
TEST(reader_snapshot_lapped_returns_nothing_newer)
{
	struct kmes_item item;

	fixture_begin(1, K64);
	for (int i = 0; i < 60; i++)
		testring_emit_size(ts->rings[0], 1000);
	fixture_start(KMES_ORDER_CPU, false, true);
	for (int i = 0; i < 30; i++)
		testring_emit_size(ts->rings[0], 1000);
	/* 90 written, 65 fit: 26 to 90 live; the snapshot was 1 to 60. */
	testlog_drain(got, rd);
	assert_memory_equal(got->text, "0.26 0.27 ", 10);
	assert_int_equal(got->events, 35);
	fixture_end();

	fixture_begin(1, K64);
	testring_emit_size(ts->rings[0], 1000);
	fixture_start(KMES_ORDER_CPU, false, true);
	for (int i = 0; i < 300; i++)
		testring_emit_size(ts->rings[0], 1000);
	assert_int_equal(kmes_reader_next(rd, &item), -ENODATA);
}

/* [M9] */
TEST(reader_of_an_ended_source_reads_all_and_ends)
{
	struct kmes_item item;
	int r = 0;

	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit(0, 1);
	emit(1, 2);
	ts->ended = true;
	/* Replaced just before the end: the next ring cannot be attached. */
	ts->rings[0]->producer->generation = 2;
	for (int i = 0; i < 10 && r == 0; i++) {
		r = testlog_drain(got, rd);
		if (r == 0)
			kmes_reader_wait(rd, 10, -1);
	}
	assert_string_equal(got->text, "0.1 1.1 ");
	assert_int_equal(r, -ESHUTDOWN);
	assert_int_equal(kmes_reader_next(rd, &item), -ESHUTDOWN);
}

static void emit_the_last(struct testsource *source, uint16_t cpu)
{
	(void)source;
	(void)cpu;
	emit(0, 3);
}

/* Written to a ring already found empty, just before the end is noticed. [M9] */
TEST(reader_of_an_ended_source_reads_what_came_just_before_the_end)
{
	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_int_equal(testlog_drain(got, rd), 0);
	ts->on_attach = emit_the_last;
	ts->ended = true;
	ts->rings[1]->producer->generation = 2;
	assert_int_equal(testlog_drain(got, rd), 0);
	assert_string_equal(got->text, "");
	assert_int_equal(testlog_drain(got, rd), -ESHUTDOWN);
	assert_string_equal(got->text, "0.1 ");
}

/* [A10] [A9] [C2] [C3] */
TEST(reader_two_on_the_same_rings_are_independent)
{
	struct kmes_reader *other;
	struct testlog *log = calloc(1, sizeof(*log));
	struct kmes_error err;
	static const uint8_t zeros[4095];

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	other = testsource_read(ts, KMES_ORDER_TIME, false, false, &err);
	emit(0, 1);
	emit(0, 2);
	assert_read("0.1 0.2 ");
	kmes_reader_wait(rd, 1, -1);
	emit(0, 3);
	testlog_drain(log, other);
	assert_string_equal(log->text, "0.1 0.2 0.3 ");
	assert_read("0.3 ");
	assert_memory_equal(ts->rings[0]->consumer->reserved4, zeros, sizeof(zeros));
	kmes_reader_close(other);
	free(log);
}

TEST(reader_source_and_mapping_that_do_not_exist_can_be_closed)
{
	kmes_reader_close(NULL);
	kmes_source_close(NULL);
	kmes_mapping_close(NULL);
}
