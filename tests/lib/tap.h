/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * tap.h - results of stress, fuzz and bench programs as TAP on stdout.
 *
 * Threads may report at the same time. main() ends with `return tap_done();`.
 */
#ifndef KMES_TESTS_TAP_H
#define KMES_TESTS_TAP_H

#include <stdbool.h>

#define TAP_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* One test's result; returns ok, so that a caller can stop at a failure. */
bool tap_ok(bool ok, const char *name, ...) TAP_PRINTF(2, 3);

/* One test that cannot be run here. */
void tap_skip(const char *reason, const char *name, ...) TAP_PRINTF(2, 3);

/* A comment line: measurements, or details of a failure. */
void tap_note(const char *text, ...) TAP_PRINTF(1, 2);

/* Prints the plan; 0 if all tests passed, else 1. No test at all is a failure. */
int tap_done(void);

/* Whether this is the long run (make check-stress), not the short one in make check. */
bool tap_is_full_run(void);

/* The run time of a fuzz program, in seconds. */
unsigned int tap_fuzz_seconds(void);

#endif
