/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * order_trace.h - takes the place of kmes_order.h: each ordered access is also written down.
 *
 * Memory order cannot be seen to fail on a machine that is kinder than the model, and one
 * missing fence shows once in days. So the tests that include this compare the accesses
 * that the code makes, in their order, with the shapes that tests/model proves right.
 * Include it before any other header, in one .c file of a program.
 */
#ifndef KMES_TESTS_ORDER_TRACE_H
#define KMES_TESTS_ORDER_TRACE_H

#define KMES_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What an address is called; `size` covers arrays. */
struct order_name {
	const char *name;
	const void *at;
	size_t size;
};

static struct order_name order_names[16];
static char order_log[4096];
static const char *order_last;

/* Forgets names and log. */
static inline void order_reset(void)
{
	memset(order_names, 0, sizeof(order_names));
	order_log[0] = '\0';
	order_last = "";
}

static inline void order_name(const char *name, const void *at, size_t size)
{
	struct order_name *n = order_names;

	while (n->name)
		n++;
	*n = (struct order_name){ name, at, size };
}

/* The name of shared memory, or NULL for anything private. */
static inline const char *order_find(const volatile void *at)
{
	const struct order_name *n;

	for (n = order_names; n->name; n++) {
		uintptr_t distance = (uintptr_t)at - (uintptr_t)n->at;

		if (distance < n->size)
			return n->name;
	}
	return NULL;
}

/* Appends "what name; "; several accesses to data in a row are one. */
static inline void order_note(const char *what, const char *name)
{
	size_t len = strlen(order_log);

	if (!name || (strcmp(name, "data") == 0 && order_last == what))
		return;
	order_last = strcmp(name, "data") == 0 ? what : "";
	snprintf(order_log + len, sizeof(order_log) - len, "%s%s%s; ", what,
		 name[0] ? " " : "", name);
}

#define kmes_load_relaxed(p)                                                             \
	(order_note("load", order_find(p)), __atomic_load_n((p), __ATOMIC_SEQ_CST))
#define kmes_load_acquire(p)                                                             \
	(order_note("acquire", order_find(p)), __atomic_load_n((p), __ATOMIC_SEQ_CST))
/* The value is worked out first: it may load. */
#define ORDER_STORE(what, p, v)                                                          \
	({                                                                               \
		__typeof__(*(p)) value_ = (v);                                           \
		order_note(what, order_find(p));                                         \
		__atomic_store_n((p), value_, __ATOMIC_SEQ_CST);                         \
	})
#define kmes_store_relaxed(p, v) ORDER_STORE("store", p, v)
#define kmes_store_release(p, v) ORDER_STORE("release", p, v)
#define kmes_fence_acquire() order_note("fence-acquire", "")
#define kmes_fence_release() order_note("fence-release", "")
#define kmes_fence_full() order_note("fence-full", "")

static inline void kmes_copy_shared(void *dst, const void *src, size_t n)
{
	order_note("store", order_find(dst));
	order_note("load", order_find(src));
	memcpy(dst, src, n);
}

#endif
