/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * copied.h - counts what the ring's code copies. Included before the ring's headers, it
 * replaces kmes_copy_shared by a counter.
 */
#ifndef KMES_TESTS_COPIED_H
#define KMES_TESTS_COPIED_H

#include <stddef.h>
#include <stdint.h>

#include "kmes_order.h"

/* Work that the kernel does with interrupts off. */
struct copied {
	uint64_t sizes; /* of old events that were read */
	uint64_t bytes; /* of types and payloads that were copied */
};

extern struct copied copied;

void copied_reset(void);
void copied_count(void *dst, const void *src, size_t n);

#define kmes_copy_shared copied_count

#endif
