// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* follow.c - draining a ring, checking each event, and following replacements. */
#include "tests/vm/follow.h"

#define FOLLOW_BUF (1u << 20)

struct follower follow_start(uint32_t cpu)
{
	struct follower f = { .cpu = cpu, .ring = ring_open(cpu) };

	f.buf = malloc(FOLLOW_BUF);
	check(f.buf);
	f.pos = f.ring.producer->write_pos;
	f.last = counter(cpu, "emitted_events") + counter(cpu, "dropped_events");
	return f;
}

/* The payload of every test event is one byte repeated, unless it is torn. */
static void follow_check_body(const unsigned char *at, const struct kmes_event_header *h)
{
	const unsigned char *body = at + h->header_size;
	uint32_t len = h->event_size - h->header_size;
	uint32_t skip = len && body[0] == 0xc4 ? 2 : len && body[0] == 0xc6 ? 5 : len;

	for (uint32_t i = skip; i < len; i++)
		if (body[i] != body[skip])
			fail("sequence %llu is torn", (unsigned long long)h->sequence);
}

/* Sequences in a ring are consecutive, unless the writer lapped us. */
static void follow_check_order(struct follower *f, uint64_t sequence)
{
	if (f->last_here &&
	    (f->lapped ? sequence <= f->last_here : sequence != f->last_here + 1))
		fail("cpu%u: sequence %llu after %llu%s", f->cpu,
		     (unsigned long long)sequence, (unsigned long long)f->last_here,
		     f->lapped ? ", lapped" : "");
	f->last_here = sequence;
	f->lapped = false;
}

/* Takes the complete events of a private copy; returns their size in bytes. */
static uint32_t follow_take(struct follower *f, const unsigned char *at, uint32_t len)
{
	struct kmes_event_header h;
	uint32_t done = 0;

	while (len - done >= sizeof(h)) {
		memcpy(&h, at + done, sizeof(h));
		check(h.event_size >= h.header_size);
		check(h.header_size == (uint32_t)KMES_HEADER_SIZE + h.type_len);
		check(h.event_size <= f->ring.capacity / 2 || h.cpu_id == f->cpu);
		check_eq(h.cpu_id, f->cpu);
		if (h.event_size > len - done)
			break;
		follow_check_order(f, h.sequence);
		/* A new ring may begin with events that we have already seen. */
		if (h.sequence > f->last) {
			f->lost += h.sequence - f->last - 1;
			f->seen++;
			f->last = h.sequence;
			follow_check_body(at + done, &h);
		} else {
			check(f->switches);
		}
		done += h.event_size;
	}
	return done;
}

/* Reads until the ring is empty. */
static void follow_drain(struct follower *f)
{
	struct kmes_ring_span span;

	do {
		check(kmes_ring_copy(&f->ring.view, f->pos, f->buf, FOLLOW_BUF, &span) ==
		      0);
		f->lapped |= span.lapped;
		f->pos = span.pos + follow_take(f, f->buf + span.skip, span.len);
	} while (span.len);
}

void follow(struct follower *f)
{
	struct vm_ring old = f->ring;

	follow_drain(f);
	if (kmes_load_acquire(&old.producer->generation) == old.generation)
		return;
	/* Order H, pairs with G: what is there now is all there will ever be. */
	follow_drain(f);
	f->ring = ring_open(f->cpu);
	check(f->ring.generation > old.generation);
	f->pos = kmes_load_acquire(&f->ring.producer->tail_pos);
	f->last_here = 0;
	f->switches++;
	ring_close(&old);
}

void follow_finish(struct follower *f)
{
	uint64_t switches;

	do {
		switches = f->switches;
		follow(f);
	} while (f->switches != switches);
}
