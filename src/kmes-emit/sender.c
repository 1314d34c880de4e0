// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sender.c - sends events to the source: batches, pace, the rate limit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "emit.h"
#include "source.h"

/* A batch of this size is sent. */
#define BATCH_BYTES (1u << 20)

/* Room for an event being built: the largest one, in base64 until it is complete. */
#define EVENT_ROOM (6u << 20)

/* After a refusal by the rate limit; the lowest limit allows one more event by then. */
#define NAP_NS 10000000

/* The pace restarts if it is late by more than this. */
#define PACE_SLACK_NS 100000000

int sender_init(struct sender *s)
{
	uint32_t size = BATCH_BYTES + EVENT_ROOM;
	void *buf = malloc(size);

	s->out = kmes_pack_begin(buf, size);
	s->step = s->batch;
	return buf ? 0 : -ENOMEM;
}

void sender_fini(struct sender *s)
{
	free(s->out.buf);
}

struct kmes_pack *sender_room(struct sender *s)
{
	s->out.size = s->out.len + EVENT_ROOM;
	return &s->out;
}

int sender_add(struct sender *s, const struct place *place, uint64_t line)
{
	s->places[s->count] = *place;
	s->lines[s->count++] = line;
	if (s->count == s->batch || s->out.len >= BATCH_BYTES)
		return sender_flush(s);
	return 0;
}

void sender_refuse(struct sender *s, uint64_t line, const char *reason)
{
	s->has_refused = true;
	if (s->input)
		cli_error("%s: line %llu: %s", s->input, (unsigned long long)line,
			  reason);
	else
		cli_error("%s", reason);
}

static uint64_t now_ns(void)
{
	return kmesp_clock_ns(CLOCK_MONOTONIC);
}

static void sleep_until(uint64_t ns)
{
	struct timespec until = kmesp_timespec(ns);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* When the event after `paced` others is due. */
static uint64_t due_ns(const struct sender *s)
{
	return s->start_ns +
	       (uint64_t)((unsigned __int128)s->paced * KMES_NS_PER_S / s->rate);
}

/*
 * Waits until an event is due; returns the number of events that are, at most `wanted`.
 * After a signal to stop, lines that were read are sent at once, repeats not at all: 0.
 */
static uint32_t pace_wait(struct sender *s, uint32_t wanted)
{
	uint64_t now = now_ns(), due;
	unsigned __int128 ready;

	if (!s->rate)
		return wanted;
	if (!s->start_ns || now > due_ns(s) + PACE_SLACK_NS) {
		s->start_ns = now;
		s->paced = 0;
	}
	for (due = due_ns(s); now < due; now = now_ns()) {
		if (cli_stop_signal())
			return s->input ? wanted : 0;
		sleep_until(due);
	}
	ready = (unsigned __int128)(now - s->start_ns) * s->rate / KMES_NS_PER_S + 1 -
		s->paced;
	return ready < wanted ? (uint32_t)ready : wanted;
}

static void list_records(const struct sender *s, struct kmes_record *records)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		records[i] = (struct kmes_record){
			.type = s->out.buf + s->places[i].type,
			.payload = s->out.buf + s->places[i].payload,
			.payload_len = s->places[i].payload_len,
			.type_len = s->places[i].type_len,
		};
}

/* Why the source refuses this very event; NULL: it would refuse any event. */
static const char *refusal(int rc)
{
	switch (rc) {
	case -EINVAL:
		return "refused: nested too deep for the source, or the type is not UTF-8";
	case -ENOSPC:
		return "refused: larger than the limit of this source";
	case -ENOMEM:
	case -EFAULT:
		return "refused: the source has no memory for it";
	default:
		return NULL;
	}
}

static void report_failure(const struct sender *s, int rc)
{
	const char *name = kmes_source_name(s->src);

	if (rc == -EPERM || rc == -EACCES)
		cli_error("%s: not allowed to emit: %s%s", name, strerror(-rc),
			  s->src->ops->emit_hint);
	else if (rc == -EOPNOTSUPP)
		cli_error("%s: events cannot be emitted to this source", name);
	else if (!kmes_source_alive(s->src))
		cli_error("%s: the source ended", name);
	else
		cli_error("%s: cannot emit: %s", name, strerror(-rc));
}

static void report_stop(const struct sender *s, uint32_t done)
{
	if (s->input)
		cli_error("%s: stopped before line %llu", s->input,
			  (unsigned long long)s->lines[done]);
	else
		cli_error("stopped: %llu events were not emitted",
			  (unsigned long long)(s->count - done + s->later));
}

/* One step: sends `count` events; `*sent` is how many went before the error. */
static int send_some(struct sender *s, const struct kmes_record *records, uint32_t count,
		     uint32_t *sent)
{
	int rc;

	if (count > 1)
		return kmes_source_emit_batch(s->src, s->cpu, records, count, sent);
	rc = kmes_source_emit(s->src, s->cpu, records);
	*sent = rc == 0;
	return rc;
}

/*
 * The rate limit allows a batch completely or not at all: halve it after a refusal, and
 * double it after success.
 */
static void adapt_step(struct sender *s, int rc)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (rc == -EAGAIN) {
		s->step = s->step > 1 ? s->step / 2 : 1;
		nanosleep(&nap, NULL);
	} else {
		s->step = s->step < s->batch / 2 ? s->step * 2 : s->batch;
	}
}

/* Sends the queue; -errno: the event at `*done` and those after it cannot be sent. */
static int send_all(struct sender *s, const struct kmes_record *records, uint32_t *done)
{
	uint32_t count, sent;
	int rc;

	while (*done < s->count) {
		count = s->count - *done < s->step ? s->count - *done : s->step;
		count = pace_wait(s, count);
		if (!count)
			return -EINTR;
		rc = send_some(s, records + *done, count, &sent);
		*done += sent;
		s->paced += sent;
		adapt_step(s, rc);
		if (rc == -EAGAIN && cli_stop_signal())
			return -EINTR;
		if (rc == 0 || rc == -EAGAIN)
			continue;
		if (!refusal(rc))
			return rc;
		sender_refuse(s, s->lines[(*done)++], refusal(rc));
		if (!s->input) /* all repeats are the same */
			return 0;
	}
	return 0;
}

int sender_flush(struct sender *s)
{
	struct kmes_record records[KMES_BATCH_MAX];
	uint32_t done = 0;
	int rc;

	if (s->is_over)
		return -EINTR;
	list_records(s, records);
	rc = send_all(s, records, &done);
	s->is_over = rc < 0;
	if (rc == -EINTR)
		report_stop(s, done);
	else if (rc < 0)
		report_failure(s, rc);
	s->count = 0;
	s->out.len = 0;
	return rc;
}

int sender_repeat(struct sender *s, uint64_t times)
{
	uint32_t i, len = s->out.len;
	int rc;

	for (i = 1; i < s->batch; i++) {
		s->places[i] = s->places[0];
		s->lines[i] = s->lines[0];
	}
	while (times && !s->has_refused) {
		s->count = times < s->batch ? (uint32_t)times : s->batch;
		times -= s->count;
		s->later = times;
		if (cli_stop_signal()) {
			report_stop(s, 0);
			return -EINTR;
		}
		rc = sender_flush(s);
		if (rc < 0)
			return rc;
		s->out.len = len;
	}
	return 0;
}
