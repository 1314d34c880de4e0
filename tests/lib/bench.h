/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* bench.h - tools and a simulator run as processes by the benchmarks. */
#ifndef KMES_TESTS_BENCH_H
#define KMES_TESTS_BENCH_H

#include <sys/types.h>

/* Of the simulator: its folder, and the source's name for -S. */
extern char bench_folder[64], bench_source[128];

/* A simulator of one ring, its socket in a new folder below `parent`. */
void bench_sim_start(const char *parent, const char *capacity);

/* Ends it and removes the folder. */
void bench_sim_stop(void);

/* Prints what failed and errno, stops the simulator and exits. */
_Noreturn void bench_die(const char *what);

/* Starts a program with its stdout on `out`: kmes-* from the build, others from PATH. */
pid_t bench_start(const char *const *argv, int out);

double bench_now(void); /* CLOCK_MONOTONIC in seconds */

/* Sorts `count` doubles. */
void bench_sort(double *values, size_t count);

#endif
