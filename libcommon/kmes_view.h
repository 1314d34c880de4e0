/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* kmes_view.h - copies bytes out of a ring that somebody else is writing. */
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

/* What kmes_ring_copy found. */
struct kmes_ring_span {
	__u64 pos;	 /* where the copied bytes start; moves forward when lapped */
	__u64 write_pos; /* the one that bounded the copy */
	__u64 tail_pos;	 /* as seen last; may be ahead of write_pos for a while */
	__u32 skip;	 /* the copy's first byte of value stands at buf + skip */
	__u32 len;	 /* valid bytes from there; 0: empty for now */
	bool lapped;	 /* pos had to move */
};

/*
 * Copies up to `size` bytes of [pos, write_pos) into `buf` and throws away what the
 * writer overtook meanwhile, so that what is left is whole and private (2.4.1). Starts
 * at an event, may end within one. Never blocks; tries again while it is lapped, which
 * a reader slower than the writer over `tries` rounds ends with len 0 and pos at the
 * tail. Positions that no sound writer publishes (more than capacity between tail and
 * write_pos) give -EINVAL.
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
			/* The writer may have gone on between the two loads. */
			tail_pos = kmes_load_acquire(&v->producer->tail_pos);
			if (tail_pos <= pos)
				return -EINVAL;
			continue;
		}
		if (n > size)
			n = size;
		kmes_copy_shared(buf, v->data + (pos & (v->capacity - 1)), n);
		/* Order B, pairs with A: the copy is done before the tail is looked at. */
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
