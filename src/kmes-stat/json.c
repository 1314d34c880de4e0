// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* json.c - samples as JSON, one object per line. */
#include <stdlib.h>

#include "base/clock.h"
#include "print.h"

void stat_json_value(struct kmes_json_out *j, const char *key, struct stat_value v)
{
	if (v.known)
		kmesp_json_u64(j, key, v.value);
	else
		kmesp_json_null(j, key);
}

void stat_json_rate(struct kmes_json_out *j, const char *key, struct stat_rate rate,
		    int places)
{
	if (rate.known)
		kmesp_json_fixed(j, key, rate.per_second, places);
	else
		kmesp_json_null(j, key);
}

void stat_json_time(struct kmes_json_out *j, const char *key, uint64_t ns)
{
	char text[STAT_TIME_TEXT];

	kmesp_json_bytes(j, key, text, stat_time_text(text, ns));
}

void stat_json_begin(struct kmes_json_out *j, struct cli_out *out, uint64_t time_ns,
		     const char *source, uint64_t interval_ns)
{
	kmesp_json_begin(j, &out->buf);
	kmesp_json_open_object(j, NULL);
	stat_json_time(j, "time", time_ns);
	kmesp_json_text(j, "source", source);
	if (interval_ns)
		kmesp_json_seconds(j, "interval", interval_ns);
	else
		kmesp_json_null(j, "interval");
}

void stat_json_types(struct kmes_json_out *j, const struct stat_types *types)
{
	const struct stat_type **sorted = stat_types_sorted(types);
	size_t i;

	if (!sorted)
		cli_no_memory();
	kmesp_json_open_array(j, "types");
	for (i = 0; i < types->count; i++) {
		kmesp_json_open_object(j, NULL);
		kmesp_json_bytes(j, "type", sorted[i]->name, sorted[i]->len);
		kmesp_json_u64(j, "events", sorted[i]->events);
		kmesp_json_u64(j, "bytes", sorted[i]->bytes);
		kmesp_json_close(j);
	}
	kmesp_json_close(j);
	free(sorted);
}

static void put_age(struct kmes_json_out *j, struct stat_value oldest, uint64_t now_ns)
{
	static const char key[] = "oldest_age_seconds";

	if (oldest.known)
		kmesp_json_seconds(j, key,
				   now_ns > oldest.value ? now_ns - oldest.value : 0);
	else
		kmesp_json_null(j, key);
}

/* The members that rings and totals have in common. */
static void put_row(struct kmes_json_out *j, const struct stat_row *row, uint64_t now_ns)
{
	stat_json_value(j, "capacity_bytes", row->capacity_bytes);
	stat_json_value(j, "used_bytes", row->used_bytes);
	stat_json_value(j, "events", row->events);
	stat_json_value(j, "total", row->total);
	stat_json_value(j, "overwritten", row->overwritten);
	stat_json_value(j, "dropped", row->dropped);
	stat_json_rate(j, "events_per_second", row->events_rate, 1);
	stat_json_rate(j, "bytes_per_second", row->bytes_rate, 1);
	put_age(j, row->oldest_ts_ns, now_ns);
	kmesp_json_bool(j, "waiting", row->waiting);
	stat_json_value(j, "wakeups", row->wakes);
	kmesp_json_bool(j, "reset", row->reset);
}

static void print(struct cli_out *out, const struct stat_sampler *s)
{
	struct kmes_json_out j;
	unsigned int i;

	stat_json_begin(&j, out, s->time_ns, kmes_source_name(s->src), s->interval_ns);
	kmesp_json_open_array(&j, "rings");
	for (i = 0; i < s->ring_count; i++) {
		kmesp_json_open_object(&j, NULL);
		kmesp_json_u64(&j, "cpu", s->rings[i].row.cpu);
		stat_json_value(&j, "generation", s->rings[i].row.generation);
		put_row(&j, &s->rings[i].row, s->time_ns);
		kmesp_json_close(&j);
	}
	kmesp_json_close(&j);
	kmesp_json_open_object(&j, "totals");
	put_row(&j, &s->totals, s->time_ns);
	kmesp_json_close(&j);
	if (s->want_types)
		stat_json_types(&j, &s->types);
	kmesp_json_close(&j);
}

const struct stat_format stat_json = { .print = print };
