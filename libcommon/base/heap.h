/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * heap.h - a binary min-heap: what merges queues into one order.
 *
 * The caller owns the array and ensures that it has room. Entries carry their keys, so a
 * comparison follows no pointer.
 */
#ifndef KMES_HEAP_H
#define KMES_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmes_heap_entry {
	uint64_t key;
	uint64_t tie; /* decides between equal keys */
	void *item;
};

struct kmes_heap {
	struct kmes_heap_entry *entries; /* the smallest one first */
	size_t len;
};

static inline bool kmesp_heap_is_before(const struct kmes_heap_entry *a,
					const struct kmes_heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

/* Restores the order after the key of entry `i` has grown. */
static inline void kmesp_heap_down(struct kmes_heap *heap, size_t i)
{
	struct kmes_heap_entry *e = heap->entries, moved = e[i];
	size_t child;

	while ((child = 2 * i + 1) < heap->len) {
		if (child + 1 < heap->len &&
		    kmesp_heap_is_before(&e[child + 1], &e[child]))
			child++;
		if (!kmesp_heap_is_before(&e[child], &moved))
			break;
		e[i] = e[child];
		i = child;
	}
	e[i] = moved;
}

/* Establishes the order of entries that were stored in any order: O(len). */
static inline void kmesp_heap_build(struct kmes_heap *heap)
{
	size_t i;

	for (i = heap->len / 2; i-- > 0;)
		kmesp_heap_down(heap, i);
}

static inline void kmesp_heap_push(struct kmes_heap *heap, struct kmes_heap_entry entry)
{
	struct kmes_heap_entry *e = heap->entries;
	size_t i = heap->len++;

	while (i && kmesp_heap_is_before(&entry, &e[(i - 1) / 2])) {
		e[i] = e[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	e[i] = entry;
}

/* Takes the smallest entry out of a heap that is not empty. */
static inline struct kmes_heap_entry kmesp_heap_pop(struct kmes_heap *heap)
{
	struct kmes_heap_entry first = heap->entries[0];

	heap->entries[0] = heap->entries[--heap->len];
	if (heap->len)
		kmesp_heap_down(heap, 0);
	return first;
}

#endif
