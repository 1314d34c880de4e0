// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* resize.c - attaches to the rings that are about to be replaced, and counts in them. */
#include "resize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPAN_SIZE (256u << 10)
/* So often, a millisecond apart, the count of a live ring is begun. */
#define TRIES_MAX 1000

int resize_attach(struct resize_rings *rings, struct kmes_source *src,
		  struct kmes_error *err)
{
	int cpu, slots = kmes_source_slots(src, err);

	memset(rings, 0, sizeof(*rings));
	if (slots < 0)
		return slots;
	rings->ring = calloc(slots ? (size_t)slots : 1, sizeof(*rings->ring));
	if (!rings->ring)
		return kmes_error_set(err, -ENOMEM, "no memory for %d rings", slots);
	for (cpu = 0; cpu < slots; cpu++) {
		struct resize_ring *ring = &rings->ring[rings->count];
		int r = kmes_mapping_open(&ring->map, src, (uint16_t)cpu, err);

		if (r == -EINVAL)
			continue;
		if (r < 0)
			return r;
		ring->cpu = (uint16_t)cpu;
		ring->old_generation = ring->map.generation;
		ring->new_generation = ring->map.generation;
		rings->count++;
	}
	if (!rings->count)
		return kmes_error_set(err, -ENODEV, "%s: no ring", kmes_source_name(src));
	return 0;
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

		/* Order H, pairs with G: what is counted behind it is the frozen ring. */
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
 * Walks one ring up to the write_pos of now. An event survives when it and all that
 * follows fit into `capacity`. 0, -EAGAIN when a live ring has lapped the walk, or -EPROTO.
 */
static int walk_ring(struct resize_ring *ring, uint64_t capacity, uint8_t *buf)
{
	const struct kmes_producer_page *page = ring->map.view.producer;
	/* Order D, pairs with C, and K with J. */
	uint64_t end = kmes_load_acquire(&page->write_pos);
	uint64_t pos = kmes_load_acquire(&page->tail_pos);

	ring->before = 0;
	ring->kept = 0;
	while (pos < end) {
		struct kmes_ring_span span;
		uint32_t size;

		if (kmes_ring_copy(&ring->map.view, pos, buf, SPAN_SIZE, &span) < 0)
			return -EPROTO;
		if (span.lapped)
			return -EAGAIN;
		/* Events are published whole, and nothing is taken back. */
		if (span.len < sizeof(size))
			return -EPROTO;
		for (; pos < end && span.len >= sizeof(size); span.len -= size) {
			memcpy(&size, buf + span.skip, sizeof(size));
			if (size < KMES_HEADER_SIZE || size > end - pos)
				return -EPROTO;
			ring->before++;
			ring->kept += end - pos <= capacity;
			pos += size;
			span.skip += size;
			if (size > span.len)
				break;
		}
	}
	/* A tail ahead: a batch larger than the ring is being written. */
	return pos == end ? 0 : -EAGAIN;
}

static int count_ring(struct resize_ring *ring, uint64_t capacity, uint8_t *buf,
		      struct kmes_error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int tries, r = walk_ring(ring, capacity, buf);

	for (tries = 1; r == -EAGAIN && tries < TRIES_MAX; tries++) {
		nanosleep(&pause, NULL);
		r = walk_ring(ring, capacity, buf);
	}
	if (r == -EAGAIN)
		return kmes_error_set(
			err, r, "cpu%u: its events come faster than they are counted",
			ring->cpu);
	if (r < 0)
		return kmes_error_set(err, r, "cpu%u: holds something that is no event",
				      ring->cpu);
	return 0;
}

int resize_count(struct resize_rings *rings, uint64_t capacity, struct kmes_error *err)
{
	uint8_t *buf = malloc(SPAN_SIZE);
	unsigned int i;
	int r = buf ? 0 : kmes_error_set(err, -ENOMEM, "no memory");

	for (i = 0; i < rings->count && r == 0; i++)
		r = count_ring(&rings->ring[i], capacity, buf, err);
	free(buf);
	return r;
}
