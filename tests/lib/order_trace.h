/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * order_trace.h - replaces kmes_order.h: each ordered access is also logged.
 *
 * Wrong memory order does not fail on a machine that is stronger than the model, and one
 * missing fence may show once in days. So tests that include this compare the code's
 * accesses, in order, with the shapes that tests/model proves correct.
 * Include it before any other header, in one .c file of a program.
 */
#ifndef KMES_TESTS_ORDER_TRACE_H
#define KMES_TESTS_ORDER_TRACE_H

#define KMES_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* The accesses so far, each as "what name; ". */
extern char order_log[4096];

/* Forgets names and log. */
void order_reset(void);

/*
 * What an address is called; `size` covers arrays. Accesses to other memory are not
 * logged.
 */
void order_name(const char *name, const void *at, size_t size);

const char *order_find(const volatile void *at);
void order_note(const char *what, const char *name);
void kmes_copy_shared(void *dst, const void *src, size_t n);

#define kmes_load_relaxed(p)                                                             \
	(order_note("load", order_find(p)), __atomic_load_n((p), __ATOMIC_SEQ_CST))
#define kmes_load_acquire(p)                                                             \
	(order_note("acquire", order_find(p)), __atomic_load_n((p), __ATOMIC_SEQ_CST))
/* The value is computed first: it may load. */
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

#endif
