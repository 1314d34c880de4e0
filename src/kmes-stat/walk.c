// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* walk.c - counts the events of a ring that is written meanwhile. */
#include "walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A ring that laps the walk this often is not counted. */
#define LAPS_MAX 3

int stat_walk_open(struct stat_walk *walk, struct kmes_source *src, uint16_t cpu,
		   struct kmes_error *err)
{
	int rc;

	memset(walk, 0, sizeof(*walk));
	rc = kmes_mapping_open(&walk->map, src, cpu, err);
	if (rc < 0)
		return rc;
	kmesp_ring_walk_start(&walk->ring, &walk->map.view);
	return 0;
}

void stat_walk_close(struct stat_walk *walk)
{
	kmes_mapping_close(&walk->map);
	kmesp_ring_walk_free(&walk->ring);
	free(walk->holes);
	memset(walk, 0, sizeof(*walk));
}

static int add_hole(struct stat_walk *walk, uint64_t before, uint64_t count)
{
	if (walk->hole_count == walk->hole_room) {
		size_t room = walk->hole_room ? walk->hole_room * 2 : 16;
		struct stat_hole *holes = realloc(walk->holes, room * sizeof(*holes));

		if (!holes)
			return -ENOMEM;
		walk->holes = holes;
		walk->hole_room = room;
	}
	walk->holes[walk->hole_count].before = before;
	walk->holes[walk->hole_count++].count = count;
	return 0;
}

/*
 * Takes the event that was walked last. Types are counted once, also when the event
 * occurs again in the ring that replaced its first one.
 */
static int take_event(struct stat_walk *walk, struct stat_types *types,
		      const struct kmes_event *e)
{
	int rc = 0;

	if (walk->has_previous && e->seq <= walk->last_seq) {
		walk->ring.pos -= e->size; /* for the message */
		return -EBADMSG;
	}
	if (walk->has_previous && e->seq > walk->last_seq + 1)
		rc = add_hole(walk, e->seq, e->seq - walk->last_seq - 1);
	walk->last_seq = e->seq;
	walk->has_previous = true;
	if (e->seq <= walk->typed_seq)
		return rc;
	walk->typed_seq = e->seq;
	if (rc == 0 && types)
		rc = stat_types_add(types, e->type, e->type_len, e->size);
	return rc;
}

/*
 * Walks up to `end`: 0, -EAGAIN lapped too often, or -errno. After a lap, the gap before
 * the first event is what was overwritten, not a hole.
 */
static int walk_to(struct stat_walk *walk, struct stat_types *types, uint64_t end)
{
	struct kmes_event e;
	int rc, laps = 0;

	while ((rc = kmesp_ring_walk_next(&walk->ring, end, &e)) != 0) {
		if (rc > 0) {
			rc = take_event(walk, types, &e);
		} else if (rc == -EAGAIN && ++laps <= LAPS_MAX) {
			walk->hole_count = 0;
			walk->has_previous = false;
			rc = 0;
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The next walk begins at the oldest event of the ring. */
static void restart(struct stat_walk *walk)
{
	kmesp_ring_walk_start(&walk->ring, &walk->map.view);
	walk->has_previous = false;
	walk->hole_count = 0;
}

/*
 * The ring was replaced: the rest of it is walked for its types, then everything is
 * counted again in the new one.
 */
static int follow(struct stat_walk *walk, struct kmes_source *src,
		  struct stat_types *types, struct kmes_error *err)
{
	struct kmes_mapping next;
	int rc = kmes_mapping_open(&next, src, walk->map.cpu, err);

	if (rc < 0)
		return rc;
	if (next.generation == walk->map.generation) {
		kmes_mapping_close(&next);
		return kmes_error_set(
			err, -EPROTO,
			"cpu%u: shows that it was replaced, but there is no other ring",
			walk->map.cpu);
	}
	/* Order D, pairs with C: loaded behind the generation, so the last one. */
	walk_to(walk, types, kmes_load_acquire(&walk->map.view.producer->write_pos));
	kmes_mapping_close(&walk->map);
	walk->map = next;
	restart(walk);
	return 0;
}

/* Copies the header of the oldest event: 1, 0 when there is none, or -EBADMSG. */
static int look_at_oldest(const struct kmes_ring_view *view, struct kmes_ring_span *span,
			  struct kmes_event_header *h)
{
	/* Order K, pairs with J. */
	uint64_t pos = kmes_load_acquire(&view->producer->tail_pos);

	do {
		if (kmes_ring_copy(view, pos, h, sizeof(*h), span) < 0)
			return -EBADMSG;
		/* Lapped: the copy is of the new tail, or incomplete and made again. */
		pos = span->pos;
	} while (span->len < sizeof(*h) && span->write_pos > pos);
	return span->len ? 1 : 0;
}

/* Sums up the holes above `oldest`, and forgets those that left the ring. */
static uint64_t count_holes(struct stat_walk *walk, uint64_t oldest)
{
	uint64_t sum = 0;
	size_t i, gone = 0;

	for (i = 0; i < walk->hole_count; i++) {
		if (walk->holes[i].before <= oldest)
			gone = i + 1;
		else
			sum += walk->holes[i].count;
	}
	walk->hole_count -= gone;
	if (gone)
		memmove(walk->holes, walk->holes + gone,
			walk->hole_count * sizeof(*walk->holes));
	return sum;
}

/*
 * Walks on to the write_pos of now and looks at the oldest event behind that: all that
 * lies between is one moment's content. 0, -EAGAIN lapped, or -errno.
 */
static int count_ring(struct stat_walk *walk, struct stat_types *types,
		      struct stat_ring_state *state)
{
	struct kmes_event_header h;
	struct kmes_ring_span span;
	/* Order D, pairs with C. */
	uint64_t end = kmes_load_acquire(&walk->map.view.producer->write_pos);
	int rc = walk_to(walk, types, end);

	state->write_pos = end;
	if (rc < 0)
		return rc;
	rc = look_at_oldest(&walk->map.view, &span, &h);
	if (rc <= 0)
		return rc;
	if (span.pos >= walk->ring.pos)
		return -EAGAIN;
	state->oldest_ts_ns = h.timestamp;
	state->used_bytes = walk->ring.pos - span.pos;
	state->holes = count_holes(walk, h.sequence);
	state->events = walk->last_seq - h.sequence + 1 - state->holes;
	return 0;
}

static int walk_on(struct stat_walk *walk, struct kmes_source *src,
		   struct stat_types *types, struct stat_ring_state *state,
		   struct kmes_error *err)
{
	int rc, tries;

	/* Order H, pairs with G. */
	while (kmes_load_acquire(&walk->map.view.producer->generation) !=
	       walk->map.generation) {
		rc = follow(walk, src, types, err);
		if (rc < 0)
			return rc;
		state->replaced = true;
	}
	for (tries = 0, rc = -EAGAIN; tries < LAPS_MAX && rc == -EAGAIN; tries++)
		rc = count_ring(walk, types, state);
	if (rc == -ENOMEM)
		return kmes_error_set(err, rc, "out of memory");
	if (rc == -EBADMSG) {
		kmes_error_set(err, rc, "cpu%u: not an event at position %llu",
			       walk->map.cpu, (unsigned long long)walk->ring.pos);
		/* By the next time it may have left the ring. */
		restart(walk);
		return rc;
	}
	state->counted = rc == 0;
	state->last_seq = walk->last_seq;
	return 0;
}

int stat_walk_on(struct stat_walk *walk, struct kmes_source *src,
		 struct stat_types *types, struct stat_ring_state *state,
		 struct kmes_error *err)
{
	int rc;

	memset(state, 0, sizeof(*state));
	rc = walk_on(walk, src, types, state, err);
	state->generation = walk->map.generation;
	state->capacity = walk->map.view.capacity;
	state->waiting = kmes_load_relaxed(walk->map.need_wake) != 0;
	state->fresh = walk->map.generation == 1 &&
		       !kmes_load_acquire(&walk->map.view.producer->write_pos);
	return rc;
}
