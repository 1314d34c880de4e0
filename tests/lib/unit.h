/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* unit.h - cmocka for the unit tests, with what its header wants included first. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Asserts min <= value <= max, all unsigned. cmocka 2 has a new name for it. */
#ifdef assert_uint_in_range
#define assert_between(value, min, max) assert_uint_in_range(value, min, max)
#else
#define assert_between(value, min, max) assert_in_range(value, min, max)
#endif

#endif
