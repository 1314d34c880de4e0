/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * reader_fixture.h - what every test of the reader starts from: a source, a reader of it
 * and the log of what it hands out. Included by one cmocka program at a time.
 */
#ifndef KMES_TESTS_READER_FIXTURE_H
#define KMES_TESTS_READER_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "testsource.h"
#include "unit.h"

#define K64 65536u

static struct testsource *ts;
static struct kmes_reader *rd;
static struct testlog *got;

static inline void begin(int slots, uint64_t capacity)
{
	ts = testsource_new(slots, capacity);
	got = calloc(1, sizeof(*got));
	rd = NULL;
}

static inline void end(void)
{
	kmes_reader_close(rd);
	if (ts)
		testsource_free(ts);
	free(got);
	ts = NULL;
	rd = NULL;
	got = NULL;
}

static inline void start(enum kmes_reader_order order, bool only_new, bool snapshot)
{
	struct kmes_error err = { "" };

	rd = testsource_read(ts, order, only_new, snapshot, &err);
	if (!rd)
		fail_msg("%s", err.text);
}

/* Emit on a CPU with a stamp of long ago, so that nothing is held back. */
static inline void emit(int cpu, uint64_t ts_ns)
{
	testring_emit(ts->rings[cpu], ts_ns, "t", "\xc0", 1);
}

/* Write an event as if `seq - last - 1` had been dropped before it. */
static inline void emit_seq(int cpu, uint64_t seq, uint64_t ts_ns)
{
	ts->rings[cpu]->w.sequence = seq - 1;
	emit(cpu, ts_ns);
}

static inline void assert_read(const char *expected)
{
	testlog_drain(got, rd);
	assert_string_equal(got->text, expected);
	got->len = 0;
	got->text[0] = 0;
}

#endif
