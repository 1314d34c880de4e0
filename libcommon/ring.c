// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ring.c - parses a ring's private bytes: which events are accepted, what is lost
 * (doc/protocol.md, Reading and Loss).
 */
#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Allocates private memory of `size` bytes; the bytes in the old one are discarded. */
static int ring_set_size(struct kmes_ring *ring, uint32_t size)
{
	void *buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (buf == MAP_FAILED)
		return kmes_error_set(&ring->err, -ENOMEM,
				      "cpu%u: out of memory for an event of %u bytes",
				      ring->cpu, size);
	if (ring->buf)
		munmap(ring->buf, ring->size);
	ring->pos += ring->off;
	ring->off = 0;
	ring->len = 0;
	ring->buf = buf;
	ring->size = size;
	return 0;
}

int kmesp_ring_open(struct kmes_ring *ring, struct kmes_source *src, uint16_t cpu,
		    const struct kmes_reader_options *options, struct kmes_error *err)
{
	int rc;

	memset(ring, 0, sizeof(*ring));
	ring->src = src;
	ring->cpu = cpu;
	ring->fd = -1;
	rc = src->ops->ring_open(ring, options, err);
	if (rc < 0)
		return rc;
	rc = ring_set_size(ring, KMES_SPAN_SIZE);
	/* Skip what was before the start now, so that any later gap is a loss. */
	if (rc == 0 && ring->skip_until)
		rc = kmesp_ring_peek(ring);
	if (rc < 0) {
		if (err)
			*err = ring->err;
		kmesp_ring_close(ring);
		return rc;
	}
	return 0;
}

void kmesp_ring_close(struct kmes_ring *ring)
{
	if (ring->ops)
		ring->ops->close(ring);
	if (ring->buf)
		munmap(ring->buf, ring->size);
	ring->buf = NULL;
	ring->ops = NULL;
}

/*
 * Decides whether the parsed event becomes the head. A sequence not above the last one
 * was returned before, or never assigned; after a replacement, this is how the reader
 * finds its place [R5].
 */
static bool ring_accept(struct kmes_ring *ring)
{
	const struct kmes_event *e = &ring->head;

	if (e->type_len == 0 || e->seq <= ring->last_seq)
		return false;
	if (kmesp_ring_position(ring) < ring->skip_until) {
		ring->last_seq = e->seq;
		ring->has_last = true;
		return false;
	}
	if (ring->has_last && e->seq - ring->last_seq > 1 && !ring->has_loss) {
		ring->loss_first = ring->last_seq + 1;
		ring->has_loss = true;
	}
	ring->last_seq = e->seq;
	ring->has_last = true;
	return true;
}

/*
 * Looks for the next head in the private bytes: 1; 0: more bytes are needed, at least
 * ring->head.size if the last event is incomplete; or -EBADMSG.
 */
static int ring_parse(struct kmes_ring *ring)
{
	while (ring->off < ring->len) {
		uint64_t max = ring->known - kmesp_ring_position(ring);
		int rc = kmesp_event_parse(&ring->head, ring->buf + ring->off,
					   ring->len - ring->off, max);

		if (rc <= 0)
			return rc;
		if (ring->head.cpu != ring->cpu)
			return -EBADMSG;
		if (ring_accept(ring)) {
			ring->head.payload_is_trusted = ring->payload_is_trusted;
			ring->has_head = true;
			return 1;
		}
		ring->off += ring->head.size;
	}
	ring->head.size = 0;
	return 0;
}

int kmesp_ring_peek_private(struct kmes_ring *ring)
{
	return ring->has_head ? 1 : ring_parse(ring) > 0;
}

int kmesp_ring_peek(struct kmes_ring *ring)
{
	while (!ring->has_head) {
		int rc = ring_parse(ring);

		if (rc > 0)
			break;
		if (rc < 0)
			ring->ops->recover(ring);
		else if (ring->head.size > ring->size &&
			 (rc = ring_set_size(ring, (ring->head.size + 4095) & ~4095u)) <
				 0)
			return rc;
		rc = ring->ops->fill(ring);
		if (rc <= 0)
			return rc;
	}
	return 1;
}
