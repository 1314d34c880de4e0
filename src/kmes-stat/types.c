// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* types.c - hash table of event types. */
#include "types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, 64 bits: its two constants are the published ones. */
static uint64_t hash_of(const char *name, uint16_t len)
{
	uint64_t h = 0xcbf29ce484222325u;
	uint16_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 0x100000001b3u;
	return h;
}

static struct stat_type *find(const struct stat_types *types, const char *name,
			      uint16_t len, uint64_t hash)
{
	size_t i = hash & (types->room - 1);

	for (;; i = (i + 1) & (types->room - 1)) {
		struct stat_type *t = &types->table[i];

		if (!t->name)
			return t;
		if (t->hash == hash && t->len == len && !memcmp(t->name, name, len))
			return t;
	}
}

/* Keeps at least half of the table empty. */
static int grow(struct stat_types *types)
{
	struct stat_types next = { .room = types->room ? types->room * 2 : 64 };
	size_t i;

	next.table = calloc(next.room, sizeof(*next.table));
	if (!next.table)
		return -ENOMEM;
	for (i = 0; i < types->room; i++) {
		const struct stat_type *t = &types->table[i];

		if (t->name)
			*find(&next, t->name, t->len, t->hash) = *t;
	}
	next.count = types->count;
	free(types->table);
	*types = next;
	return 0;
}

int stat_types_add(struct stat_types *types, const char *name, uint16_t len,
		   uint64_t bytes)
{
	uint64_t hash = hash_of(name, len);
	struct stat_type *t;

	if (types->count * 2 >= types->room && grow(types) < 0)
		return -ENOMEM;
	t = find(types, name, len, hash);
	if (!t->name) {
		t->name = malloc(len ? len : 1);
		if (!t->name)
			return -ENOMEM;
		memcpy(t->name, name, len);
		t->len = len;
		t->hash = hash;
		types->count++;
	}
	t->events++;
	t->bytes += bytes;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct stat_type *x = *(const struct stat_type *const *)a;
	const struct stat_type *y = *(const struct stat_type *const *)b;
	uint16_t common = x->len < y->len ? x->len : y->len;
	int rc;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	rc = memcmp(x->name, y->name, common);
	return rc ? rc : (int)x->len - (int)y->len;
}

const struct stat_type **stat_types_sorted(const struct stat_types *types)
{
	const struct stat_type **sorted =
		calloc(types->count + 1, sizeof(struct stat_type *));
	size_t i, n = 0;

	if (!sorted)
		return NULL;
	for (i = 0; i < types->room; i++)
		if (types->table[i].name)
			sorted[n++] = &types->table[i];
	qsort(sorted, n, sizeof(struct stat_type *), compare);
	return sorted;
}

void stat_types_clear(struct stat_types *types)
{
	size_t i;

	for (i = 0; i < types->room; i++)
		free(types->table[i].name);
	if (types->room)
		memset(types->table, 0, types->room * sizeof(*types->table));
	types->count = 0;
}

void stat_types_fini(struct stat_types *types)
{
	stat_types_clear(types);
	free(types->table);
	memset(types, 0, sizeof(*types));
}
