/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * walk.h - counts the events of one ring without acting as a consumer.
 *
 * A walk visits the events up to the write_pos loaded at its start; the next walk
 * continues there. The number of events in the ring follows from the sequences of the
 * oldest event and of the newest one visited, less the holes between them: sequences
 * without an event. Nothing is stored to the ring, and need_wake stays clear.
 */
#ifndef STAT_WALK_H
#define STAT_WALK_H
#include "ring_walk.h"
#include "types.h"

/* `count` sequences without an event, just below `before`. */
struct stat_hole {
	uint64_t before, count;
};

struct stat_walk {
	struct kmes_mapping map;
	struct kmes_ring_walk ring;
	bool has_previous;  /* the event before ring.pos was walked: gaps are holes */
	uint64_t last_seq;  /* of the newest event walked, 0: none */
	uint64_t typed_seq; /* types are counted up to here */
	struct stat_hole *holes;
	size_t hole_count, hole_room;
};

/* The state of a ring at one time. */
struct stat_ring_state {
	uint64_t generation, capacity;
	uint64_t used_bytes, events;
	uint64_t last_seq;     /* 0: unknown */
	uint64_t holes;	       /* sequences without an event between oldest and newest */
	uint64_t oldest_ts_ns; /* 0: no event */
	uint64_t write_pos;
	bool waiting;
	bool counted;  /* false: lapped too often; events and holes are unknown */
	bool replaced; /* since the last walk */
	bool fresh;    /* the first ring of its CPU, never written to */
};

/* Attaches. 0 or -errno; -EINVAL: the slot has no ring. */
int stat_walk_open(struct stat_walk *walk, struct kmes_source *src, uint16_t cpu,
		   struct kmes_error *err);
void stat_walk_close(struct stat_walk *walk);

/*
 * Continues the walk and reports the state. Adds the visited events to `types` unless it
 * is NULL. 0 or -errno; after -EBADMSG (the ring contains something that is not an event)
 * and -EPROTO (it was replaced by nothing) the state is valid, but its events are
 * unknown.
 */
int stat_walk_on(struct stat_walk *walk, struct kmes_source *src,
		 struct stat_types *types, struct stat_ring_state *state,
		 struct kmes_error *err);

#endif
