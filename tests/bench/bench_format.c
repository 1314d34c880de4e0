// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_format.c - how many events per second one core parses and formats.
 *
 * A 4 MiB buffer of packed 160-byte events with four-field payloads is parsed and printed
 * into 64 KiB that go to /dev/null. The best round is closest to what the machine can do.
 * For comparison: walking the headers only, and a line of the same fields by snprintf.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kmes.h"
#include "print/format.h"
#include "tap.h"

#define BUFFER (4u << 20)
#define EVENT_SIZE 160
#define ROUNDS 60
#define PASSES 1

static uint8_t *events;
static size_t events_len, events_count;
static int null_fd;
static char out_memory[64 << 10];
static uint64_t out_bytes;

static char *put_str(char *p, const char *s)
{
	*p++ = (char)(0xa0 | strlen(s));
	return kmesp_put_bytes(p, s, strlen(s));
}

/* Four fields, 67 bytes. */
static uint32_t make_payload(char *p, uint32_t n)
{
	char *start = p;
	char path[32];

	*p++ = (char)0x84;
	p = put_str(put_str(p, "user"), "alice");
	p = put_str(p, "pid");
	*p++ = (char)0xcd;
	*p++ = (char)(n >> 8);
	*p++ = (char)n;
	p = put_str(p, "path");
	snprintf(path, sizeof(path), "/var/log/app/%012u.log", n);
	p = put_str(p, path);
	p = put_str(p, "ms");
	*p++ = (char)0xcd;
	*p++ = (char)1;
	*p++ = (char)n;
	return p - start;
}

static void make_events(void)
{
	static const char type[16] = "app.session.open";
	char payload[96];

	events = malloc(BUFFER);
	if (!events)
		abort();
	while (events_len + 2 * EVENT_SIZE <= BUFFER) {
		uint32_t len = make_payload(payload, events_count);
		struct kmes_event_header h = {
			.event_size = KMES_HEADER_SIZE + sizeof(type) + len,
			.header_size = KMES_HEADER_SIZE + sizeof(type),
			.timestamp = 1795983682123456789ull + 1270 * events_count,
			.sequence = 7000000 + events_count,
			.cpu_id = 3,
			.process_guid = { 1, 2, 3 },
			.type_len = sizeof(type),
		};

		memcpy(events + events_len, &h, sizeof(h));
		memcpy(events + events_len + sizeof(h), type, sizeof(type));
		memcpy(events + events_len + h.header_size, payload, len);
		events_len += h.event_size;
		events_count++;
	}
}

static int write_away(struct kmes_outbuf *out)
{
	out_bytes += out->len;
	if (write(null_fd, out->data, out->len) < 0)
		return -1;
	out->len = 0;
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

typedef void (*sink_fn)(void *ctx, const struct kmes_event *event);

static void for_all_events(sink_fn sink, void *ctx)
{
	struct kmes_event event;

	for (size_t at = 0; at < events_len; at += event.size) {
		if (kmes_event_parse(&event, events + at, events_len - at, BUFFER) != 1)
			abort();
		sink(ctx, &event);
	}
}

static double seconds_an_event(sink_fn sink, void *ctx)
{
	double best = 1;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now(), took;

		for (int pass = 0; pass < PASSES; pass++)
			for_all_events(sink, ctx);
		took = (now() - start) / PASSES / events_count;
		if (took < best)
			best = took;
	}
	return best;
}

static void report(const char *name, double seconds, double bytes)
{
	tap_note("%-26s %6.1f ns  %6.2f M events/s  %5.0f bytes each", name,
		 seconds * 1e9, 1e-6 / seconds, bytes);
}

static void walk_sink(void *ctx, const struct kmes_event *event)
{
	*(uint64_t *)ctx += event->seq;
}

static void snprintf_sink(void *ctx, const struct kmes_event *event)
{
	struct kmes_outbuf *out = ctx;

	if (out->size - out->len < 1024)
		write_away(out);
	out->len += snprintf(out->data + out->len, 1024,
			     "%02u:%02u:%02u.%06u  cpu%u  #%llu  USR  %.*s  "
			     "{user: \"%s\", pid: %u, path: \"%s\", ms: %u}\n",
			     20u, 21u, 22u, (unsigned int)(event->ts_ns / 1000 % 1000000),
			     event->cpu, (unsigned long long)event->seq, event->type_len,
			     event->type, "alice", 4711u, "/var/log/app/000000000001.log",
			     257u);
}

struct format_ctx {
	struct kmes_formatter f;
	struct kmes_outbuf out;
};

static void format_sink(void *ctx, const struct kmes_event *event)
{
	struct format_ctx *c = ctx;

	kmesp_formatter_event(&c->f, &c->out, event);
}

static double bench_format(const char *name, const struct kmes_format *format,
			   const struct kmes_format_options *options)
{
	struct format_ctx c = {
		.out = { .data = out_memory,
			 .size = sizeof(out_memory),
			 .full = write_away },
	};
	double seconds;

	kmesp_formatter_init(&c.f, format, options);
	out_bytes = 0;
	seconds = seconds_an_event(format_sink, &c);
	report(name, seconds, (double)out_bytes / events_count / ROUNDS / PASSES);
	return seconds;
}

int main(void)
{
	struct kmes_outbuf out = { .data = out_memory, .size = sizeof(out_memory) };
	struct kmes_format_options plain = { .time = KMES_TIME_CLOCK };
	struct kmes_format_options color = { .color = true };
	struct kmes_format_options cut = { .width = 80 };
	uint64_t sum = 0;
	double text, json;

	null_fd = open("/dev/null", O_WRONLY);
	if (null_fd < 0)
		abort();
	make_events();
	tap_note("%zu events of %zu bytes", events_count, events_len / events_count);
	report("walking headers only", seconds_an_event(walk_sink, &sum), 0);
	report("snprintf of a fixed line", seconds_an_event(snprintf_sink, &out), 0);
	text = bench_format("text", &kmesp_format_text, &plain);
	bench_format("text, coloured", &kmesp_format_text, &color);
	bench_format("text, cut to 80 columns", &kmesp_format_text, &cut);
	bench_format("pretty", &kmesp_format_pretty, &plain);
	bench_format("hex", &kmesp_format_hex, &plain);
	json = bench_format("json", &kmesp_format_json, &plain);
	tap_note("the target of 4 million events per second as text is %s",
		 text < 250e-9 ? "reached" : "missed");
	tap_note("the target of 3 million events per second as JSON is %s",
		 json < 333e-9 ? "reached" : "missed");
	return sum == 0;
}
