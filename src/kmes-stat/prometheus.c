// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* prometheus.c - samples in the Prometheus text format, version 0.0.4. */
#include <stdio.h>

#include "base/clock.h"
#include "kmes_version.h"
#include "print.h"

typedef unsigned long long ull;

struct metric {
	const char *name, *type, *help;
	size_t offset; /* of the row's stat_value */
};

#define METRIC(name, type, field, help)                                                  \
	{                                                                                \
		"kmes_ring_" name, type, help, offsetof(struct stat_row, field)          \
	}

static const struct metric metrics[] = {
	METRIC("capacity_bytes", "gauge", capacity_bytes, "Size of the ring."),
	METRIC("used_bytes", "gauge", used_bytes, "Bytes of the events in the ring."),
	METRIC("generation", "gauge", generation, "Which ring of this CPU it is."),
	METRIC("buffered_events", "gauge", events, "Events in the ring."),
	METRIC("events_total", "counter", total,
	       "Sequences given, the last one's number."),
	METRIC("emitted_bytes_total", "counter", emitted_bytes, "Bytes of all events."),
	METRIC("overwritten_events_total", "counter", overwritten,
	       "Events that are no longer in the ring."),
	METRIC("dropped_events_total", "counter", dropped_total,
	       "Sequences spent on events that were never written."),
	METRIC("wakeups_total", "counter", wakes, "Times that consumers were woken."),
};

static const struct stat_value *value_of(const struct stat_row *row, size_t offset)
{
	return (const struct stat_value *)((const char *)row + offset);
}

static void head(struct cli_out *out, const char *name, const char *type,
		 const char *help)
{
	cli_out_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A metric without any known value is omitted with its header. */
static void print_metric(struct cli_out *out, const struct stat_sampler *s,
			 const struct metric *m)
{
	bool begun = false;
	unsigned int i;

	for (i = 0; i < s->ring_count; i++) {
		const struct stat_value *v = value_of(&s->rings[i].row, m->offset);

		if (!v->known)
			continue;
		if (!begun)
			head(out, m->name, m->type, m->help);
		begun = true;
		cli_out_printf(out, "%s{cpu=\"%u\"} %llu\n", m->name, s->rings[i].row.cpu,
			       (ull)v->value);
	}
}

static void print_oldest(struct cli_out *out, const struct stat_sampler *s)
{
	static const char name[] = "kmes_ring_oldest_event_timestamp_seconds";
	bool begun = false;
	unsigned int i;

	for (i = 0; i < s->ring_count; i++) {
		struct stat_value v = s->rings[i].row.oldest_ts_ns;

		if (!v.known)
			continue;
		if (!begun)
			head(out, name, "gauge",
			     "Time stamp of the oldest event in the ring.");
		begun = true;
		cli_out_printf(out, "%s{cpu=\"%u\"} %llu.%09llu\n", name,
			       s->rings[i].row.cpu, (ull)(v.value / KMES_NS_PER_S),
			       (ull)(v.value % KMES_NS_PER_S));
	}
}

static void print(struct cli_out *out, const struct stat_sampler *s)
{
	size_t i;

	head(out, "kmes_source_info", "gauge", "Where the rings are, and who tells.");
	cli_out_printf(out, "kmes_source_info{source=\"%s\",version=\"%s\"} 1\n",
		       kmes_source_name(s->src), KMES_VERSION);
	for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		print_metric(out, s, &metrics[i]);
	print_oldest(out, s);
}

const struct stat_format stat_prometheus = { .print = print };
