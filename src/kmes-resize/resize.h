/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* resize.h - the rings of a source before and after a change of capacity. */
#ifndef RESIZE_H
#define RESIZE_H

#include "kmes.h"

/* A ring: how many events it contained, and how many of them the new ring keeps. */
struct resize_ring {
	struct kmes_mapping map; /* the ring before the change */
	uint16_t cpu;
	uint64_t old_generation, new_generation;
	uint64_t before, kept; /* events */
};

struct resize_rings {
	struct resize_ring *ring;
	unsigned int count;
};

/*
 * Attaches to every ring of the source, before the change. 0 or -errno; in either case
 * the caller detaches.
 */
int resize_attach(struct resize_rings *rings, struct kmes_source *src,
		  struct kmes_error *err);
void resize_detach(struct resize_rings *rings);

/* The number of rings not replaced yet; notes the new generations of the others. */
unsigned int resize_pending(struct resize_rings *rings);

/*
 * Counts each ring's events, and those that a ring of `capacity` bytes keeps: exact for
 * replaced rings, a forecast for others. 0, -EBADMSG if a ring is corrupt, -EAGAIN if
 * one is written too fast to be counted, or -ENOMEM.
 */
int resize_count(struct resize_rings *rings, uint64_t capacity, struct kmes_error *err);

/*
 * After the change: the number of rings that were replaced more than once, as far as the
 * source reports this; notes the current generations. The counts remain those of the
 * first replacement.
 */
unsigned int resize_again(struct resize_rings *rings, struct kmes_source *src);

#endif
