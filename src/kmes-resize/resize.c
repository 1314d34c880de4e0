// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* resize.c - attaches to the rings that will be replaced, and counts their events. */
#include "resize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ring_walk.h"
#include "slots.h"

/* Attempts to count a live ring, a millisecond apart. */
#define TRIES_MAX 1000

static int attach(void *object, struct kmes_source *src, uint16_t cpu, const void *arg,
		  struct kmes_error *err)
{
	struct resize_ring *ring = object;
	int rc = kmes_mapping_open(&ring->map, src, cpu, err);

	(void)arg;
	if (rc < 0)
		return rc;
	ring->cpu = cpu;
	ring->old_generation = ring->map.generation;
	ring->new_generation = ring->map.generation;
	return 0;
}

int resize_attach(struct resize_rings *rings, struct kmes_source *src,
		  struct kmes_error *err)
{
	struct kmes_slots slots = { .open = attach, .size = sizeof(*rings->ring) };
	int rc = kmesp_slots_open(&slots, src, err);

	rings->ring = slots.objects;
	rings->count = slots.count;
	return rc;
}

void resize_detach(struct resize_rings *rings)
{
	unsigned int i;

	for (i = 0; i < rings->count; i++)
		kmes_mapping_close(&rings->ring[i].map);
	free(rings->ring);
	memset(rings, 0, sizeof(*rings));
}

unsigned int resize_pending(struct resize_rings *rings)
{
	unsigned int i, pending = 0;

	for (i = 0; i < rings->count; i++) {
		struct resize_ring *ring = &rings->ring[i];

		/* Order H, pairs with G: the ring is counted later, when it is final. */
		ring->new_generation =
			kmes_load_acquire(&ring->map.view.producer->generation);
		pending += ring->new_generation == ring->old_generation;
	}
	return pending;
}

unsigned int resize_again(struct resize_rings *rings, struct kmes_source *src)
{
	unsigned int i, again = 0;

	for (i = 0; i < rings->count; i++) {
		struct resize_ring *ring = &rings->ring[i];
		struct kmes_mapping now;

		/* The page of a replaced ring may show any later generation. */
		if (kmes_mapping_open(&now, src, ring->cpu, NULL) < 0)
			break;
		ring->new_generation = now.generation;
		again += now.generation - ring->old_generation > 1;
		kmes_mapping_close(&now);
	}
	return again;
}

/*
 * Walks one ring up to the present write_pos. An event survives if it and all that
 * follow fit in `capacity`. 0, -EAGAIN if a live ring has lapped the walk, or another
 * -errno.
 */
static int walk_ring(struct resize_ring *ring, uint64_t capacity,
		     struct kmes_ring_walk *walk)
{
	/* Order D, pairs with C. */
	uint64_t end = kmes_load_acquire(&ring->map.view.producer->write_pos);
	struct kmes_event e;
	int rc;

	ring->before = 0;
	ring->kept = 0;
	kmesp_ring_walk_start(walk, &ring->map.view);
	while ((rc = kmesp_ring_walk_next(walk, end, &e)) > 0) {
		ring->before++;
		ring->kept += end - walk->pos + e.size <= capacity;
	}
	/* A tail ahead: a batch larger than the ring is being written. */
	return rc == 0 && walk->pos != end ? -EAGAIN : rc;
}

static int count_ring(struct resize_ring *ring, uint64_t capacity,
		      struct kmes_ring_walk *walk, struct kmes_error *err)
{
	const struct timespec pause = kmesp_timespec(KMES_NS_PER_MS);
	int tries, rc = walk_ring(ring, capacity, walk);

	for (tries = 1; rc == -EAGAIN && tries < TRIES_MAX; tries++) {
		nanosleep(&pause, NULL);
		rc = walk_ring(ring, capacity, walk);
	}
	if (rc == -EAGAIN)
		return kmes_error_set(
			err, rc, "cpu%u: events arrive faster than they can be counted",
			ring->cpu);
	if (rc == -ENOMEM)
		return kmes_error_set(err, rc, "out of memory");
	if (rc < 0)
		return kmes_error_set(err, rc, "cpu%u: not an event at position %llu",
				      ring->cpu, (unsigned long long)walk->pos);
	return 0;
}

int resize_count(struct resize_rings *rings, uint64_t capacity, struct kmes_error *err)
{
	struct kmes_ring_walk walk = { .buf = NULL };
	unsigned int i;
	int rc = 0;

	for (i = 0; i < rings->count && rc == 0; i++)
		rc = count_ring(&rings->ring[i], capacity, &walk, err);
	kmesp_ring_walk_free(&walk);
	return rc;
}
