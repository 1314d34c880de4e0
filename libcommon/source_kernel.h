/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* source_kernel.h - common code of the two sources whose rings belong to a kernel. */
#ifndef KMES_SOURCE_KERNEL_H
#define KMES_SOURCE_KERNEL_H

#include "source.h"

/*
 * Maps the ring of the descriptor `fd` in one call and fills `map`, which owns the
 * descriptor from now on, also on failure [M1].
 */
int kmesp_kernel_map(struct kmes_mapping *map, int fd, uint64_t capacity,
		     struct kmes_error *err);

/*
 * Moves the calling thread to `cpu`, because a kernel emits where the caller runs; -1:
 * does nothing. `pinned` is the CPU of the last call, -1 at first.
 */
int kmesp_kernel_pin(int *pinned, int cpu);

/* Converts records to the entries of a batch. */
void kmesp_kernel_entries(struct kmes_batch_entry *entries,
			  const struct kmes_record *records, uint32_t count);

/* Describes why attaching to `cpu` failed; returns `error`. */
int kmesp_kernel_attach_error(struct kmes_source *src, uint16_t cpu, int error,
			      struct kmes_error *err);

#endif
