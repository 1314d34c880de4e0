// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sample.c - computes rows and their sum from ring walks and the source's counters. */
#include "sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "slots.h"

static struct stat_value known(uint64_t value)
{
	return (struct stat_value){ .value = value, .known = true };
}

static struct stat_value known_if(bool is_known, uint64_t value)
{
	return is_known ? known(value) : (struct stat_value){ 0 };
}

static int open_ring(void *object, struct kmes_source *src, uint16_t cpu, const void *arg,
		     struct kmes_error *err)
{
	struct stat_ring *ring = object;

	(void)arg;
	ring->row.cpu = cpu;
	return stat_walk_open(&ring->walk, src, cpu, err);
}

int stat_sampler_open(struct stat_sampler *s, struct kmes_source *src,
		      const struct kmes_cpus *cpus, bool want_types,
		      struct kmes_error *err)
{
	struct kmes_slots slots = { open_ring, NULL, sizeof(*s->rings), cpus, NULL, 0 };
	int rc = kmesp_slots_open(&slots, src, err);

	memset(s, 0, sizeof(*s));
	s->src = src;
	s->want_types = want_types;
	memcpy(s->stream_id, kmes_source_stream_id(src), sizeof(s->stream_id));
	s->rings = slots.objects;
	s->ring_count = slots.count;
	if (rc < 0)
		stat_sampler_close(s);
	return rc;
}

void stat_sampler_close(struct stat_sampler *s)
{
	unsigned int i;

	for (i = 0; i < s->ring_count; i++)
		stat_walk_close(&s->rings[i].walk);
	free(s->rings);
	stat_types_fini(&s->types);
	s->rings = NULL;
	s->ring_count = 0;
}

int stat_sampler_reopen(struct stat_sampler *s, struct kmes_source *src,
			const struct kmes_cpus *cpus, struct kmes_error *err)
{
	struct stat_sampler old = *s;
	unsigned int i;
	int rc = stat_sampler_open(s, src, cpus, old.want_types, err);

	if (rc == 0) {
		s->mono_ns = old.mono_ns;
		for (i = 0; i < s->ring_count; i++)
			s->rings[i].row.reset = true;
	}
	stat_sampler_close(&old);
	return rc;
}

/* The source's counters of a ring. */
struct reported {
	struct kmes_counters counters;
	bool has_counters;
	bool has_none; /* the source keeps none: only holes in the ring show drops */
};

/*
 * The last sequence. The counters include drops after the newest event, the ring events
 * that came after the counters were read; both only grow.
 */
static struct stat_value last_sequence(const struct stat_ring_state *state,
				       const struct kmes_counters *counters)
{
	uint64_t counted = 0;

	if (counters)
		counted =
			counters->counts.emitted_events + counters->counts.dropped_events;
	if (counted > state->last_seq)
		return known(counted);
	return known_if(counters || state->last_seq || state->fresh, state->last_seq);
}

static struct stat_rate rate(struct stat_value now, struct stat_value before,
			     uint64_t interval_ns)
{
	struct stat_rate rate = { 0 };

	if (!interval_ns || !now.known || !before.known || now.value < before.value)
		return rate;
	rate.per_second = (double)(now.value - before.value) * 1e9 / (double)interval_ns;
	rate.known = true;
	return rate;
}

static void fill_row(struct stat_row *row, const struct stat_ring_state *state,
		     const struct reported *reported)
{
	const struct kmes_counters *counters =
		reported->has_counters ? &reported->counters : NULL;
	const struct kmes_ring_counts *counts = counters ? &counters->counts : NULL;

	row->waiting = state->waiting;
	row->generation = known(state->generation);
	row->capacity_bytes = known(state->capacity);
	row->used_bytes = known_if(state->counted, state->used_bytes);
	row->total = last_sequence(state, counters);
	row->dropped =
		counts ? known(counts->dropped_events)
		       : known_if(state->counted && reported->has_none, state->holes);
	row->events = known_if(state->counted, state->events);
	if (!state->counted && counts)
		row->events = known(counts->emitted_events - counts->overwritten_events);
	row->overwritten = known_if(
		row->events.known && row->total.known && row->dropped.known &&
			row->total.value >= row->events.value + row->dropped.value,
		row->total.value - row->events.value - row->dropped.value);
	row->dropped_total = known_if(counts, counts ? counts->dropped_events : 0);
	row->emitted_bytes = known_if(counts, counts ? counts->emitted_bytes : 0);
	row->wakes = known_if(counts, counts ? counts->wakes : 0);
	row->oldest_ts_ns =
		known_if(state->counted && state->events, state->oldest_ts_ns);
}

/* Rates need the previous sample, which a new stream does not have. */
static void fill_rates(struct stat_ring *ring, const struct stat_row *before,
		       const struct stat_ring_state *state, uint64_t interval_ns)
{
	struct stat_value write_pos = known(state->write_pos);

	ring->row.events_rate = rate(ring->row.total, before->total, interval_ns);
	if (ring->row.emitted_bytes.known)
		ring->row.bytes_rate =
			rate(ring->row.emitted_bytes, before->emitted_bytes, interval_ns);
	else if (!ring->row.reset)
		ring->row.bytes_rate = rate(write_pos, ring->write_pos, interval_ns);
	ring->write_pos = write_pos;
}

static struct reported ask(struct stat_sampler *s, uint16_t cpu)
{
	struct reported reported;
	int rc = s->stalled ? -ETIMEDOUT
			    : kmes_source_counters(s->src, cpu, &reported.counters);

	s->stalled = rc == -ETIMEDOUT || rc == -EINTR;
	reported.has_counters = rc == 0;
	reported.has_none = rc == -EOPNOTSUPP;
	return reported;
}

static int take_ring(struct stat_sampler *s, struct stat_ring *ring,
		     struct kmes_error *err)
{
	struct stat_row before = ring->row;
	struct stat_ring_state state;
	struct reported reported = ask(s, ring->walk.map.cpu);
	/* A new stream was marked by stat_sampler_reopen. */
	bool is_new_stream = before.reset && !before.total.known;
	int rc = stat_walk_on(&ring->walk, s->src, s->want_types ? &s->types : NULL,
			      &state, &ring->error);

	/* A corrupt ring costs only its own values. */
	if (rc < 0 && rc != -EBADMSG && rc != -EPROTO)
		return kmes_error_set(err, rc, "%s", ring->error.text);
	if (rc == 0)
		ring->error.text[0] = '\0';
	memset(&ring->row, 0, sizeof(ring->row));
	ring->row.cpu = ring->walk.map.cpu;
	ring->row.reset = is_new_stream || (state.replaced && before.total.known);
	fill_row(&ring->row, &state, &reported);
	/* Sequences only grow, also where those after the newest event are unknown. */
	if (rc == 0 && !is_new_stream && before.total.known &&
	    before.total.value > ring->row.total.value)
		ring->row.total = before.total;
	fill_rates(ring, &before, &state, s->interval_ns);
	return 0;
}

static void add(struct stat_value *sum, struct stat_value v)
{
	sum->known &= v.known;
	sum->value += v.value;
}

static void add_rate(struct stat_rate *sum, struct stat_rate v)
{
	sum->known &= v.known;
	sum->per_second += v.per_second;
}

/* A sum is known if each of its parts is. */
static void sum_rows(struct stat_sampler *s)
{
	struct stat_row *t = &s->totals;
	unsigned int i;

	*t = s->rings[0].row;
	t->generation.known = false;
	for (i = 1; i < s->ring_count; i++) {
		const struct stat_row *row = &s->rings[i].row;

		t->reset |= row->reset;
		t->waiting |= row->waiting;
		add(&t->capacity_bytes, row->capacity_bytes);
		add(&t->used_bytes, row->used_bytes);
		add(&t->events, row->events);
		add(&t->total, row->total);
		add(&t->overwritten, row->overwritten);
		add(&t->dropped, row->dropped);
		add(&t->dropped_total, row->dropped_total);
		add(&t->emitted_bytes, row->emitted_bytes);
		add(&t->wakes, row->wakes);
		add_rate(&t->events_rate, row->events_rate);
		add_rate(&t->bytes_rate, row->bytes_rate);
		if (row->oldest_ts_ns.known &&
		    (!t->oldest_ts_ns.known ||
		     row->oldest_ts_ns.value < t->oldest_ts_ns.value))
			t->oldest_ts_ns = row->oldest_ts_ns;
	}
}

int stat_sampler_take(struct stat_sampler *s, struct kmes_error *err)
{
	uint64_t before = s->mono_ns;
	unsigned int i;

	s->mono_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	s->time_ns = kmesp_clock_ns(CLOCK_REALTIME);
	s->interval_ns = before ? s->mono_ns - before : 0;
	s->stalled = false;
	stat_types_clear(&s->types);
	for (i = 0; i < s->ring_count; i++) {
		int rc = take_ring(s, &s->rings[i], err);

		if (rc < 0)
			return rc;
	}
	sum_rows(s);
	return 0;
}
