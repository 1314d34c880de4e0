/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * reader_fixture.h - what every test of the reader starts from: a source, a reader of it
 * and the log of what it returns.
 */
#ifndef KMES_TESTS_READER_FIXTURE_H
#define KMES_TESTS_READER_FIXTURE_H

#include "testsource.h"

#define K64 65536u

extern struct testsource *ts;
extern struct kmes_reader *rd;
extern struct testlog *got;

/* A source of `slots` rings, without a reader so far. */
void fixture_begin(int slots, uint64_t capacity);

/* A reader of all rings; fails the test if there is none. */
void fixture_start(enum kmes_reader_order order, bool only_new, bool snapshot);

/* Frees all of it; may be called twice. */
void fixture_end(void);

/* Emits on a CPU. With a timestamp long past nothing is held back. */
void emit(int cpu, uint64_t ts_ns);

/* Writes an event as if those between the last sequence and `seq` had been dropped. */
void emit_seq(int cpu, uint64_t seq, uint64_t ts_ns);

/* Drains the reader and compares the log, which is then empty again. */
void assert_read(const char *expected);

#endif
