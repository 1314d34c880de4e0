// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapping.c - attaches to one ring, maps and verifies it (doc/protocol.md, Attaching). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source.h"

void kmes_mapping_close(struct kmes_mapping *map)
{
	unsigned int i;

	if (!map)
		return;
	if (map->base)
		munmap(map->base, map->length);
	map->base = NULL;
	for (i = 0; i < 2; i++) {
		if (map->fds[i] >= 0)
			close(map->fds[i]);
		map->fds[i] = -1;
	}
}

/* Attaches and maps; does not look at the pages. */
static int attach(struct kmes_mapping *map, struct kmes_source *src, uint16_t cpu,
		  struct kmes_error *err)
{
	int rc;

	memset(map, 0, sizeof(*map));
	map->fds[0] = -1;
	map->fds[1] = -1;
	map->cpu = cpu;
	if (!src->ops->attach)
		return kmes_error_set(err, -EOPNOTSUPP, "%s: has no KMES rings",
				      src->ops->name);
	rc = src->ops->attach(src, cpu, map, err);
	if (rc < 0)
		kmes_mapping_close(map);
	return rc;
}

/* Magic and version come before any other field [P1]. */
static int verify(const struct kmes_mapping *map, struct kmes_error *err)
{
	const struct kmes_producer_page *page = map->view.producer;

	if (memcmp(page->magic, KMES_MAGIC, KMES_MAGIC_SIZE))
		return kmes_error_set(err, -EPROTO,
				      "cpu%u: not a KMES ring (wrong magic)", map->cpu);
	if (page->version != KMES_RING_VERSION)
		return kmes_error_set(err, -EPROTO,
				      "cpu%u: ring version %u, this program reads %u",
				      map->cpu, page->version, KMES_RING_VERSION);
	if (page->cpu_id != map->cpu)
		return kmes_error_set(err, -EPROTO, "cpu%u: the ring belongs to cpu%u",
				      map->cpu, page->cpu_id);
	if (page->capacity != map->view.capacity)
		return kmes_error_set(
			err, -EPROTO,
			"cpu%u: the ring's capacity is %llu, but attaching returned %llu",
			map->cpu, (unsigned long long)page->capacity,
			(unsigned long long)map->view.capacity);
	if (page->capacity < KMES_PAGE_SIZE || page->capacity & (page->capacity - 1))
		return kmes_error_set(err, -EPROTO,
				      "cpu%u: impossible ring capacity %llu", map->cpu,
				      (unsigned long long)page->capacity);
	if (page->data_offset != KMES_DATA_OFFSET)
		return kmes_error_set(err, -EPROTO,
				      "cpu%u: ring data at %llu instead of %d", map->cpu,
				      (unsigned long long)page->data_offset,
				      KMES_DATA_OFFSET);
	return 0;
}

/*
 * If the ring was replaced between attach and this check, the page already shows the
 * next generation, and later ones after a while. The ring is the current one if the
 * page shows the generation that the source reported, or if a second attach finds the
 * same generation: then the second ring is current, whatever the first one is [A13].
 */
static int confirm(struct kmes_mapping *map, struct kmes_source *src,
		   struct kmes_error *err)
{
	for (;;) {
		struct kmes_mapping again;
		/* Order H, pairs with G. */
		uint64_t seen = kmes_load_acquire(&map->view.producer->generation);
		int rc;

		/* Generations start at 1: this page could never be confirmed. */
		if (!seen)
			return kmes_error_set(err, -EPROTO,
					      "cpu%u: the ring has no generation",
					      map->cpu);
		if (seen == map->generation)
			return 0;
		rc = attach(&again, src, map->cpu, err);
		if (rc == 0)
			rc = verify(&again, err);
		if (rc < 0 || (map->generation && again.generation == map->generation)) {
			/* The same ring: its page is wrong, as its reader will report. */
			kmes_mapping_close(&again);
			return rc;
		}
		if (!map->generation && again.view.capacity == map->view.capacity &&
		    kmes_load_acquire(&again.view.producer->generation) == seen)
			again.generation = seen;
		kmes_mapping_close(map);
		*map = again;
	}
}

int kmes_mapping_open(struct kmes_mapping *map, struct kmes_source *src, uint16_t cpu,
		      struct kmes_error *err)
{
	int rc = attach(map, src, cpu, err);

	if (rc < 0)
		return rc;
	rc = verify(map, err);
	if (rc == 0)
		rc = confirm(map, src, err);
	if (rc < 0)
		kmes_mapping_close(map);
	return rc;
}
