/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ring.h - one ring being read: a position, private bytes, and what was lost on the way;
 * private to the library.
 *
 * A ring copies a span of bytes out of shared memory and takes events apart in that copy
 * only. Its head is the next event to be handed out. Bytes come from the ring's make:
 * mapped KMES rings (ring_mapped.c), or a source that converts its records to events.
 */
#ifndef KMES_RING_READER_H
#define KMES_RING_READER_H

#include <errno.h>

#include "base/clock.h"
#include "source.h"

/* Private bytes at the start; grows to the largest event seen. */
#define KMES_SPAN_SIZE (256u << 10)

struct kmes_ring_ops {
	/* ring->fd shows that there are events; otherwise the futex of ring->mapped does. */
	bool is_polled;
	/*
	 * Replaces the private bytes by further ones that start at the first unread byte's
	 * position: 1; 0: nothing now; or -errno with a sentence in ring->err.
	 */
	int (*fill)(struct kmes_ring *ring);
	/* The private bytes hold no event: goes to a later position, leaves a note. */
	void (*recover)(struct kmes_ring *ring);
	/* Up to which position events are there by now. */
	uint64_t (*newest)(const struct kmes_ring *ring);
	/* After need_wake was set and fenced: is there anything to do but sleep? */
	bool (*has_news)(const struct kmes_ring *ring);
	void (*close)(struct kmes_ring *ring);
};

/* The state of a mapped KMES ring (ring_mapped.c, and wait.c for its futex). */
struct kmes_ring_mapped {
	struct kmes_mapping map;
	bool is_armed; /* need_wake was set by us, and not cleared since */
	bool stuck_noted;
	uint64_t stop_pos;	 /* the end of a snapshot, else UINT64_MAX */
	uint64_t odd_generation; /* shown, but attaching found nothing newer */
	uint64_t stuck_tail, stuck_write, stuck_since_ns;
};

/* Events below `pos` were there at `ns` of CLOCK_MONOTONIC. */
struct kmes_ring_mark {
	uint64_t pos, ns;
};
#define KMES_RING_MARKS 4

/* The place of the ring among the others; only reader.c uses it. */
struct kmes_ring_merge {
	struct kmes_ring_mark marks[KMES_RING_MARKS];
	unsigned int mark_count;
	uint64_t late_pos; /* events below it were held long enough */
};

struct kmes_ring {
	const struct kmes_ring_ops *ops;
	struct kmes_source *src;
	uint16_t cpu;

	/* Private bytes: buf[off..len) is unread, buf[0] stands at position pos. */
	uint8_t *buf;
	uint32_t size, off, len;
	uint64_t pos;
	uint64_t known; /* events are there up to this position, as far as was seen */

	struct kmes_event head; /* valid if has_head; stands at buf[off] */
	bool has_head;
	bool has_last; /* last_seq is known: a step over it is a loss */
	bool has_loss; /* loss_first up to the head's sequence are lost */
	bool has_note;
	bool has_resize;
	bool payload_is_trusted; /* payloads are the library's own */
	bool ended;	   /* replaced, and the source is gone: nothing more comes */
	uint64_t last_seq; /* of the head, or of the event before it */
	uint64_t loss_first;
	uint64_t skip_until; /* events below this position are passed over */
	struct kmes_resize resize;
	struct kmes_error err; /* the note, or why fill failed */

	struct kmes_ring_mapped mapped; /* KMES rings */
	int fd;				/* other types: polled if is_polled, */
	void *priv;			/* and their state */

	struct kmes_ring_merge merge;
};

/*
 * Opens the ring of `cpu` at its oldest event, or behind its newest one. -EINVAL: no
 * such ring; other -errno.
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

/* As kmesp_ring_peek, from the private bytes alone. */
int kmesp_ring_peek_private(struct kmes_ring *ring);

/*
 * Events are there, or a sleep is over: the writer need not wake us any more (2.4.3 step
 * 6). A flag left set would cost it a system call an event.
 */
static inline void kmesp_ring_disarm(struct kmes_ring *ring)
{
	if (!ring->mapped.is_armed)
		return;
	/* A stale 1 costs the writer one needless wake. */
	kmes_store_relaxed(ring->mapped.map.need_wake, 0);
	ring->mapped.is_armed = false;
}

/*
 * kmes_event_parse() for an event that lies within `max` published bytes: one that reaches
 * further is not an event, because events are published as a whole.
 */
static inline int kmesp_event_parse(struct kmes_event *event, const void *buf, size_t len,
				    uint64_t max)
{
	int r = kmes_event_parse(event, buf, len, max);

	return event->size > max ? -EBADMSG : r;
}

/* Passes the head. */
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
