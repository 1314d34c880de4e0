// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ring_walk.c - goes over the events of a mapped ring without being a consumer. */
#include "ring_walk.h"

#include <errno.h>
#include <stdlib.h>

void kmesp_ring_walk_start(struct kmes_ring_walk *w, const struct kmes_ring_view *view)
{
	w->view = *view;
	w->off = 0;
	w->len = 0;
	/* Order K, pairs with J. */
	w->pos = kmes_load_acquire(&view->producer->tail_pos);
}

void kmesp_ring_walk_free(struct kmes_ring_walk *w)
{
	free(w->buf);
	w->buf = NULL;
	w->size = 0;
}

static int walk_grow(struct kmes_ring_walk *w, uint32_t size)
{
	void *buf;

	if (size < KMES_SPAN_SIZE)
		size = KMES_SPAN_SIZE;
	buf = realloc(w->buf, size);
	if (!buf)
		return -ENOMEM;
	w->buf = buf;
	w->size = size;
	return 0;
}

/* Replaces the private bytes by at least `least` from walk->pos on, none past `end`. */
static int walk_fill(struct kmes_ring_walk *w, uint64_t end, uint32_t least)
{
	struct kmes_ring_span span;
	int rc = least > w->size ? walk_grow(w, least) : 0;

	if (rc < 0)
		return rc;
	if (kmes_ring_copy(&w->view, w->pos, w->buf,
			   end - w->pos < w->size ? (uint32_t)(end - w->pos) : w->size,
			   &span) < 0)
		return -EBADMSG;
	w->pos = span.pos;
	w->off = span.skip;
	w->len = span.skip + span.len;
	if (span.lapped)
		return -EAGAIN;
	/* Less: the write position went backwards. */
	return span.len < least ? -EBADMSG : 0;
}

int kmesp_ring_walk_next(struct kmes_ring_walk *w, uint64_t end, struct kmes_event *e)
{
	int rc = 0;

	while (rc == 0 && w->pos < end) {
		rc = kmesp_event_parse(e, w->buf + w->off, w->len - w->off, end - w->pos);
		if (rc == 0)
			rc = walk_fill(w, end, e->size);
	}
	if (rc > 0) {
		w->off += e->size;
		w->pos += e->size;
	}
	return rc;
}
