/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ring.h - one ring that is read: a position, private bytes, and what was lost; private
 * to the project.
 *
 * A span of bytes is copied out of shared memory, and events are parsed in that copy
 * only. The head is the next event to be returned. The operations that get the bytes
 * depend on the type of ring: mapped KMES rings (ring_mapped.c), or those of a source
 * that converts its records to events.
 */
#ifndef KMES_RING_READER_H
#define KMES_RING_READER_H

#include <errno.h>

#include "base/clock.h"
#include "source.h"

/* Private bytes at first; they grow to the size of the largest event. */
#define KMES_SPAN_SIZE (256u << 10)

struct kmes_ring_ops {
	/* ring->fd is polled; otherwise the futex of ring->mapped is waited on. */
	bool is_polled;
	/*
	 * Replaces the private bytes by those from the position of the first unread byte
	 * on: 1; 0: nothing now; or -errno with a sentence in ring->err.
	 */
	int (*fill)(struct kmes_ring *ring);
	/* No event in the private bytes: continues at a later position, with a note. */
	void (*recover)(struct kmes_ring *ring);
	/* The position up to which there are events now. */
	uint64_t (*newest)(const struct kmes_ring *ring);
	/* After need_wake = 1 and the fence: is there a reason not to sleep? */
	bool (*has_news)(const struct kmes_ring *ring);
	void (*close)(struct kmes_ring *ring);
};

/* The state of a mapped KMES ring (ring_mapped.c, and wait.c for its futex). */
struct kmes_ring_mapped {
	struct kmes_mapping map;
	bool is_armed; /* this reader has set need_wake, not cleared it */
	bool stuck_noted;
	uint64_t stop_pos;	 /* the end of a snapshot, else UINT64_MAX */
	uint64_t odd_generation; /* in the page, but attaching found no newer ring */
	uint64_t stuck_tail, stuck_write, stuck_since_ns;
};

/* Events below `pos` were in the ring at `ns` of CLOCK_MONOTONIC. */
struct kmes_ring_mark {
	uint64_t pos, ns;
};
#define KMES_RING_MARKS 4

/* The place of the ring among the others; only reader.c uses it. */
struct kmes_ring_merge {
	struct kmes_ring_mark marks[KMES_RING_MARKS];
	unsigned int mark_count;
	uint64_t late_pos; /* events below it have been held long enough */
};

struct kmes_ring {
	const struct kmes_ring_ops *ops;
	struct kmes_source *src;
	uint16_t cpu;

	/* Private bytes: buf[off..len) is unread, buf[0] is at position pos. */
	uint8_t *buf;
	uint32_t size, off, len;
	uint64_t pos;
	uint64_t known; /* there are events up to this position at least */

	struct kmes_event head; /* valid if has_head; starts at buf[off] */
	bool has_head;
	bool has_last; /* last_seq is known: a gap after it is a loss */
	bool has_loss; /* sequences from loss_first to before the head's are lost */
	bool has_note;
	bool has_resize;
	bool payload_is_trusted; /* payloads are made by the library */
	bool ended;		 /* replaced, and the source has ended: it is complete */
	uint64_t last_seq;	 /* of the head, or of the event before it */
	uint64_t loss_first;
	uint64_t skip_until; /* events below this position are skipped */
	struct kmes_resize resize;
	struct kmes_error err; /* the note, or why fill failed */

	struct kmes_ring_mapped mapped; /* KMES rings */
	int fd;				/* other types: polled if is_polled, */
	void *priv;			/* and their state */

	struct kmes_ring_merge merge;
};

/*
 * Opens the ring of `cpu` at its oldest event, or after its newest one. 0, -EINVAL: the
 * slot has no ring, or another -errno.
 */
int kmesp_ring_open(struct kmes_ring *ring, struct kmes_source *src, uint16_t cpu,
		    const struct kmes_reader_options *options, struct kmes_error *err);
void kmesp_ring_close(struct kmes_ring *ring);

/* The ring_open operation of sources whose KMES rings can be mapped (ring_mapped.c). */
int kmesp_ring_open_mapped(struct kmes_ring *ring,
			   const struct kmes_reader_options *options,
			   struct kmes_error *err);

/* Makes the head ready: 1; 0: nothing now; -errno with a sentence in ring->err. */
int kmesp_ring_peek(struct kmes_ring *ring);

/* The same from the private bytes only: 1 or 0. */
int kmesp_ring_peek_private(struct kmes_ring *ring);

/*
 * Clears need_wake: there is data, or the sleep ended (doc/protocol.md, Sleeping, step
 * 6).
 * A flag that remains set would cost the writer a wake per event.
 */
static inline void kmesp_ring_disarm(struct kmes_ring *ring)
{
	if (!ring->mapped.is_armed)
		return;
	/* Relaxed: a stale 1 costs the writer one unnecessary wake. */
	kmes_store_relaxed(ring->mapped.map.need_wake, 0);
	ring->mapped.is_armed = false;
}

/*
 * kmes_event_parse() for an event that lies within `max` published bytes: one that
 * reaches further is not an event, because events are published as a whole.
 */
static inline int kmesp_event_parse(struct kmes_event *event, const void *buf, size_t len,
				    uint64_t max)
{
	int rc = kmes_event_parse(event, buf, len, max);

	return event->size > max ? -EBADMSG : rc;
}

/* Advances past the head. */
static inline void kmesp_ring_pop(struct kmes_ring *ring)
{
	ring->off += ring->head.size;
	ring->has_head = false;
}

/* The position of the first unread byte. */
static inline uint64_t kmesp_ring_position(const struct kmes_ring *ring)
{
	return ring->pos + ring->off;
}

#endif
