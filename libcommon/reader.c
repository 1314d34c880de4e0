// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reader.c - all rings of a source in one order.
 *
 * By time: the rings that have a head are in a heap, by its timestamp. The smallest may
 * be returned when no ring without a head can still bring a smaller one. The clock
 * shows that: it is read first, then a ring is found empty, so events that appear there
 * later were stamped later, except for the time between stamp and publication, for
 * which SLACK_NS is allowed. No event is held longer than HOLD_NS, whatever its stamp,
 * so a clock that was stepped delays nothing; the event is then returned as if it had
 * the watermark's time. Within a ring the order is always that of the sequences.
 */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slots.h"

/* A stamp may be this much older than the publication of the event. */
#define SLACK_NS 1000000ull
/* No event is held longer than this, in CLOCK_MONOTONIC. */
#define HOLD_NS 20000000ull
#define MARK_NS 5000000ull
_Static_assert(HOLD_NS / MARK_NS == KMES_RING_MARKS, "marks younger than HOLD_NS");
/* Idle rings are checked after this many events of the others. */
#define LOOK_EVERY 1024u

/* ---- rings ---- */

/* What a look at a ring found besides a head. Rare, so kept off the path of events. */
static __attribute__((cold)) void reader_note(struct kmes_reader *rd,
					      struct kmes_ring *ring, int result)
{
	rd->pending |= ring->has_note | ring->has_resize;
	rd->source_gone |= ring->ended;
	/* A new ring has other positions. */
	if (ring->has_resize)
		ring->merge.mark_count = ring->merge.late_pos = 0;
	if (result < 0)
		rd->err = ring->err;
}

/* kmesp_ring_peek(), noting what else the ring has to report. */
static int reader_peek(struct kmes_reader *rd, struct kmes_ring *ring)
{
	int rc = kmesp_ring_peek(ring);

	if (rc < 0 || ring->has_note | ring->has_resize | ring->ended)
		reader_note(rd, ring, rc);
	return rc;
}

/* The place of the ring's head: events that were held long enough are due at once. */
static struct kmes_heap_entry ring_entry(const struct kmes_reader *rd,
					 struct kmes_ring *ring)
{
	uint64_t key = ring->head.ts_ns;

	if (kmesp_ring_position(ring) < ring->merge.late_pos && key > rd->watermark_ns)
		key = rd->watermark_ns;
	return (struct kmes_heap_entry){ .key = key, .tie = ring->cpu, .item = ring };
}

/*
 * Finds the events that have been in the ring for nearly HOLD_NS: those below a mark of
 * that age. A new mark is set every MARK_NS, which is how long an event may wait for
 * one.
 */
static void ring_set_late(struct kmes_ring *ring, uint64_t now_ns)
{
	struct kmes_ring_mark *m = ring->merge.marks;

	while (ring->merge.mark_count && now_ns - m[0].ns >= HOLD_NS - MARK_NS) {
		ring->merge.late_pos = m[0].pos;
		ring->merge.mark_count--;
		memmove(m, m + 1, ring->merge.mark_count * sizeof(*m));
	}
	if (ring->merge.mark_count && now_ns - m[ring->merge.mark_count - 1].ns < MARK_NS)
		return;
	m[ring->merge.mark_count].pos = ring->ops->newest(ring);
	m[ring->merge.mark_count++].ns = now_ns;
}

/* Checks the idle rings and moves the watermark. 0 or -errno. */
static int reader_look(struct kmes_reader *rd)
{
	/* The clock first: what appears in an empty ring after this has a later stamp. */
	uint64_t now = kmesp_clock_ns(CLOCK_REALTIME);
	uint64_t mono = kmesp_clock_ns(CLOCK_MONOTONIC);
	struct kmes_heap *heap = &rd->heap;
	size_t i;

	rd->until_look = LOOK_EVERY;
	for (i = 0; i < rd->idle_len;) {
		int rc = reader_peek(rd, rd->idle[i]);

		if (rc < 0)
			return rc;
		if (rc > 0) {
			heap->entries[heap->len++].item = rd->idle[i];
			rd->idle[i] = rd->idle[--rd->idle_len];
		} else {
			i++;
		}
	}
	rd->watermark_ns = now - SLACK_NS;
	for (i = 0; i < heap->len; i++) {
		struct kmes_ring *ring = heap->entries[i].item;

		ring_set_late(ring, mono);
		heap->entries[i] = ring_entry(rd, ring);
	}
	kmesp_heap_build(heap);
	return 0;
}

/* Advances past the event that was returned last. 0 or -errno. */
static int reader_advance_time(struct kmes_reader *rd)
{
	struct kmes_ring *ring = rd->current;
	int rc;

	rd->current = NULL;
	kmesp_ring_pop(ring);
	rc = reader_peek(rd, ring);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		kmesp_heap_pop(&rd->heap);
		rd->idle[rd->idle_len++] = ring;
		return 0;
	}
	rd->heap.entries[0] = ring_entry(rd, ring);
	kmesp_heap_down(&rd->heap, 0);
	return 0;
}

static bool reader_is_top_due(const struct kmes_reader *rd)
{
	if (!rd->heap.len)
		return false;
	return !rd->idle_len || rd->snapshot ||
	       rd->heap.entries[0].key <= rd->watermark_ns;
}

/* The ring whose head is next: 1, 0 or -errno. */
static int reader_next_by_time(struct kmes_reader *rd, struct kmes_ring **ring)
{
	int rc;

	if (!rd->until_look || !reader_is_top_due(rd)) {
		rc = reader_look(rd);
		if (rc < 0)
			return rc;
		if (!reader_is_top_due(rd))
			return 0;
	}
	rd->until_look--;
	*ring = rd->heap.entries[0].item;
	return 1;
}

/* The same by CPU: the private bytes of each ring in turn, at most one round. */
static int reader_next_by_cpu(struct kmes_reader *rd, struct kmes_ring **ring)
{
	unsigned int i;

	if (kmesp_ring_peek_private(&rd->rings[rd->turn])) {
		*ring = &rd->rings[rd->turn];
		return 1;
	}
	for (i = 0; i < rd->ring_count; i++) {
		int rc;

		rd->turn = (rd->turn + 1) % rd->ring_count;
		rc = reader_peek(rd, &rd->rings[rd->turn]);
		if (rc < 0)
			return rc;
		if (rc > 0) {
			*ring = &rd->rings[rd->turn];
			return 1;
		}
	}
	return 0;
}

/* ---- items ---- */

/* A note or a resize that some ring has to report: 1 or 0. */
static int reader_report_pending(struct kmes_reader *rd, struct kmes_item *item)
{
	unsigned int i;

	for (i = 0; i < rd->ring_count; i++) {
		struct kmes_ring *ring = &rd->rings[i];

		if (ring->has_note) {
			ring->has_note = false;
			rd->err = ring->err;
			item->kind = KMES_ITEM_NOTE;
			item->note = rd->err.text;
			return 1;
		}
		if (ring->has_resize) {
			ring->has_resize = false;
			item->kind = KMES_ITEM_RESIZE;
			item->resize = ring->resize;
			return 1;
		}
	}
	rd->pending = false;
	return 0;
}

static void reader_give(struct kmes_reader *rd, struct kmes_ring *ring,
			struct kmes_item *item)
{
	if (ring->has_loss) {
		ring->has_loss = false;
		item->kind = KMES_ITEM_LOSS;
		item->loss.cpu = ring->cpu;
		item->loss.first = ring->loss_first;
		item->loss.last = ring->head.seq - 1;
		item->loss.ts_ns = ring->head.ts_ns;
		return;
	}
	item->kind = KMES_ITEM_EVENT;
	item->event = &ring->head;
	rd->current = ring;
	rd->events++;
}

/* There is nothing more: for now, or at all. */
static int reader_end(const struct kmes_reader *rd)
{
	if (rd->snapshot)
		return -ENODATA;
	return rd->source_gone && !rd->heap.len ? -ESHUTDOWN : 0;
}

int kmes_reader_next(struct kmes_reader *rd, struct kmes_item *item)
{
	struct kmes_ring *ring;
	bool gone = rd->source_gone;
	int rc = 0;

	if (rd->current && rd->order == KMES_ORDER_CPU) {
		kmesp_ring_pop(rd->current);
		rd->current = NULL;
	} else if (rd->current) {
		rc = reader_advance_time(rd);
		if (rc < 0)
			return rc;
	}
	if (rd->pending && reader_report_pending(rd, item))
		return 1;
	rc = rd->order == KMES_ORDER_CPU ? reader_next_by_cpu(rd, &ring)
					 : reader_next_by_time(rd, &ring);
	if (rc < 0)
		return rc;
	if (rd->pending && reader_report_pending(rd, item))
		return 1;
	if (rc > 0) {
		reader_give(rd, ring, item);
		return 1;
	}
	/* Only a check that began after the source had ended is the last one. */
	return gone || rd->snapshot ? reader_end(rd) : 0;
}

const char *kmes_reader_error(const struct kmes_reader *rd)
{
	return rd->err.text;
}

uint64_t kmes_reader_events(const struct kmes_reader *rd)
{
	return rd->events;
}

unsigned int kmes_reader_rings(const struct kmes_reader *rd)
{
	return rd->ring_count;
}

bool kmes_reader_has_cpu(const struct kmes_reader *rd, uint16_t cpu)
{
	unsigned int i;

	for (i = 0; i < rd->ring_count; i++)
		if (rd->rings[i].cpu == cpu)
			return true;
	return false;
}

/* ---- open and close ---- */

static int reader_open_ring(void *ring, struct kmes_source *src, uint16_t cpu,
			    const void *options, struct kmes_error *err)
{
	return kmesp_ring_open(ring, src, cpu, options, err);
}

static int reader_open_rings(struct kmes_reader *rd,
			     const struct kmes_reader_options *options,
			     struct kmes_error *err)
{
	struct kmes_slots slots = {
		.open = reader_open_ring,
		.arg = options,
		.size = sizeof(*rd->rings),
		.cpus = options->cpus,
	};
	int rc = kmesp_slots_open(&slots, rd->src, err);

	rd->rings = slots.objects;
	rd->ring_count = slots.count;
	return rc;
}

/* What ordering the rings and waiting for them requires. */
static int reader_alloc(struct kmes_reader *rd, struct kmes_error *err)
{
	int rc;

	rd->heap.entries = calloc(rd->ring_count, sizeof(*rd->heap.entries));
	rd->idle = calloc(rd->ring_count, sizeof(*rd->idle));
	if (!rd->heap.entries || !rd->idle)
		return kmes_error_set(err, -ENOMEM, "out of memory for %u rings",
				      rd->ring_count);
	rc = kmesp_wait_new(&rd->wait, rd->ring_count);
	if (rc < 0)
		return kmes_error_set(err, rc, "cannot prepare waiting: %s",
				      strerror(-rc));
	return 0;
}

int kmes_reader_open(struct kmes_reader **out, struct kmes_source *src,
		     const struct kmes_reader_options *options, struct kmes_error *err)
{
	struct kmes_reader *rd = calloc(1, sizeof(*rd));
	unsigned int i;
	int rc;

	if (!rd)
		return kmes_error_set(err, -ENOMEM, "out of memory");
	rd->src = src;
	rd->order = options->order;
	rd->snapshot = options->snapshot;
	rc = reader_open_rings(rd, options, err);
	if (rc == 0)
		rc = reader_alloc(rd, err);
	if (rc < 0) {
		kmes_reader_close(rd);
		return rc;
	}
	rd->turn = rd->ring_count - 1; /* next is the first ring */
	for (i = 0; i < rd->ring_count; i++)
		rd->idle[rd->idle_len++] = &rd->rings[i];
	*out = rd;
	return 0;
}

void kmes_reader_close(struct kmes_reader *rd)
{
	unsigned int i;

	if (!rd)
		return;
	kmesp_wait_free(rd->wait);
	for (i = 0; i < rd->ring_count; i++)
		kmesp_ring_close(&rd->rings[i]);
	free(rd->rings);
	free(rd->heap.entries);
	free(rd->idle);
	free(rd);
}
