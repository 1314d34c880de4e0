/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_sample.h - the kernel's counters of its trace buffers; nothing is consumed.
 */
#ifndef STAT_TRACE_SAMPLE_H
#define STAT_TRACE_SAMPLE_H
#include <stdbool.h>

#include "cli/cli.h"
#include "sample.h"

/* The buffer of one CPU. */
struct trace_stat_row {
	char *buffer; /* name of the instance, "/" for the top-level one */
	unsigned int cpu;
	uint64_t entries, overrun, read; /* records in it, overwritten, read */
	uint64_t subbufs, subbuf_bytes;
	struct stat_rate events_rate, lost_rate; /* written, overwritten per second */
};

struct trace_stat {
	char root[256];
	uint64_t time_ns;     /* CLOCK_REALTIME */
	uint64_t mono_ns;     /* CLOCK_MONOTONIC */
	uint64_t interval_ns; /* since the previous sample, 0: there is none */
	struct trace_stat_row *rows;
	size_t count, room;
	struct trace_stat_row *before; /* rows of the previous sample */
	size_t before_count;
};

/* Finds tracefs. 0 or -errno with a sentence. */
int trace_stat_open(struct trace_stat *s, struct kmes_error *err);
void trace_stat_close(struct trace_stat *s);

/*
 * Reads the counters of all buffers, for `cpus` (NULL: all), and computes the rates since
 * the previous sample. 0 or -errno with a sentence.
 */
int trace_stat_take(struct trace_stat *s, const struct kmes_cpus *cpus,
		    struct kmes_error *err);

/* Makes the next sample the first one. */
void trace_stat_restart(struct trace_stat *s);

/* For cli_check_cpus: `arg` is a struct trace_stat. */
bool trace_stat_has_cpu(void *arg, uint16_t cpu);

#endif
