/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* reader.h - the rings of a source as a whole, for reader.c and wait.c. */
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

	/* By time: a heap of the rings with a head, by stamp and CPU; those without. */
	struct kmes_heap heap;
	struct kmes_ring **idle;
	unsigned int idle_len;
	uint64_t watermark_ns;	 /* CLOCK_REALTIME: idle rings bring no older event */
	unsigned int until_look; /* events until the idle rings are checked again */

	/* By CPU: the ring whose turn it is. */
	unsigned int turn;

	struct kmes_ring *current; /* its head was returned last */
	bool pending;		   /* some ring has a note or a resize to report */
	uint64_t events;
	struct kmes_error err;
	struct kmes_wait *wait;
};

/* Prepares waiting on `ring_count` rings, with threads if one cannot do it (wait.c). */
int kmesp_wait_new(struct kmes_wait **out, unsigned int ring_count);
void kmesp_wait_free(struct kmes_wait *wait);

#endif
