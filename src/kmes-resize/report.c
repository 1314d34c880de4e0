// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* report.c - says what a change of capacity did, or would do, as text and as JSON. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

typedef unsigned long long ull;

static void say(struct cli_out *out, const char *format, ...) CLI_PRINTF(2, 3);

static void say(struct cli_out *out, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	cli_out_write(out, line, (size_t)n);
}

static void text_change(struct cli_out *out, const struct resize_change *change)
{
	unsigned int i;

	for (i = 0; i < change->rings->count; i++) {
		const struct resize_ring *r = &change->rings->ring[i];

		if (change->forecast)
			say(out, "cpu%u: %llu -> %llu, would keep %llu of %llu events\n",
			    r->cpu, (ull)r->map.view.capacity, (ull)change->capacity,
			    (ull)r->kept, (ull)r->before);
		else
			say(out,
			    "cpu%u: %llu -> %llu, generation %llu -> %llu, kept %llu of %llu "
			    "events\n",
			    r->cpu, (ull)r->map.view.capacity, (ull)change->capacity,
			    (ull)r->old_generation, (ull)r->new_generation, (ull)r->kept,
			    (ull)r->before);
	}
}

static void text_same(struct cli_out *out, const struct resize_change *change)
{
	say(out, "already %llu\n", (ull)change->capacity);
}

static void text_state(struct cli_out *out, const struct resize_rings *rings,
		       uint64_t capacity)
{
	unsigned int i;

	say(out, "capacity %llu, a power of two from %llu to %llu\n", (ull)capacity,
	    KMES_CAPACITY_MIN, KMES_CAPACITY_MAX);
	for (i = 0; i < rings->count; i++)
		say(out, "cpu%u: capacity %llu, generation %llu\n", rings->ring[i].cpu,
		    (ull)rings->ring[i].map.view.capacity,
		    (ull)rings->ring[i].new_generation);
}

static void json_change(struct cli_out *out, const struct resize_change *change)
{
	unsigned int i;

	say(out, "{\"old\":%llu,\"new\":%llu,\"rings\":[", (ull)change->old_capacity,
	    (ull)change->capacity);
	for (i = 0; i < change->rings->count; i++) {
		const struct resize_ring *r = &change->rings->ring[i];

		say(out,
		    "%s{\"cpu\":%u,\"generation\":[%llu,%llu],\"before\":%llu,"
		    "\"kept\":%llu,\"lost\":%llu}",
		    i ? "," : "", r->cpu, (ull)r->old_generation, (ull)r->new_generation,
		    (ull)r->before, (ull)r->kept, (ull)(r->before - r->kept));
	}
	say(out, "]}\n");
}

/* The same object, in which nothing has changed. */
static void json_state(struct cli_out *out, const struct resize_rings *rings,
		       uint64_t capacity)
{
	unsigned int i;

	say(out, "{\"capacity\":%llu,\"min\":%llu,\"max\":%llu,\"rings\":[",
	    (ull)capacity, KMES_CAPACITY_MIN, KMES_CAPACITY_MAX);
	for (i = 0; i < rings->count; i++)
		say(out, "%s{\"cpu\":%u,\"capacity\":%llu,\"generation\":%llu}",
		    i ? "," : "", rings->ring[i].cpu,
		    (ull)rings->ring[i].map.view.capacity,
		    (ull)rings->ring[i].new_generation);
	say(out, "]}\n");
}

const struct resize_format resize_text = {
	.change = text_change,
	.same = text_same,
	.state = text_state,
};

const struct resize_format resize_json = {
	.change = json_change,
	.same = json_change,
	.state = json_state,
};
