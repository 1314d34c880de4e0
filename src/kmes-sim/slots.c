// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* slots.c - the rings in memfds: creation, replacement, and wake-ups. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmes_move.h"
#include "sim.h"

static void ring_free(struct sim_ring *ring)
{
	unsigned int i;

	if (ring->base)
		munmap(ring->base, ring->length);
	free(ring->writer.marks);
	for (i = 0; i < SIM_FDS; i++)
		if (ring->fds[i] >= 0)
			close(ring->fds[i]);
	memset(ring, 0, sizeof(*ring));
	ring->fds[SIM_FD_RING] = ring->fds[SIM_FD_CONSUMER] = -1;
}

/* A file of `size` allocated bytes, so that a store to it cannot fail. */
static int file_create(const char *name, uint64_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc = 0;

	if (fd < 0)
		return -errno;
	do {
		rc = fallocate(fd, 0, 0, (off_t)size) < 0 ? -errno : 0;
	} while (rc == -EINTR);
	if (rc == 0)
		return fd;
	close(fd);
	return rc == -ENOSPC ? -ENOMEM : rc;
}

static bool map_at(uint8_t *at, uint64_t len, int prot, int fd, off_t offset)
{
	return mmap(at, len, prot, MAP_SHARED | MAP_FIXED, fd, offset) != MAP_FAILED;
}

/* The mapping of doc/protocol.md, writable for the writer. */
static int ring_map(struct sim_ring *ring, uint64_t capacity)
{
	const int file = ring->fds[SIM_FD_RING];
	const int rw = PROT_READ | PROT_WRITE;
	uint8_t *base;

	ring->length = KMES_MAPPING_SIZE(capacity);
	base = mmap(NULL, ring->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	ring->base = base;
	if (!map_at(base, KMES_PAGE_SIZE, rw, file, 0) ||
	    !map_at(base + KMES_CONSUMER_OFFSET, KMES_PAGE_SIZE, PROT_READ,
		    ring->fds[SIM_FD_CONSUMER], 0) ||
	    !map_at(base + KMES_DATA_OFFSET, capacity, rw, file, KMES_PAGE_SIZE) ||
	    !map_at(base + KMES_DATA_OFFSET + capacity, capacity, rw, file,
		    KMES_PAGE_SIZE))
		return -errno;
	return 0;
}

/*
 * Makes the files safe to pass to clients: their sizes are fixed, and the ring can be
 * written through our mapping only, not through a reopened descriptor.
 */
static int ring_seal(struct sim_ring *ring)
{
	const int size = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	char path[64];
	int fd;

	if (fcntl(ring->fds[SIM_FD_RING], F_ADD_SEALS, size | F_SEAL_FUTURE_WRITE) < 0 ||
	    fcntl(ring->fds[SIM_FD_CONSUMER], F_ADD_SEALS, size) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ring->fds[SIM_FD_RING]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(ring->fds[SIM_FD_RING]);
	ring->fds[SIM_FD_RING] = fd;
	return 0;
}

static int ring_create(struct sim_ring *ring, uint16_t cpu, uint64_t capacity,
		       uint64_t generation)
{
	struct kmes_mark *marks;
	uint8_t *base;
	int rc;

	ring->fds[SIM_FD_CONSUMER] = file_create("kmes-consumer", KMES_PAGE_SIZE);
	ring->fds[SIM_FD_RING] = file_create("kmes-ring", KMES_PAGE_SIZE + capacity);
	rc = ring->fds[SIM_FD_CONSUMER] < 0 ? ring->fds[SIM_FD_CONSUMER]
	     : ring->fds[SIM_FD_RING] < 0   ? ring->fds[SIM_FD_RING]
					    : 0;
	if (rc == 0)
		rc = ring_map(ring, capacity);
	if (rc == 0)
		rc = ring_seal(ring);
	marks = calloc(kmes_ring_mark_count(capacity), sizeof(*marks));
	if (rc == 0 && !marks)
		rc = -ENOMEM;
	if (rc < 0) {
		free(marks);
		ring_free(ring);
		return rc;
	}
	base = ring->base;
	kmes_ring_init(&ring->writer, (void *)base, (void *)(base + KMES_CONSUMER_OFFSET),
		       base + KMES_DATA_OFFSET, marks, capacity, cpu, generation);
	return 0;
}

static bool memory_has_rings(uint32_t count, uint64_t capacity)
{
	return sim_memory_has(count * (capacity + 2 * KMES_PAGE_SIZE));
}

static void rings_free(struct sim_ring *rings, uint32_t count)
{
	uint32_t i;

	for (i = 0; rings && i < count; i++)
		ring_free(&rings[i]);
	free(rings);
}

static struct sim_ring *rings_alloc(uint32_t count)
{
	struct sim_ring *rings = calloc(count, sizeof(*rings));
	uint32_t i;

	for (i = 0; rings && i < count; i++)
		rings[i].fds[SIM_FD_RING] = rings[i].fds[SIM_FD_CONSUMER] = -1;
	return rings;
}

int sim_slots_init(struct sim_slots *slots, uint32_t count, const struct kmes_cpus *holes,
		   uint64_t capacity)
{
	uint32_t i, present = 0;
	int rc = 0;

	memset(slots, 0, sizeof(*slots));
	slots->count = count;
	slots->capacity = capacity;
	slots->fail_after = -1;
	slots->turn = count - 1;
	slots->rings = rings_alloc(count);
	slots->sleepy = calloc(count, sizeof(*slots->sleepy));
	slots->is_sleepy = calloc(count, sizeof(*slots->is_sleepy));
	if (!slots->rings || !slots->sleepy || !slots->is_sleepy)
		rc = -ENOMEM;
	for (i = 0; i < count; i++)
		present += !kmes_cpus_has(holes, i);
	if (!memory_has_rings(present, capacity))
		rc = -ENOMEM;
	for (i = 0; rc == 0 && i < count; i++)
		if (!kmes_cpus_has(holes, i))
			rc = ring_create(&slots->rings[i], i, capacity, 1);
	if (rc < 0)
		sim_slots_fini(slots);
	return rc;
}

void sim_slots_fini(struct sim_slots *slots)
{
	rings_free(slots->rings, slots->count);
	free(slots->sleepy);
	free(slots->is_sleepy);
	memset(slots, 0, sizeof(*slots));
}

struct sim_ring *sim_slots_ring(struct sim_slots *slots, int32_t cpu)
{
	uint32_t tries;

	if (cpu >= 0)
		return (uint32_t)cpu < slots->count && slots->rings[cpu].base
			       ? &slots->rings[cpu]
			       : NULL;
	if (cpu != SIM_CPU_ANY)
		return NULL;
	for (tries = 0; tries < slots->count; tries++) {
		if (++slots->turn >= slots->count)
			slots->turn = 0;
		if (slots->rings[slots->turn].base)
			return &slots->rings[slots->turn];
	}
	return NULL;
}

/* A shared futex, keyed by the file's page: the sleepers of every process wake. */
static void ring_wake(const struct sim_ring *ring)
{
	syscall(SYS_futex, &ring->writer.producer->futex_counter, FUTEX_WAKE, INT_MAX,
		NULL, NULL, 0);
}

void sim_slots_owe_wake(struct sim_slots *slots, const struct sim_ring *ring)
{
	uint32_t cpu = ring->writer.cpu_id;

	if (slots->is_sleepy[cpu])
		return;
	slots->is_sleepy[cpu] = true;
	slots->sleepy[slots->sleepy_count++] = cpu;
}

void sim_slots_wake(struct sim_slots *slots)
{
	while (slots->sleepy_count) {
		uint32_t cpu = slots->sleepy[--slots->sleepy_count];

		slots->is_sleepy[cpu] = false;
		ring_wake(&slots->rings[cpu]);
	}
}

/* Creates a new ring for each existing one; all or none. */
static int rings_renew(struct sim_slots *slots, uint64_t capacity,
		       struct sim_ring **renewed)
{
	struct sim_ring *rings = rings_alloc(slots->count);
	uint32_t i, made = 0, present = 0;
	int rc = 0;

	for (i = 0; i < slots->count; i++)
		present += slots->rings[i].base != NULL;
	if (!rings || !memory_has_rings(present, capacity))
		rc = -ENOMEM;
	for (i = 0; rc == 0 && i < slots->count; i++) {
		if (!slots->rings[i].base)
			continue;
		if (slots->fail_after >= 0 && made++ == slots->fail_after)
			rc = -ENOMEM;
		else
			rc = ring_create(&rings[i], i, capacity,
					 slots->rings[i].writer.generation + 1);
	}
	slots->fail_after = -1;
	if (rc < 0)
		rings_free(rings, slots->count);
	else
		*renewed = rings;
	return rc;
}

int sim_slots_replace(struct sim_slots *slots, uint64_t capacity)
{
	struct sim_ring *old = slots->rings, *rings;
	uint32_t i;
	int rc = rings_renew(slots, capacity, &rings);

	if (rc < 0)
		return rc;
	sim_slots_wake(slots);
	for (i = 0; i < slots->count; i++)
		if (old[i].base)
			kmes_move_all(&rings[i].writer, &old[i].writer);
	/*
	 * An attach must find the new rings before the old ones show their replacement.
	 */
	slots->rings = rings;
	slots->capacity = capacity;
	for (i = 0; i < slots->count; i++)
		if (old[i].base && kmes_ring_retire(&old[i].writer, &rings[i].writer))
			ring_wake(&old[i]);
	rings_free(old, slots->count);
	return 0;
}
