// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* reader_fixture.c - a source, a reader of it and the log of what it returns. */
#include "reader_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

struct testsource *ts;
struct kmes_reader *rd;
struct testlog *got;

void fixture_begin(int slots, uint64_t capacity)
{
	ts = testsource_new(slots, capacity);
	got = calloc(1, sizeof(*got));
	rd = NULL;
}

void fixture_end(void)
{
	kmes_reader_close(rd);
	if (ts)
		testsource_free(ts);
	free(got);
	ts = NULL;
	rd = NULL;
	got = NULL;
}

void fixture_start(enum kmes_reader_order order, bool only_new, bool snapshot)
{
	struct kmes_error err = { "" };

	rd = testsource_read(ts, order, only_new, snapshot, &err);
	if (!rd)
		fail_msg("%s", err.text);
}

void emit(int cpu, uint64_t ts_ns)
{
	testring_emit(ts->rings[cpu], ts_ns, "t", "\xc0", 1);
}

void emit_seq(int cpu, uint64_t seq, uint64_t ts_ns)
{
	ts->rings[cpu]->w.sequence = seq - 1;
	emit(cpu, ts_ns);
}

void assert_read(const char *expected)
{
	testlog_drain(got, rd);
	assert_string_equal(got->text, expected);
	got->len = 0;
	got->text[0] = 0;
}
