/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* follow.h - a consumer of one ring that follows replacements and accounts for each event. */
#ifndef KMES_VM_FOLLOW_H
#define KMES_VM_FOLLOW_H

#include "tests/vm/case.h"

struct follower {
	struct vm_ring ring;
	uint32_t cpu;
	uint64_t pos, last; /* the sequence seen last */
	uint64_t last_here; /* the one read last from this ring, 0: none */
	bool lapped;	    /* since then */
	uint64_t seen, lost, switches;
	unsigned char *buf;
};

#define FOLLOW_BUF (1u << 20)

static inline struct follower follow_start(uint32_t cpu)
{
	struct follower f = { .cpu = cpu, .ring = ring_open(cpu) };

	f.buf = malloc(FOLLOW_BUF);
	check(f.buf);
	f.pos = f.ring.producer->write_pos;
	f.last = counter(cpu, "emitted_events") + counter(cpu, "dropped_events");
	return f;
}

/* Events of the tests have bodies of one byte repeated: a torn one is not. */
static inline void follow_check_body(const unsigned char *at,
				     const struct kmes_event_header *h)
{
	const unsigned char *body = at + h->header_size;
	uint32_t len = h->event_size - h->header_size;
	uint32_t skip = len && body[0] == 0xc4 ? 2 : len && body[0] == 0xc6 ? 5 : len;

	for (uint32_t i = skip; i < len; i++)
		if (body[i] != body[skip])
			fail("sequence %llu is torn", (unsigned long long)h->sequence);
}

/* In one ring an event follows the other, unless the writer has lapped us. */
static inline void follow_check_order(struct follower *f, uint64_t sequence)
{
	if (f->last_here &&
	    (f->lapped ? sequence <= f->last_here : sequence != f->last_here + 1))
		fail("cpu%u: sequence %llu after %llu%s", f->cpu,
		     (unsigned long long)sequence, (unsigned long long)f->last_here,
		     f->lapped ? ", lapped" : "");
	f->last_here = sequence;
	f->lapped = false;
}

/* Takes the whole events of a private copy; returns how many bytes that were. */
static inline uint32_t follow_take(struct follower *f, const unsigned char *at,
				   uint32_t len)
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
		/* In a new ring the first ones may be known already. */
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
static inline void follow_drain(struct follower *f)
{
	struct kmes_ring_span span;

	do {
		check(kmes_ring_copy(&f->ring.view, f->pos, f->buf, FOLLOW_BUF, &span) ==
		      0);
		f->lapped |= span.lapped;
		f->pos = span.pos + follow_take(f, f->buf + span.skip, span.len);
	} while (span.len);
}

/* Reads what there is, and goes over to the new ring if this one has been replaced. */
static inline void follow(struct follower *f)
{
	struct vm_ring old = f->ring;

	follow_drain(f);
	if (kmes_load_acquire(&old.producer->generation) == old.generation)
		return;
	/* Order H, pairs with G: what is there now is all that ever will be. */
	follow_drain(f);
	f->ring = ring_open(f->cpu);
	check(f->ring.generation > old.generation);
	f->pos = kmes_load_acquire(&f->ring.producer->tail_pos);
	f->last_here = 0;
	f->switches++;
	ring_close(&old);
}

/* Goes on until a ring is the current one and empty; nobody emits any more. */
static inline void follow_finish(struct follower *f)
{
	uint64_t switches;

	do {
		switches = f->switches;
		follow(f);
	} while (f->switches != switches);
}

#endif
