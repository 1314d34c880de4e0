// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The reader with a ring that changes at each single access: at the first, the second,
 * the third, ... the writer writes, laps, or replaces the ring. Every sequence is read or
 * reported as lost, once.
 */
#include <unistd.h>

#include "kmes_order.h"

static void on_access(void);

static void copy_in_pieces(void *dst, const void *src, size_t n)
{
	for (size_t at = 0; at < n; at += 512) {
		on_access();
		kmes_copy_shared((unsigned char *)dst + at,
				 (const unsigned char *)src + at,
				 n - at < 512 ? n - at : 512);
	}
}

#undef kmes_load_acquire
#define kmes_load_acquire(p) (on_access(), __atomic_load_n((p), __ATOMIC_ACQUIRE))
#define kmes_copy_shared(dst, src, n) copy_in_pieces((dst), (src), (n))

/* The library's own files, compiled with these accesses. */
#include "libcommon/mapping.c"
#include "libcommon/reader.c"
#include "libcommon/ring.c"
#include "libcommon/ring_mapped.c"
#include "libcommon/wait.c"

#include "reader_fixture.h"
#include "unit.h"

EACH_TEST(NULL, fixture_end);

#define SMALL 4096u
#define LARGE 16384u
/* No drain makes as many accesses. */
#define ACCESSES_MAX 400

static uint32_t accesses, act_at;
static uint64_t acted_ns;
static void (*act)(void);

static void on_access(void)
{
	void (*now)(void) = act;

	if (!now || accesses++ != act_at)
		return;
	act = NULL; /* its own accesses do not count */
	acted_ns = test_now_ns();
	now();
}

static void write_sized(int count, uint32_t size)
{
	while (count--)
		testring_emit_size(ts->rings[0], size);
}

static void act_write_one(void)
{
	write_sized(1, 100);
}

static void act_overwrite_some(void)
{
	write_sized(12, 150);
}

static void act_lap(void)
{
	write_sized(70, 250);
}

static void act_large_batch(void)
{
	struct kmes_record records[200];
	struct kmes_stamp stamp = { .timestamp = 1 };
	uint8_t payload[150];
	bool wake;

	for (int i = 0; i < 200; i++)
		records[i] = (struct kmes_record){ "b", payload, sizeof(payload), 1 };
	memset(payload, 0, sizeof(payload));
	kmes_ring_write_batch(&ts->rings[0]->w, records, 200, &stamp, &wake);
}

static void act_grow(void)
{
	testsource_resize(ts, 0, 2 * LARGE);
}

static void act_write_grow_write(void)
{
	write_sized(1, 100);
	testsource_resize(ts, 0, 2 * LARGE);
	write_sized(1, 100);
}

static void act_shrink(void)
{
	testsource_resize(ts, 0, SMALL);
}

static void act_write_shrink_lap(void)
{
	write_sized(3, 100);
	testsource_resize(ts, 0, SMALL);
	write_sized(30, 250);
}

static void act_grow_and_shrink(void)
{
	write_sized(1, 100);
	testsource_resize(ts, 0, 2 * LARGE);
	write_sized(1, 100);
	testsource_resize(ts, 0, SMALL);
	write_sized(1, 100);
}

static const struct action {
	const char *name;
	void (*act)(void);
	bool may_lose;
} actions[] = {
	{ "write one", act_write_one, false },
	{ "overwrite some", act_overwrite_some, true },
	{ "lap", act_lap, true },
	{ "large batch", act_large_batch, true },
	{ "grow", act_grow, false },
	{ "write, grow, write", act_write_grow_write, false },
	{ "shrink", act_shrink, true },
	{ "write, shrink, lap", act_write_shrink_lap, true },
	{ "grow and shrink", act_grow_and_shrink, true },
};

/* What was read so far. */
static struct {
	uint64_t last, told_last, lost;
	bool has_told;
	uint32_t notes;
	uint64_t old_generation;
} seen;

static void check_item(const struct kmes_item *item, const char *where)
{
	uint64_t expected = seen.has_told ? seen.told_last + 1 : seen.last + 1;
	const struct kmes_event *e = item->event;

	switch (item->kind) {
	case KMES_ITEM_EVENT:
		if (seen.last && e->seq != expected)
			fail_msg("%s, access %u: sequence %llu instead of %llu", where,
				 act_at, (unsigned long long)e->seq,
				 (unsigned long long)expected);
		seen.last = e->seq;
		seen.has_told = false;
		break;
	case KMES_ITEM_LOSS:
		assert_true(!seen.last || item->loss.first == seen.last + 1);
		seen.lost += item->loss.last - item->loss.first + 1;
		seen.told_last = item->loss.last;
		seen.has_told = true;
		break;
	case KMES_ITEM_RESIZE:
		assert_int_equal(item->resize.old_generation, seen.old_generation);
		assert_true(item->resize.new_generation > seen.old_generation);
		seen.old_generation = item->resize.new_generation;
		break;
	case KMES_ITEM_NOTE:
		seen.notes++;
	}
}

static void drain(const char *where)
{
	struct kmes_item item;
	int r;

	while ((r = kmes_reader_next(rd, &item)) > 0)
		check_item(&item, where);
	assert_int_equal(r, 0);
}

/* The action happens while the reader drains, also a ring replaced before. */
static bool run_one(const struct action *action, uint32_t at, int order, bool tells,
		    bool replaced)
{
	fixture_begin(1, LARGE);
	ts->tells_birth = tells;
	memset(&seen, 0, sizeof(seen));
	seen.old_generation = 1;
	write_sized(60, 150);
	fixture_start(order ? KMES_ORDER_TIME : KMES_ORDER_CPU, false, false);
	if (replaced) {
		testsource_resize(ts, 0, 2 * LARGE);
		write_sized(5, 150);
	}
	accesses = 0;
	act_at = at;
	act = action->act;
	drain(action->name);
	if (act) {
		act = NULL;
		fixture_end();
		return false; /* fewer accesses */
	}
	/* Anything missed shows at the next event. */
	drain(action->name);
	write_sized(1, 100);
	drain(action->name);
	if (seen.last != ts->rings[0]->w.sequence)
		fail_msg("%s, access %u: ended at %llu of %llu", action->name, at,
			 (unsigned long long)seen.last,
			 (unsigned long long)ts->rings[0]->w.sequence);
	if (!action->may_lose)
		assert_int_equal(seen.lost, 0);
	assert_int_equal(seen.notes, 0);
	fixture_end();
	return true;
}

/* [D2] [D5] [R0] [R2] [R5] [O10] [L2] [A13] */
TEST(race_at_each_access_every_sequence_is_accounted_for)
{
	for (int variant = 0; variant < 8; variant++) {
		for (size_t i = 0; i < COUNT(actions); i++) {
			uint32_t at = 0;

			alarm(60);
			while (run_one(&actions[i], at, variant & 1, variant & 2,
				       variant & 4))
				at++;
			assert_between(at, 8, ACCESSES_MAX);
		}
	}
}

/* The same while the reader opens its rings, at the oldest or after the newest. */
static bool open_one(const struct action *action, uint32_t at, bool tells, bool only_new)
{
	uint64_t first;

	fixture_begin(1, LARGE);
	ts->tells_birth = tells;
	memset(&seen, 0, sizeof(seen));
	seen.old_generation = 1;
	write_sized(60, 150);
	accesses = 0;
	act_at = at;
	act = action->act;
	fixture_start(KMES_ORDER_CPU, only_new, false);
	if (act) {
		act = NULL;
		fixture_end();
		return false;
	}
	seen.old_generation = rd->rings[0].mapped.map.generation;
	if (rd->rings[0].has_resize)
		seen.old_generation = rd->rings[0].resize.old_generation;
	first = ts->rings[0]->w.sequence;
	drain(action->name);
	write_sized(1, 100);
	drain(action->name);
	assert_int_equal(seen.last, ts->rings[0]->w.sequence);
	assert_int_equal(seen.last, first + 1);
	if (!action->may_lose)
		assert_int_equal(seen.lost, 0);
	assert_int_equal(seen.notes, 0);
	fixture_end();
	return true;
}

/* [A13] [D0] [R5] */
TEST(race_at_each_access_of_opening_nothing_is_missed)
{
	for (int variant = 0; variant < 4; variant++) {
		for (size_t i = 0; i < COUNT(actions); i++) {
			uint32_t at = 0;

			alarm(60);
			while (open_one(&actions[i], at, variant & 1, variant & 2))
				at++;
			assert_between(at, 3, ACCESSES_MAX);
		}
	}
}

/* And while it goes to sleep: no wake-up is missed. [N2] [N3] */
TEST(race_at_each_access_of_the_sleep_no_wakeup_is_missed)
{
	for (size_t i = 0; i < COUNT(actions); i++) {
		for (uint32_t at = 0;; at++) {
			fixture_begin(1, LARGE);
			memset(&seen, 0, sizeof(seen));
			seen.old_generation = 1;
			fixture_start(KMES_ORDER_CPU, false, false);
			drain("sleep");
			accesses = 0;
			act_at = at;
			act = actions[i].act;
			kmes_reader_wait(rd, 100, -1);
			if (act) {
				act = NULL;
				fixture_end();
				assert_between(at, 3, 20);
				break;
			}
			/* It came before the sleep, or its wake ended it. */
			if (test_now_ns() - acted_ns > 95000000)
				fail_msg("%s, access %u: missed wake-up", actions[i].name,
					 at);
			drain("sleep");
			assert_int_equal(seen.last, ts->rings[0]->w.sequence);
			fixture_end();
		}
	}
}
