/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ring_walk.h - goes over the events of a mapped ring once, without being a consumer: it
 * stores nothing to the ring, and follows no replacement. Private to the project.
 */
#ifndef KMES_RING_WALK_H
#define KMES_RING_WALK_H

#include "ring.h"

/* All zero: not started. */
struct kmes_ring_walk {
	struct kmes_ring_view view;
	uint64_t pos; /* of the next event */
	uint8_t *buf; /* private bytes: buf[off..len) is unread, from pos on */
	uint32_t size, off, len;
};

/* (Re)starts at the oldest event of `view`, whose mapping outlives the walk. */
void kmesp_ring_walk_start(struct kmes_ring_walk *walk,
			   const struct kmes_ring_view *view);
void kmesp_ring_walk_free(struct kmes_ring_walk *walk);

/*
 * The next event below `end`, a write_pos of the ring: 1; 0: walk->pos is at `end` or
 * past it; -EAGAIN: lapped, walk->pos is at a later event now; -EBADMSG: no event at
 * walk->pos; -ENOMEM. The event is valid until the next call.
 */
int kmesp_ring_walk_next(struct kmes_ring_walk *walk, uint64_t end,
			 struct kmes_event *event);

#endif
