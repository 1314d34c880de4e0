/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_order.h - the ordered accesses and fences of the ring, for kernel and user space.
 *
 * Nothing else in the tree orders memory shared by producer and consumer. Each use names
 * its letter. The pairs, and what each guarantees (doc/protocol.md, Memory ordering):
 *
 *  A  tail_pos store-release, fence_release,     a reader that copied a byte of the new
 *     then the data stores (writer)              lap sees the tail that moved past it:
 *  B  data loads, fence_acquire, then the        torn copies are discarded
 *     second tail_pos load (reader)              (A pairs with B)
 *
 *  C  write_pos store-release (writer)           all bytes below write_pos are complete
 *  D  write_pos load-acquire (reader)            (C pairs with D)
 *
 *  E  write_pos store, fence_full, need_wake     the writer sees the flag, or the reader
 *     load (writer)                              sees the event: no wake-up is lost
 *  F  need_wake store, fence_full, then          (E pairs with F)
 *     futex_counter, write_pos and generation
 *     loads (reader)
 *
 *  G  generation store-release in the old page,  the write_pos loaded after the new
 *     after its last write_pos (replacer, and    generation is final
 *     healer later)                              (G pairs with H)
 *  H  generation load-acquire, then write_pos
 *     load (reader)
 *
 *  I  generation store, fence_full, need_wake    as E and F, for a sleeper on a ring that
 *     load (replacer, and healer later)          is being replaced (I pairs with F)
 *
 *  J  tail_pos store-release (writer)            the event at the tail is complete
 *  K  tail_pos load-acquire before reading       (J pairs with K)
 *     (reader)
 *
 *  L  futex_counter store-release (writer)       a woken reader sees what it was woken
 *  M  futex_counter load-acquire (reader)        for (L pairs with M)
 *
 * need_wake = 0 is a relaxed store: a stale 1 costs one unnecessary wake.
 *
 * The data of a ring are copied with kmes_copy_shared(). Under ThreadSanitizer, which
 * does not support fences, it copies by relaxed atomic words. Otherwise it is memcpy(),
 * which is sound because torn copies are discarded without being looked at (A and B).
 * For KCSAN, it is marked as an intended data race.
 */
#ifndef KMES_ORDER_H
#define KMES_ORDER_H

#ifdef __KERNEL__

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/string.h>

#define kmes_load_relaxed(p) READ_ONCE(*(p))
#define kmes_load_acquire(p) smp_load_acquire(p)
#define kmes_store_relaxed(p, v) WRITE_ONCE(*(p), (v))
#define kmes_store_release(p, v) smp_store_release((p), (v))
#define kmes_fence_acquire() smp_rmb()
#define kmes_fence_release() smp_wmb()
#define kmes_fence_full() smp_mb()
#define kmes_copy_shared(dst, src, n) ((void)data_race(memcpy((dst), (src), (n))))

#else

#include <stddef.h>
#include <string.h>

#define kmes_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define kmes_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define kmes_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define kmes_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#if defined(__SANITIZE_THREAD__)
#define KMES_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KMES_TSAN 1
#endif
#endif

/* gcc warns that ThreadSanitizer ignores fences: harmless, all accesses are atomic. */
#if defined(KMES_TSAN) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void kmes_fence_acquire(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static inline void kmes_fence_release(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void kmes_fence_full(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#if defined(KMES_TSAN) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#ifdef KMES_TSAN
static inline void kmes_copy_shared(void *dst, const void *src, size_t n)
{
	unsigned char *d = (unsigned char *)dst;
	const unsigned char *s = (const unsigned char *)src;

	/* Unaligned words: all that matters is that ThreadSanitizer sees atomics. */
	for (; n >= 8; n -= 8, d += 8, s += 8)
		__atomic_store_n((__UINT64_TYPE__ *)d,
				 __atomic_load_n((const __UINT64_TYPE__ *)s,
						 __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
	for (; n; n--)
		__atomic_store_n(d++, __atomic_load_n(s++, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}
#else
static inline void kmes_copy_shared(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}
#endif

#endif
#endif
