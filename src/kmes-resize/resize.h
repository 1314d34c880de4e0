/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* resize.h - the rings of a source before and after a change of capacity. */
#ifndef RESIZE_H
#define RESIZE_H

#include "kmes.h"

/* One ring: what it held and what of that the new one holds. */
struct resize_ring {
	struct kmes_mapping map; /* the ring as it was before */
	uint16_t cpu;
	uint64_t old_generation, new_generation;
	uint64_t before, kept; /* events */
};

struct resize_rings {
	struct resize_ring *ring;
	unsigned int count;
};

/* Attaches to every ring of the source, before anything is changed. 0 or -errno. */
int resize_attach(struct resize_rings *rings, struct kmes_source *src,
		  struct kmes_error *err);
void resize_detach(struct resize_rings *rings);

/* The rings that are not replaced yet; notes the new generations of those that are. */
unsigned int resize_pending(struct resize_rings *rings);

/*
 * Counts each ring's events, and how many of them a ring of `capacity` bytes keeps: exact
 * for replaced rings, a forecast for others. -EBADMSG when a ring cannot be walked,
 * -EAGAIN when it is written too fast for that.
 */
int resize_count(struct resize_rings *rings, uint64_t capacity, struct kmes_error *err);

/*
 * Behind the change: how many rings were replaced more often than by it, as far as the
 * source tells; notes the generations of now. The counts hold for the first replacement.
 */
unsigned int resize_again(struct resize_rings *rings, struct kmes_source *src);

#endif
