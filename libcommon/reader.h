/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* reader.h - all rings of a source, for reader.c and wait.c; private to the library. */
#ifndef KMES_READER_H
#define KMES_READER_H

#include "base/heap.h"
#include "ring.h"

struct kmes_wait;

struct kmes_reader {
	struct kmes_source *src;
	struct kmes_ring *rings;
	unsigned int ring_count;
	enum kmes_reader_order order;
	bool snapshot;
	bool source_gone;

	/* By time: rings with a head as a heap, by its stamp and the CPU; rings without. */
	struct kmes_heap heap;
	struct kmes_ring **idle;
	unsigned int idle_len;
	uint64_t watermark_ns;	 /* CLOCK_REALTIME: no idle ring brings anything older */
	unsigned int until_look; /* events until the idle rings are looked at again */

	/* By CPU: whose turn it is. */
	unsigned int turn;

	struct kmes_ring *current; /* its head was handed out last */
	bool pending;		   /* some ring has a note or a resize to tell */
	uint64_t events;
	struct kmes_error err;
	struct kmes_wait *wait;
};

/* Prepares sleeping on up to `ring_count` rings, with threads where one cannot (wait.c). */
int kmesp_wait_new(struct kmes_wait **out, unsigned int ring_count);
void kmesp_wait_free(struct kmes_wait *wait);

#endif
