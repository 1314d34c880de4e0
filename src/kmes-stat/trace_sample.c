// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * trace_sample.c - samples the counters of the kernel's trace buffers.
 *
 * A buffer has one reader, which may be another program. So nothing is mapped here: the
 * kernel reports the same counters in per_cpu/cpuN/stats.
 */
#include "trace_sample.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scan.h"
#include "trace/subbuf.h"
#include "trace/trace_instance.h"

int trace_stat_open(struct trace_stat *s, struct kmes_error *err)
{
	_Static_assert(sizeof(s->root) == KMES_TRACE_PATH, "room for the path");
	memset(s, 0, sizeof(*s));
	return kmesp_trace_root(s->root, err);
}

static void free_rows(struct trace_stat_row *rows, size_t count)
{
	while (count)
		free(rows[--count].buffer);
	free(rows);
}

void trace_stat_close(struct trace_stat *s)
{
	free_rows(s->rows, s->count);
	free_rows(s->before, s->before_count);
	s->rows = s->before = NULL;
	s->count = s->before_count = 0;
}

void trace_stat_restart(struct trace_stat *s)
{
	s->mono_ns = 0;
}

/* ---- reading ---- */

static struct trace_stat_row *add_row(struct trace_stat *s, const char *buffer,
				      unsigned int cpu)
{
	struct trace_stat_row *row;

	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		void *more = realloc(s->rows, room * sizeof(*s->rows));

		if (!more)
			cli_no_memory();
		s->rows = more;
		s->room = room;
	}
	row = &s->rows[s->count++];
	memset(row, 0, sizeof(*row));
	row->cpu = cpu;
	row->buffer = strdup(buffer);
	if (!row->buffer)
		cli_no_memory();
	return row;
}

/* The number after `key` in lines of "key: number"; 0 if absent. */
static uint64_t find_count(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; text && *text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, key, len))
			return kmesp_leading_number(text + len);
	}
	return 0;
}

/* The first number of a file, or -errno. */
static int64_t read_number(const char *folder, const char *name)
{
	int64_t number;
	char *text;
	size_t len;
	int rc = kmesp_trace_read(folder, name, &text, &len);

	if (rc < 0)
		return rc;
	number = (int64_t)kmesp_leading_number(text);
	free(text);
	return number;
}

static int read_cpu(struct trace_stat *s, const char *folder, const char *buffer,
		    unsigned int cpu, int64_t subbuf_kb)
{
	struct trace_stat_row *row;
	char name[64], *text;
	int64_t size_kb;
	size_t len;
	int rc;

	snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", cpu);
	rc = kmesp_trace_read(folder, name, &text, &len);
	if (rc < 0)
		return rc;
	row = add_row(s, buffer, cpu);
	row->entries = find_count(text, "entries: ");
	row->overrun = find_count(text, "overrun: ");
	row->read = find_count(text, "read events: ");
	free(text);
	snprintf(name, sizeof(name), "per_cpu/cpu%u/buffer_size_kb", cpu);
	size_kb = read_number(folder, name);
	if (size_kb < 0)
		return (int)size_kb;
	/* Enough for that many bytes, and the reader's page. */
	row->subbuf_bytes = (uint64_t)subbuf_kb * 1024;
	row->subbufs =
		((uint64_t)size_kb * 1024 + row->subbuf_bytes - KMES_SUBBUF_HEADER - 1) /
			(row->subbuf_bytes - KMES_SUBBUF_HEADER) +
		1;
	return 0;
}

static int read_buffer(struct trace_stat *s, const char *folder, const char *buffer,
		       const struct kmes_cpus *cpus)
{
	/* Before Linux 6.8 a sub-buffer was always a page. */
	int64_t subbuf_kb = read_number(folder, "buffer_subbuf_size_kb");
	int cpu, rc = 0, count = kmesp_trace_cpus(folder);

	if (count < 0)
		return count;
	for (cpu = 0; rc == 0 && cpu < count; cpu++)
		if (!cpus || kmes_cpus_has(cpus, (uint16_t)cpu))
			rc = read_cpu(s, folder, buffer, (unsigned int)cpu,
				      subbuf_kb > 0 ? subbuf_kb : 4);
	return rc;
}

static int is_instance(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int read_instances(struct trace_stat *s, const struct kmes_cpus *cpus)
{
	char path[KMES_TRACE_PATH + 16], folder[2 * KMES_TRACE_PATH];
	struct dirent **names;
	int i, n, rc = 0;

	snprintf(path, sizeof(path), "%s/instances", s->root);
	n = scandir(path, &names, is_instance, alphasort);
	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		size_t len = (size_t)snprintf(folder, sizeof(folder), "%s/%s", path,
					      names[i]->d_name);

		if (rc == 0 && len < sizeof(folder))
			rc = read_buffer(s, folder, names[i]->d_name, cpus);
		/* An instance may be removed meanwhile. */
		if (rc == -ENOENT || rc == -ENODEV)
			rc = 0;
		free(names[i]);
	}
	free(names);
	return rc;
}

/* ---- rates ---- */

/* The last sample becomes the previous one. */
static void begin_sample(struct trace_stat *s)
{
	uint64_t mono_ns = kmesp_clock_ns(CLOCK_MONOTONIC);

	free_rows(s->before, s->before_count);
	s->before = s->rows;
	s->before_count = s->count;
	s->rows = NULL;
	s->count = s->room = 0;
	s->interval_ns = s->mono_ns ? mono_ns - s->mono_ns : 0;
	s->mono_ns = mono_ns;
	s->time_ns = kmesp_clock_ns(CLOCK_REALTIME);
}

/* The same row of the previous sample; both are ordered by buffer and CPU. */
static const struct trace_stat_row *find_before(const struct trace_stat *s, size_t *from,
						const struct trace_stat_row *row)
{
	size_t i;

	for (i = *from; i < s->before_count; i++)
		if (s->before[i].cpu == row->cpu &&
		    !strcmp(s->before[i].buffer, row->buffer)) {
			*from = i + 1;
			return &s->before[i];
		}
	return NULL;
}

static struct stat_rate rate_of(uint64_t before, uint64_t now, uint64_t interval_ns)
{
	struct stat_rate rate = { 0 };

	/* The counters of a buffer that was cleared restart at 0. */
	rate.known = interval_ns && now >= before;
	if (rate.known)
		rate.per_second = (double)(now - before) * 1e9 / (double)interval_ns;
	return rate;
}

static uint64_t written(const struct trace_stat_row *row)
{
	return row->entries + row->overrun + row->read;
}

static void set_rates(struct trace_stat *s)
{
	size_t i, from = 0;

	for (i = 0; i < s->count; i++) {
		struct trace_stat_row *row = &s->rows[i];
		const struct trace_stat_row *before = find_before(s, &from, row);

		if (!before)
			continue;
		row->events_rate = rate_of(written(before), written(row), s->interval_ns);
		row->lost_rate = rate_of(before->overrun, row->overrun, s->interval_ns);
	}
}

int trace_stat_take(struct trace_stat *s, const struct kmes_cpus *cpus,
		    struct kmes_error *err)
{
	int rc;

	begin_sample(s);
	rc = read_buffer(s, s->root, "/", cpus);
	if (rc == 0)
		rc = read_instances(s, cpus);
	if (rc == 0)
		set_rates(s);
	if (rc < 0)
		return kmes_error_set(err, rc, "tracefs: %s: %s%s", s->root,
				      strerror(-rc),
				      rc == -EACCES ? " (needs root)" : "");
	return 0;
}

bool trace_stat_has_cpu(void *arg, uint16_t cpu)
{
	const struct trace_stat *s = arg;
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->rows[i].cpu == cpu)
			return true;
	return false;
}
