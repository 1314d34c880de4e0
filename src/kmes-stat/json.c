// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* json.c - a sample as one JSON object a line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/escape.h"
#include "print.h"

typedef unsigned long long ull;

void stat_say(struct cli_out *out, const char *format, ...)
{
	char small[1024], *text = small;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if ((size_t)n >= sizeof(small)) {
		text = malloc((size_t)n + 1);
		if (!text)
			cli_no_memory();
		va_start(args, format);
		vsnprintf(text, (size_t)n + 1, format, args);
		va_end(args);
	}
	cli_out_write(out, text, (size_t)n);
	if (text != small)
		free(text);
}

static void say_value(struct cli_out *out, const char *key, struct stat_value v)
{
	if (v.known)
		stat_say(out, "\"%s\":%llu,", key, (ull)v.value);
	else
		stat_say(out, "\"%s\":null,", key);
}

static void say_rate(struct cli_out *out, const char *key, struct stat_rate rate)
{
	if (rate.known)
		stat_say(out, "\"%s\":%.1f,", key, rate.per_second);
	else
		stat_say(out, "\"%s\":null,", key);
}

static void say_age(struct cli_out *out, struct stat_value oldest, uint64_t now_ns)
{
	uint64_t age = oldest.known && now_ns > oldest.value ? now_ns - oldest.value : 0;

	if (oldest.known)
		stat_say(out, "\"oldest_age_seconds\":%llu.%09llu,",
			 (ull)(age / 1000000000), (ull)(age % 1000000000));
	else
		stat_say(out, "\"oldest_age_seconds\":null,");
}

/* The members that rings and totals have in common, and the closing brace. */
static void say_row(struct cli_out *out, const struct stat_row *row, uint64_t now_ns)
{
	say_value(out, "capacity_bytes", row->capacity_bytes);
	say_value(out, "used_bytes", row->used_bytes);
	say_value(out, "events", row->events);
	say_value(out, "total", row->total);
	say_value(out, "overwritten", row->overwritten);
	say_value(out, "dropped", row->dropped);
	say_rate(out, "events_per_second", row->events_rate);
	say_rate(out, "bytes_per_second", row->bytes_rate);
	say_age(out, row->oldest_ts_ns, now_ns);
	stat_say(out, "\"waiting\":%s,", row->waiting ? "true" : "false");
	say_value(out, "wakeups", row->wakes);
	stat_say(out, "\"reset\":%s}", row->reset ? "true" : "false");
}

void stat_say_time(struct cli_out *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	stat_say(out, "%04d-%02d-%02dT%02d:%02d:%02d.%09lluZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (ull)(ns % 1000000000));
}

typedef char *put_string(struct kmes_outbuf *out, char *p, const uint8_t *s,
			 uint32_t len);

static void say_string(struct cli_out *out, put_string *put, const char *name, size_t len)
{
	struct kmes_outbuf text;

	if (kmesp_outbuf_init(&text) < 0)
		cli_no_memory();
	kmesp_out_end(&text, put(&text, kmesp_out_begin(&text), (const uint8_t *)name,
				 (uint32_t)len));
	if (text.error)
		cli_no_memory();
	cli_out_write(out, text.data, text.len);
	kmesp_outbuf_fini(&text);
}

void stat_say_name(struct cli_out *out, const char *name, size_t len)
{
	cli_out_write(out, "\"", 1);
	say_string(out, kmesp_put_json, name, len);
	cli_out_write(out, "\"", 1);
}

void stat_say_type(struct cli_out *out, const char *type, size_t len)
{
	say_string(out, kmesp_put_type, type, len);
}

void stat_json_types(struct cli_out *out, const struct stat_types *types)
{
	const struct stat_type **sorted = stat_types_sorted(types);
	size_t i;

	if (!sorted)
		cli_no_memory();
	stat_say(out, ",\"types\":[");
	for (i = 0; i < types->count; i++) {
		stat_say(out, "%s{\"type\":", i ? "," : "");
		stat_say_name(out, sorted[i]->name, sorted[i]->len);
		stat_say(out, ",\"events\":%llu,\"bytes\":%llu}", (ull)sorted[i]->events,
			 (ull)sorted[i]->bytes);
	}
	stat_say(out, "]");
	free(sorted);
}

static void print(struct cli_out *out, const struct stat_sampler *s)
{
	unsigned int i;

	stat_say(out, "{\"time\":\"");
	stat_say_time(out, s->time_ns);
	stat_say(out, "\",\"source\":\"%s\",\"interval\":", kmes_source_name(s->src));
	if (s->interval_ns)
		stat_say(out, "%llu.%09llu", (ull)(s->interval_ns / 1000000000),
			 (ull)(s->interval_ns % 1000000000));
	else
		stat_say(out, "null");
	stat_say(out, ",\"rings\":[");
	for (i = 0; i < s->ring_count; i++) {
		stat_say(out, "%s{\"cpu\":%u,", i ? "," : "", s->rings[i].row.cpu);
		say_value(out, "generation", s->rings[i].row.generation);
		say_row(out, &s->rings[i].row, s->time_ns);
	}
	stat_say(out, "],\"totals\":{");
	say_row(out, &s->totals, s->time_ns);
	if (s->want_types)
		stat_json_types(out, &s->types);
	stat_say(out, "}\n");
}

const struct stat_format stat_json = { .print = print };
