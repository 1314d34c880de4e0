// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Time order across CPUs: merged by timestamp, bounded delay, after any clock step. */
#include <errno.h>
#include <unistd.h>

#include "reader_fixture.h"
#include "unit.h"

#define HOUR_NS 3600000000000ull
#define MS_NS 1000000ull
/* What a busy machine may add to any delay. */
#define GRACE_MS 60

static void setup(void)
{
	alarm(60);
}
EACH_TEST(setup, fixture_end);

/* Case: 30 on CPU 0, 10 and 20 on CPU 1. */
TEST(time_order_merges_by_timestamp)
{
	fixture_begin(2, K64);
	emit(0, 30);
	emit(1, 10);
	emit(1, 20);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("1.1 1.2 0.1 ");
}

TEST(time_order_merges_eight_cpus)
{
	uint64_t last = 0, stamps[8] = { 0 }, left[8];
	struct kmes_item item;
	uint32_t events = 0, x = 12345;

	fixture_begin(8, K64);
	for (int cpu = 0; cpu < 8; cpu++)
		left[cpu] = 400;
	for (int i = 0; i < 3200; i++) {
		int cpu = i % 8;

		x = x * 1103515245 + 12345;
		stamps[cpu] += 1 + (x >> 16) % 1000;
		left[cpu]--;
		emit(cpu, stamps[cpu]);
	}
	fixture_start(KMES_ORDER_TIME, false, false);
	while (kmes_reader_next(rd, &item) > 0) {
		assert_int_equal(item.kind, KMES_ITEM_EVENT);
		assert_true(item.event->ts_ns >= last);
		last = item.event->ts_ns;
		events++;
	}
	assert_int_equal(events, 3200);
}

TEST(time_order_ties_go_by_cpu_and_sequence)
{
	fixture_begin(3, K64);
	for (int cpu = 2; cpu >= 0; cpu--) {
		emit(cpu, 5);
		emit(cpu, 5);
	}
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 0.2 1.1 1.2 2.1 2.2 ");
}

/* By sequence within a CPU, even if timestamps step back. */
TEST(time_order_never_breaks_the_sequence_of_a_cpu)
{
	fixture_begin(2, K64);
	emit(0, 100);
	emit(0, 50);
	emit(0, 70);
	emit(1, 60);
	emit(1, 40);
	fixture_start(KMES_ORDER_TIME, false, false);
	/* 60 and 40 precede 100; 50 and 70 follow it. */
	assert_read("1.1 1.2 0.1 0.2 0.3 ");
}

TEST(time_order_by_cpu_returns_runs_in_order_of_cpus)
{
	fixture_begin(2, K64);
	emit(0, 30);
	emit(0, 40);
	emit(1, 10);
	fixture_start(KMES_ORDER_CPU, false, false);
	testlog_drain(got, rd);
	assert_true(!strcmp(got->text, "0.1 0.2 1.1 ") ||
		    !strcmp(got->text, "1.1 0.1 0.2 "));
}

/* The time from an event's publication until it is returned, in milliseconds. */
static uint64_t delay_ms(int cpu, uint64_t ts_ns)
{
	uint64_t before = test_now_ns();

	emit(cpu, ts_ns);
	testlog_wait(got, rd, 1, 5000);
	return (test_now_ns() - before) / MS_NS;
}

/* The best of several, as other load only adds to it. */
static uint64_t best_delay_ms(int cpu, uint64_t offset_ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 6; i++) {
		uint64_t ms = delay_ms(cpu, test_real_ns() + offset_ns);

		best = ms < best ? ms : best;
	}
	return best;
}

TEST(time_order_idle_cpus_delay_nothing)
{
	fixture_begin(8, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_between(best_delay_ms(7, 0), 0, 15);
	assert_int_equal(got->events, 6);
}

/* The clock stepped back an hour: earlier timestamps are in the future now. */
TEST(time_order_clock_step_delays_nothing_beyond_20_ms)
{
	fixture_begin(8, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_between(best_delay_ms(3, HOUR_NS), 0, 20 + 12);
	assert_between(best_delay_ms(3, 0), 0, 15);
	assert_between(best_delay_ms(3, -HOUR_NS), 0, 10);
}

/*
 * A stream of timestamps in the future: no event is held longer than the bound, including
 * those that arrive while others are held.
 */
TEST(time_order_future_timestamps_are_each_held_20_ms_at_most)
{
	uint64_t sent[400], late = 0;
	struct kmes_item item;
	uint32_t next = 0, seen = 0;

	fixture_begin(4, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	while (seen < 300) {
		int r;

		if (next < 300 && (!next || test_now_ns() - sent[next - 1] > MS_NS)) {
			emit(2, test_real_ns() + HOUR_NS);
			sent[next++] = test_now_ns();
		}
		r = kmes_reader_next(rd, &item);
		assert_true(r >= 0);
		if (r == 0) {
			kmes_reader_wait(rd, 1, -1);
			continue;
		}
		if (test_now_ns() - sent[seen] > (20 + 8) * MS_NS)
			late++;
		seen++;
		assert_int_equal(item.event->seq, seen);
	}
	/* The scheduler may have delayed a few; not most of them. */
	assert_between(late, 0, 100);
}

/* An event waits until an idle CPU can no longer bring an older one. */
TEST(time_order_waits_for_the_watermark)
{
	uint32_t held = 0;

	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	for (uint32_t i = 0; i < 50; i++) {
		uint64_t stamp = test_real_ns() + 2 * MS_NS;
		uint32_t before = got->items;

		emit(0, stamp);
		testlog_drain(got, rd);
		if (test_real_ns() < stamp) {
			held++;
			assert_int_equal(got->items, before);
			/* Published later with an earlier timestamp: it is first. */
			emit(1, stamp - MS_NS);
		} else {
			emit(1, stamp);
		}
		testlog_wait(got, rd, before + 2 - got->items, 5000);
	}
	assert_int_equal(got->events, 100);
	assert_memory_equal(got->text, held == 50 ? "1.1 0.1 1.2 0.2 " : got->text, 16);
	assert_true(held > 0);
}

/* During a backlog of due events idle CPUs are polled regularly. */
TEST(time_order_polls_idle_cpus_during_a_backlog)
{
	struct kmes_item item;
	uint32_t events = 0;

	fixture_begin(2, 1u << 20);
	for (int i = 0; i < 8000; i++)
		emit(0, 1000 + i);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_int_equal(kmes_reader_next(rd, &item), 1);
	emit(1, 5);
	do {
		assert_int_equal(kmes_reader_next(rd, &item), 1);
		events++;
	} while (item.event->cpu != 1);
	assert_between(events, 1, 2000);
}

/* Future timestamps on one CPU delay no other CPU. */
TEST(time_order_future_on_one_cpu_does_not_delay_the_others)
{
	uint64_t best = UINT64_MAX;

	fixture_begin(3, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	for (int i = 0; i < 6; i++) {
		uint64_t before = test_now_ns(), after;

		emit(0, test_real_ns() + HOUR_NS);
		emit(1, test_real_ns());
		testlog_wait(got, rd, 1, 5000);
		after = test_now_ns();
		testlog_wait(got, rd, 1, 5000);
		best = after - before < best ? after - before : best;
	}
	assert_int_equal(got->events, 12);
	assert_memory_equal(got->text, "1.1 0.1 1.2 0.2 1.3 0.3 ", 24);
	assert_between(best / MS_NS, 0, 15);
}

/* A late event is returned at once and out of order, never dropped. */
TEST(time_order_late_event_is_returned_at_once)
{
	fixture_begin(2, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit(0, 1000);
	assert_read("0.1 ");
	emit(1, 10);
	assert_read("1.1 ");
}

/*
 * Written on two CPUs in turn and read meanwhile: the merged order is that of the
 * timestamps, as nothing is published late.
 */
TEST(time_order_holds_for_events_written_while_reading)
{
	uint64_t last = 0;
	struct kmes_item item;
	uint32_t seen = 0, sent = 0, out_of_order = 0;

	fixture_begin(2, 1u << 20);
	fixture_start(KMES_ORDER_TIME, false, false);
	while (seen < 5000) {
		if (sent < 5000) {
			emit((int)(sent * 7 % 3 % 2), test_real_ns());
			sent++;
		}
		if (sent % 3 && sent < 5000)
			continue;
		if (kmes_reader_next(rd, &item) <= 0) {
			if (sent == 5000)
				kmes_reader_wait(rd, 1, -1);
			continue;
		}
		assert_int_equal(item.kind, KMES_ITEM_EVENT);
		out_of_order += item.event->ts_ns < last;
		last = item.event->ts_ns;
		seen++;
	}
	assert_int_equal(out_of_order, 0);
}

/* A flood on one CPU and a marker on another: the marker is returned in its place. */
TEST(time_order_flood_on_one_cpu_does_not_starve_another)
{
	struct kmes_item item;
	uint32_t flood = 0, marker_after = 0;

	fixture_begin(2, 1u << 20);
	for (int order = 0; order < 2; order++) {
		fixture_start(order ? KMES_ORDER_TIME : KMES_ORDER_CPU, true, false);
		flood = 0;
		marker_after = 0;
		for (int i = 0; i < 200000 && !marker_after; i++) {
			int r;

			emit(0, test_real_ns());
			emit(0, test_real_ns());
			if (i == 1000)
				emit(1, test_real_ns());
			r = kmes_reader_next(rd, &item);
			if (r <= 0 || item.kind != KMES_ITEM_EVENT)
				continue;
			if (item.event->cpu == 1)
				marker_after = flood;
			flood++;
		}
		assert_true(marker_after > 0);
		kmes_reader_close(rd);
		rd = NULL;
	}
}
