/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* kmes_view.h - copies bytes out of a ring while its writer continues. */
#ifndef KMES_VIEW_H
#define KMES_VIEW_H
#include <errno.h>
#include <stdbool.h>

#include "kmes_abi.h"
#include "kmes_order.h"

/* A ring as a reader sees it. */
struct kmes_ring_view {
	const struct kmes_producer_page *producer;
	const __u8 *data;
	__u64 capacity;
};

/* The result of kmes_ring_copy(). */
struct kmes_ring_span {
	__u64 pos;	 /* of the first valid byte; moves forward when lapped */
	__u64 write_pos; /* the one that bounded the copy */
	__u64 tail_pos;	 /* as loaded last; may be ahead of write_pos for a while */
	__u32 skip;	 /* the first valid byte is buf[skip] */
	__u32 len;	 /* valid bytes from there on; 0: none now */
	bool lapped;	 /* pos had to move */
};

/*
 * Copies up to `size` bytes of [pos, write_pos) to `buf` and discards the bytes that
 * the writer overwrote meanwhile; the rest is consistent (doc/protocol.md, Reading,
 * steps 1 to 7). It starts at an event and may end within one. `pos` must be the
 * position of an event or the end of one.
 *
 * Never blocks and makes no system call. If it is lapped eight times in a row, it
 * returns with span->len 0 and span->pos at the tail. Returns 0, or -EINVAL for
 * positions that no correct writer publishes (more than the capacity between tail and
 * write_pos).
 */
static inline int kmes_ring_copy(const struct kmes_ring_view *v, __u64 pos, void *buf,
				 __u32 size, struct kmes_ring_span *span)
{
	int tries = 8;

	span->lapped = false;
	span->skip = 0;
	span->len = 0;
	do {
		/* Order D, pairs with C. */
		__u64 write_pos = kmes_load_acquire(&v->producer->write_pos);
		/* Order K, pairs with J. */
		__u64 tail_pos = kmes_load_acquire(&v->producer->tail_pos);
		__u64 n;

		if (pos < tail_pos && pos < write_pos) {
			pos = tail_pos;
			span->lapped = true;
			write_pos = kmes_load_acquire(&v->producer->write_pos);
		}
		span->pos = pos;
		span->write_pos = write_pos;
		span->tail_pos = tail_pos;
		if (write_pos <= pos)
			return 0;
		n = write_pos - pos;
		if (n > v->capacity) {
			/* The writer may have moved on between the two loads. */
			tail_pos = kmes_load_acquire(&v->producer->tail_pos);
			if (tail_pos <= pos)
				return -EINVAL;
			continue;
		}
		if (n > size)
			n = size;
		kmes_copy_shared(buf, v->data + (pos & (v->capacity - 1)), n);
		/* Order B, pairs with A: the tail is loaded after the copy. */
		kmes_fence_acquire();
		tail_pos = kmes_load_acquire(&v->producer->tail_pos);
		span->tail_pos = tail_pos;
		if (tail_pos <= pos) {
			span->len = (__u32)n;
			return 0;
		}
		span->lapped = true;
		if (tail_pos - pos < n) {
			span->skip = (__u32)(tail_pos - pos);
			span->len = (__u32)n - span->skip;
			span->pos = tail_pos;
			return 0;
		}
		pos = tail_pos;
		span->pos = pos;
	} while (--tries);
	return 0;
}

#endif
