/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* types.h - events and bytes per event type. */
#ifndef STAT_TYPES_H
#define STAT_TYPES_H
#include <stddef.h>
#include <stdint.h>

struct stat_type {
	char *name; /* not terminated */
	uint16_t len;
	uint64_t hash;
	uint64_t events, bytes;
};

/* Open addressing; an empty entry has no name. */
struct stat_types {
	struct stat_type *table;
	size_t room, count; /* room: 0 or a power of two */
};

/* Adds one event. 0 or -ENOMEM. */
int stat_types_add(struct stat_types *types, const char *name, uint16_t len,
		   uint64_t bytes);

/*
 * The types by events, then bytes, then name; freed by the caller. NULL: out of memory.
 */
const struct stat_type **stat_types_sorted(const struct stat_types *types);

/* Removes all types; fini also frees the table. */
void stat_types_clear(struct stat_types *types);
void stat_types_fini(struct stat_types *types);

#endif
