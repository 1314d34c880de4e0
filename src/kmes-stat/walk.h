/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * walk.h - counts what is in one ring without being one of its consumers.
 *
 * A walk goes over the events up to the write_pos that it saw at its start, and next time
 * on from there. What is in the ring is then told from two sequences, that of the oldest
 * event and that of the newest one walked, less the holes between them: sequences that
 * no event has. Nothing is stored to the ring, need_wake least of all.
 */
#ifndef STAT_WALK_H
#define STAT_WALK_H
#include "kmes.h"
#include "types.h"

/* Sequences that no event has: `count` of them, right before `before`. */
struct stat_hole {
	uint64_t before, count;
};

struct stat_walk {
	struct kmes_mapping map;
	uint64_t pos;	    /* walked up to here */
	uint64_t last_seq;  /* of the newest event walked, 0: none */
	uint64_t typed_seq; /* types are counted up to here */
	struct stat_hole *holes;
	size_t hole_count, hole_room;
	uint8_t *buf;
	uint32_t buf_size;
};

/* What a walk found; all of one moment. */
struct stat_ring_state {
	uint64_t generation, capacity;
	uint64_t used_bytes, events;
	uint64_t last_seq;     /* 0: the ring tells of none */
	uint64_t holes;	       /* sequences between oldest and newest that no event has */
	uint64_t oldest_ts_ns; /* 0: no event */
	uint64_t write_pos;
	bool waiting;
	bool counted; /* false: the ring was lapped too often, events and holes mean nothing */
	bool replaced; /* since the last walk */
	bool fresh;    /* a CPU's first ring, in which nothing was ever written */
};

/* Attaches. 0 or -errno; -EINVAL: the slot has no ring. */
int stat_walk_open(struct stat_walk *walk, struct kmes_source *src, uint16_t cpu,
		   struct kmes_error *err);
void stat_walk_close(struct stat_walk *walk);

/*
 * Walks on and takes the state. Adds the events that were walked to `types` (NULL: not
 * wanted). 0 or -errno.
 */
int stat_walk_on(struct stat_walk *walk, struct kmes_source *src,
		 struct stat_types *types, struct stat_ring_state *state,
		 struct kmes_error *err);

#endif
