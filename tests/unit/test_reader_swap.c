// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Rings replaced under a reader: each event once, exact loss, no swap missed. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "reader_fixture.h"
#include "unit.h"

#define K128 131072u

static void setup(void)
{
	alarm(30);
}
EACH_TEST(setup, fixture_end);

static void emit_sized(int cpu, int count, uint32_t size)
{
	while (count--)
		testring_emit_size(ts->rings[cpu], size);
}

/* [R0] [R1] [R2] [R3] [R5] [R7] [R9] */
TEST(swap_up_between_two_reads_loses_and_duplicates_nothing)
{
	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit(0, 1);
	emit(0, 2);
	assert_read("0.1 0.2 ");
	emit(0, 3);
	testsource_resize(ts, 0, K128);
	emit(0, 4);
	assert_read("0.3 0:1>2 0.4 ");
	emit(0, 5);
	assert_read("0.5 ");
}

/* Events already read are in the new ring too and are not repeated. [R5] */
TEST(swap_of_a_drained_ring_repeats_nothing)
{
	fixture_begin(1, K64);
	emit_sized(0, 60, 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	assert_int_equal(got->events, 60);
	got->len = 0;
	testsource_resize(ts, 0, K128);
	assert_read("0:1>2 ");
	emit(0, 9);
	assert_read("0.61 ");
}

/*
 * Beyond the old capacity: offsets follow the new capacity, positions start at the new
 * ring's tail. [R4]
 */
TEST(swap_up_reads_by_the_new_capacity)
{
	fixture_begin(1, K64);
	emit_sized(0, 60, 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	testsource_resize(ts, 0, K128);
	emit_sized(0, 60, 1000);
	testlog_drain(got, rd);
	assert_int_equal(got->events, 120);
	assert_int_equal(got->lost, 0);
}

/* [R10] [L2] */
TEST(swap_down_reports_exactly_the_oldest_prefix)
{
	fixture_begin(1, K128);
	emit_sized(0, 1, 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	testlog_drain(got, rd);
	emit_sized(0, 10, 1000);
	testlog_drain(got, rd);
	assert_int_equal(got->events, 11);
	got->len = 0;
	emit_sized(0, 100, 1000);
	testsource_resize(ts, 0, K64);
	emit(0, 1);
	/* The old ring is drained first, so nothing is lost at all. */
	testlog_drain(got, rd);
	assert_int_equal(got->events, 112);
	assert_int_equal(got->lost, 0);
	fixture_end();

	/* Two swaps at once: the ring in the middle is never read. */
	fixture_begin(1, K128);
	emit_sized(0, 1, 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 ");
	testsource_resize(ts, 0, 2 * K128);
	emit_sized(0, 99, 1000);
	testsource_resize(ts, 0, K64);
	/* 65 of 1 to 100 are kept: 36 to 100. */
	testlog_drain(got, rd);
	assert_memory_equal(got->text, "0:1>3 0.2-35 0.36 ", 18);
	assert_int_equal(got->events, 1 + 65);
	assert_int_equal(got->lost, 34);
}

/*
 * Started at the newest position, nothing read yet: the sequence to continue from is that
 * of the last event before it. [R5] [R1]
 */
TEST(swap_before_the_first_read_continues_after_the_start)
{
	fixture_begin(1, K64);
	emit_sized(0, 30, 1000);
	fixture_start(KMES_ORDER_TIME, true, false);
	assert_read("");
	testsource_resize(ts, 0, K128);
	assert_read("0:1>2 ");
	emit(0, 1);
	assert_read("0.31 ");
	fixture_end();

	/* The same with an event in between, all before the first read. */
	fixture_begin(1, K64);
	emit_sized(0, 200, 1000);
	fixture_start(KMES_ORDER_CPU, true, false);
	emit(0, 1);
	testsource_resize(ts, 0, K128);
	emit(0, 2);
	assert_read("0.201 0:1>2 0.202 ");
}

/* [R10] [R5] */
TEST(swap_to_a_ring_that_kept_nothing_reports_the_loss_later)
{
	fixture_begin(1, 4 * K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit_sized(0, 3, 1000);
	testlog_drain(got, rd);
	testsource_resize(ts, 0, 8 * K64);
	emit_sized(0, 1, 100000);
	testsource_resize(ts, 0, K64);
	got->len = 0;
	got->text[0] = 0;
	assert_read("0:1>3 ");
	emit(0, 1);
	assert_read("0.4-4 0.5 ");
}

static int swaps_left;

static void swap_on_attach(struct testsource *source, uint16_t cpu)
{
	if (swaps_left-- <= 0)
		return;
	testsource_resize(source, cpu,
			  source->rings[cpu]->w.capacity == K64 ? K128 : K64);
}

/*
 * The ring is replaced between attach and the first read of its page, which then shows
 * the new generation. [A13] [R0]
 */
TEST(swap_between_attach_and_first_read_is_noticed)
{
	for (int tells = 0; tells < 2; tells++) {
		for (int swaps = 1; swaps < 6; swaps++) {
			fixture_begin(1, K64);
			ts->tells_birth = tells;
			emit(0, 1);
			ts->on_attach = swap_on_attach;
			swaps_left = swaps;
			fixture_start(KMES_ORDER_TIME, false, false);
			ts->on_attach = NULL;
			emit(0, 2);
			testlog_drain(got, rd);
			emit(0, 3);
			testlog_drain(got, rd);
			assert_int_equal(got->events, 3);
			assert_int_equal(got->lost, 0);
			fixture_end();
		}
	}
}

static void swap_and_emit_on_attach(struct testsource *source, uint16_t cpu)
{
	if (swaps_left <= 0)
		return;
	swap_on_attach(source, cpu);
	emit(cpu, 2);
}

/* A snapshot does not end with the replaced ring. [A13] */
TEST(swap_between_attach_and_first_read_of_a_snapshot)
{
	for (int tells = 0; tells < 2; tells++) {
		fixture_begin(1, K64);
		ts->tells_birth = tells;
		emit(0, 1);
		ts->on_attach = swap_and_emit_on_attach;
		swaps_left = 2;
		fixture_start(KMES_ORDER_TIME, false, true);
		ts->on_attach = NULL;
		assert_read("0.1 0.2 0.3 ");
		fixture_end();
	}
}

/* The same while a replacement is followed. [A13] [R3] */
TEST(swap_while_following_a_swap_is_noticed)
{
	for (int tells = 0; tells < 2; tells++) {
		for (int swaps = 1; swaps < 6; swaps++) {
			fixture_begin(1, K64);
			ts->tells_birth = tells;
			fixture_start(KMES_ORDER_TIME, false, false);
			emit(0, 1);
			testlog_drain(got, rd);
			testsource_resize(ts, 0, K128);
			emit(0, 2);
			ts->on_attach = swap_on_attach;
			swaps_left = swaps;
			testlog_drain(got, rd);
			ts->on_attach = NULL;
			emit(0, 3);
			testlog_drain(got, rd);
			assert_int_equal(got->events, 3);
			assert_int_equal(got->lost, 0);
			fixture_end();
		}
	}
}

/* [R11] [N3] */
TEST(swap_wakes_a_sleeper_that_then_sees_the_new_ring)
{
	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	emit(0, 1);
	assert_read("0.1 ");
	kmes_reader_wait(rd, 1, -1); /* leaves need_wake set */
	assert_int_equal(ts->rings[0]->consumer->need_wake, 1);
	testsource_resize(ts, 0, K128);
	assert_int_equal(ts->rings[0]->w.counts.wakes, 1);
	emit(0, 2);
	assert_read("0:1>2 0.2 ");
}

/* A swap between arming and sleeping is seen before the sleep. [N3] [R0] */
TEST(swap_before_the_sleep_is_not_missed)
{
	uint64_t before;

	fixture_begin(1, K64);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("");
	testsource_resize(ts, 0, K128);
	before = test_now_ns();
	kmes_reader_wait(rd, 100, -1);
	assert_true(test_now_ns() - before < 90000000);
	assert_read("0:1>2 ");
}

/* Open descriptors, and mappings of rings. */
static void count_resources(int *fds, int *maps)
{
	DIR *dir = opendir("/proc/self/fd");
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];

	assert_non_null(dir);
	assert_non_null(file);
	*fds = *maps = 0;
	while (readdir(dir))
		++*fds;
	while (fgets(line, sizeof(line), file))
		*maps += strstr(line, "testring") != NULL;
	closedir(dir);
	fclose(file);
}

/* Old pages stay mapped until drained, and are unmapped once. [R6] [R8] [A12] */
TEST(swap_a_hundred_times_leaks_nothing)
{
	int fds, maps, fds_after, maps_after;

	fixture_begin(2, K64);
	ts->shares_mapping = false;
	fixture_start(KMES_ORDER_TIME, false, false);
	count_resources(&fds, &maps);
	for (int i = 0; i < 100; i++) {
		emit(0, 1);
		emit(1, 1);
		testsource_resize(ts, 0, i % 2 ? K64 : K128);
		testsource_resize(ts, 1, i % 2 ? K64 : K128);
		testlog_drain(got, rd);
	}
	count_resources(&fds_after, &maps_after);
	assert_int_equal(fds_after, fds);
	assert_int_equal(maps_after, maps);
	assert_int_equal(got->events, 200);
	assert_int_equal(got->lost, 0);
}

/* Positions start over, and so does the mark of late events. */
TEST(swap_forgets_which_events_were_late)
{
	const uint64_t hour_ns = 3600000000000ull;
	uint64_t before;

	fixture_begin(2, K64);
	emit_sized(0, 200, 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	/* Held until late, at high positions. */
	testlog_drain(got, rd);
	emit(0, test_real_ns() + hour_ns);
	testlog_wait(got, rd, 1, 5000);
	testsource_resize(ts, 0, 2 * K128);
	testsource_resize(ts, 0, K128);
	testlog_wait(got, rd, 1, 5000);
	assert_non_null(strstr(got->text, "0.201 0:1>3 "));
	emit(0, 1);
	testlog_wait(got, rd, 1, 5000);
	before = test_now_ns();
	emit(0, test_real_ns() + hour_ns);
	testlog_wait(got, rd, 1, 5000);
	assert_between((test_now_ns() - before) / 1000000, 14, 5000);
}

/* A snapshot is of the rings as opened; replacements are ignored. */
TEST(swap_under_a_snapshot_keeps_the_old_ring)
{
	struct kmes_item item;

	fixture_begin(2, K128);
	emit_sized(0, 100, 1000);
	fixture_start(KMES_ORDER_CPU, false, true);
	testsource_resize(ts, 0, K64);
	emit(0, 1);
	emit(1, 1);
	testlog_drain(got, rd);
	assert_int_equal(got->events, 100);
	assert_int_equal(got->lost, 0);
	assert_int_equal(kmes_reader_next(rd, &item), -ENODATA);
}

/*
 * Loss before the swap and loss by it are one gap each, of the correct size. [R10] [L2]
 */
TEST(swap_after_being_lapped_counts_both_losses_once)
{
	fixture_begin(1, K64);
	emit_sized(0, 1, 1000);
	fixture_start(KMES_ORDER_TIME, false, false);
	assert_read("0.1 ");
	emit_sized(0, 200, 1000);
	testsource_resize(ts, 0, K128);
	emit_sized(0, 300, 1000);
	/* Old: 137 to 201 live. New: 131 of 1000 bytes fit: 371 to 501. */
	testlog_drain(got, rd);
	assert_memory_equal(got->text, "0.2-136 0.137 0.138 ", 20);
	assert_non_null(strstr(got->text, " 0.201 0:1>2 0.202-370 0.371 "));
	assert_int_equal(got->events, 1 + 65 + 131);
	assert_int_equal(got->events + got->lost, 501);
}
