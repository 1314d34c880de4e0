/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* source_kernel.h - what the two sources whose rings a kernel owns have in common. */
#ifndef KMES_SOURCE_KERNEL_H
#define KMES_SOURCE_KERNEL_H

#include "source.h"

/*
 * Maps the ring behind `fd` in one call and fills `map`, which takes over the descriptor
 * also on failure [M1].
 */
int kmesp_kernel_map(struct kmes_mapping *map, int fd, uint64_t capacity,
		     struct kmes_error *err);

/*
 * Moves the calling thread to `cpu`, since a kernel emits where the caller runs; -1 leaves
 * it alone. `pinned` remembers where it is between calls (-1 at first).
 */
int kmesp_kernel_pin(int *pinned, int cpu);

/* Spells records as a batch's entries. */
void kmesp_kernel_entries(struct kmes_batch_entry *entries,
			  const struct kmes_record *records, uint32_t count);

/* Why attaching to `cpu` failed, for a user; returns `error`. */
int kmesp_kernel_attach_error(struct kmes_source *src, uint16_t cpu, int error,
			      struct kmes_error *err);

#endif
