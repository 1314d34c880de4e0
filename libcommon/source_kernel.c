// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source_kernel.c - mapping, CPU affinity and batches for rings of a kernel. */
#include "source_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int kmesp_kernel_map(struct kmes_mapping *map, int fd, uint64_t capacity,
		     struct kmes_error *err)
{
	uint8_t *base;

	map->fds[0] = fd;
	if (capacity < KMES_PAGE_SIZE || capacity & (capacity - 1) ||
	    capacity > KMES_CAPACITY_MAX)
		return kmes_error_set(err, -EPROTO,
				      "cpu%u: impossible ring capacity %llu", map->cpu,
				      (unsigned long long)capacity);
	map->length = KMES_MAPPING_SIZE(capacity);
	base = mmap(NULL, map->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		int e = errno;

		/* -EINVAL means only that a slot has no ring. */
		return kmes_error_set(err, e == EINVAL ? -EPROTO : -e,
				      "cpu%u: cannot map ring: %s", map->cpu,
				      strerror(e));
	}
	map->base = base;
	map->view.producer = (const struct kmes_producer_page *)base;
	map->view.data = base + KMES_DATA_OFFSET;
	map->view.capacity = capacity;
	map->need_wake = base + KMES_CONSUMER_OFFSET;
	return 0;
}

int kmesp_kernel_pin(int *pinned, int cpu)
{
	unsigned long mask[1024] = { 0 };

	if (cpu < 0 || cpu == *pinned)
		return 0;
	if ((size_t)cpu >= sizeof(mask) * 8)
		return -EINVAL;
	mask[(size_t)cpu / (8 * sizeof(mask[0]))] |=
		1ul << (size_t)cpu % (8 * sizeof(mask[0]));
	if (sched_setaffinity(0, sizeof(mask), (const cpu_set_t *)mask) < 0)
		return -errno;
	*pinned = cpu;
	return 0;
}

void kmesp_kernel_entries(struct kmes_batch_entry *entries,
			  const struct kmes_record *records, uint32_t count)
{
	uint32_t i;

	memset(entries, 0, count * sizeof(*entries));
	for (i = 0; i < count; i++) {
		entries[i].event_type = (uintptr_t)records[i].type;
		entries[i].event_type_len = records[i].type_len;
		entries[i].payload = (uintptr_t)records[i].payload;
		entries[i].payload_len = records[i].payload_len;
	}
}

int kmesp_kernel_attach_error(struct kmes_source *src, uint16_t cpu, int error,
			      struct kmes_error *err)
{
	if (error == -EINVAL)
		return kmes_error_set(err, error, "cpu%u: no ring", cpu);
	return kmes_error_set(err, error, "cpu%u: cannot attach: %s%s", cpu,
			      strerror(-error),
			      error == -EPERM ? src->ops->attach_hint : "");
}
