// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* walk.c - counts the events of a ring that is written meanwhile. */
#include "walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_SIZE (256u << 10)
/* A ring that laps the walk this often is not counted. */
#define LAPS_MAX 3

int stat_walk_open(struct stat_walk *walk, struct kmes_source *src, uint16_t cpu,
		   struct kmes_error *err)
{
	int r;

	memset(walk, 0, sizeof(*walk));
	r = kmes_mapping_open(&walk->map, src, cpu, err);
	if (r < 0)
		return r;
	walk->buf_size = SPAN_SIZE;
	walk->buf = malloc(walk->buf_size);
	if (!walk->buf) {
		kmes_mapping_close(&walk->map);
		return kmes_error_set(err, -ENOMEM, "no memory");
	}
	return 0;
}

void stat_walk_close(struct stat_walk *walk)
{
	if (walk->buf)
		kmes_mapping_close(&walk->map);
	free(walk->buf);
	free(walk->holes);
	memset(walk, 0, sizeof(*walk));
}

static int add_hole(struct stat_walk *walk, uint64_t before, uint64_t count)
{
	if (walk->hole_count == walk->hole_room) {
		size_t room = walk->hole_room ? walk->hole_room * 2 : 16;
		struct stat_hole *holes = realloc(walk->holes, room * sizeof(*holes));

		if (!holes)
			return -ENOMEM;
		walk->holes = holes;
		walk->hole_room = room;
	}
	walk->holes[walk->hole_count].before = before;
	walk->holes[walk->hole_count++].count = count;
	return 0;
}

/*
 * One event of the walk. `gap`: the one before it was walked too, whose sequence must be
 * the lower one. Types are counted once, also when the event is met again in the ring that
 * replaced its first one.
 */
static int take_event(struct stat_walk *walk, struct stat_types *types,
		      const struct kmes_event *e, bool gap)
{
	int r = 0;

	if (gap && e->seq <= walk->last_seq)
		return -EBADMSG;
	if (gap && e->seq > walk->last_seq + 1)
		r = add_hole(walk, e->seq, e->seq - walk->last_seq - 1);
	walk->last_seq = e->seq;
	if (e->seq <= walk->typed_seq)
		return r;
	walk->typed_seq = e->seq;
	if (r == 0 && types)
		r = stat_types_add(types, e->type, e->type_len, e->size);
	return r;
}

/*
 * Walks the span in the buffer: how many bytes of whole events, or -errno. After a lap
 * the first event's gap is what was overwritten, no hole.
 */
static int64_t take_span(struct stat_walk *walk, struct stat_types *types,
			 const struct kmes_ring_span *span, bool *gap)
{
	uint32_t done = 0;

	while (done < span->len) {
		struct kmes_event e;
		uint64_t max = span->write_pos - (span->pos + done);
		int r = kmes_event_parse(&e, walk->buf + span->skip + done,
					 span->len - done, max);

		if (r < 0 || e.size > max)
			return -EBADMSG;
		if (r == 0) {
			if (e.size > walk->buf_size) {
				void *buf = realloc(walk->buf, e.size);

				if (!buf)
					return -ENOMEM;
				walk->buf = buf;
				walk->buf_size = e.size;
			}
			break;
		}
		r = take_event(walk, types, &e, *gap);
		if (r < 0)
			return r;
		*gap = true;
		done += e.size;
	}
	return done;
}

/* Walks from walk->pos to `end`: 0, -EAGAIN lapped too often, or -errno. */
static int walk_to(struct stat_walk *walk, struct stat_types *types, uint64_t end)
{
	bool gap = walk->pos != 0;
	int laps = 0;

	while (walk->pos < end) {
		struct kmes_ring_span span;
		int64_t done;

		if (kmes_ring_copy(&walk->map.view, walk->pos, walk->buf, walk->buf_size,
				   &span) < 0)
			return -EBADMSG;
		if (span.lapped && walk->pos) {
			walk->hole_count = 0;
			gap = false;
			if (++laps > LAPS_MAX)
				return -EAGAIN;
		}
		walk->pos = span.pos;
		done = take_span(walk, types, &span, &gap);
		if (done < 0)
			return (int)done;
		walk->pos += (uint64_t)done;
		if (!span.len && span.write_pos <= span.pos)
			break;
	}
	return 0;
}

/*
 * The ring was replaced: the rest of it is walked for its types, then everything is
 * counted again in the new one.
 */
static int follow(struct stat_walk *walk, struct kmes_source *src,
		  struct stat_types *types, struct kmes_error *err)
{
	struct kmes_mapping next;
	int r = kmes_mapping_open(&next, src, walk->map.cpu, err);

	if (r < 0)
		return r;
	if (next.generation == walk->map.generation) {
		kmes_mapping_close(&next);
		return kmes_error_set(err, -EPROTO,
				      "cpu%u: tells of another ring, and there is none",
				      walk->map.cpu);
	}
	/* Order D, pairs with C: loaded behind the generation, so the last one. */
	walk_to(walk, types, kmes_load_acquire(&walk->map.view.producer->write_pos));
	kmes_mapping_close(&walk->map);
	walk->map = next;
	walk->pos = 0;
	walk->hole_count = 0;
	return 0;
}

/* The oldest event, whole header and private: 1, 0 when there is none, or -EBADMSG. */
static int look_at_oldest(struct stat_walk *walk, struct kmes_ring_span *span,
			  struct kmes_event_header *h)
{
	/* Order K, pairs with J. */
	uint64_t tail_pos = kmes_load_acquire(&walk->map.view.producer->tail_pos);
	int r = kmes_ring_copy(&walk->map.view, tail_pos, walk->buf, KMES_HEADER_SIZE,
			       span);

	/* Lapped: the copy stands at the new tail, or is empty and begun again. */
	while (r == 0 && span->len < KMES_HEADER_SIZE && span->write_pos > span->pos)
		r = kmes_ring_copy(&walk->map.view, span->pos, walk->buf,
				   KMES_HEADER_SIZE, span);
	if (r < 0)
		return -EBADMSG;
	if (!span->len)
		return 0;
	memcpy(h, walk->buf + span->skip, sizeof(*h));
	return 1;
}

/* Sums up the holes above `oldest`, and forgets those that left the ring. */
static uint64_t count_holes(struct stat_walk *walk, uint64_t oldest)
{
	uint64_t sum = 0;
	size_t i, gone = 0;

	for (i = 0; i < walk->hole_count; i++) {
		if (walk->holes[i].before <= oldest)
			gone = i + 1;
		else
			sum += walk->holes[i].count;
	}
	walk->hole_count -= gone;
	if (gone)
		memmove(walk->holes, walk->holes + gone,
			walk->hole_count * sizeof(*walk->holes));
	return sum;
}

/*
 * Walks on to the write_pos of now and looks at the oldest event behind that: all that
 * lies between is one moment's content. 0, -EAGAIN lapped, or -errno.
 */
static int count_ring(struct stat_walk *walk, struct stat_types *types,
		      struct stat_ring_state *state)
{
	struct kmes_event_header h;
	struct kmes_ring_span span;
	/* Order D, pairs with C. */
	uint64_t end = kmes_load_acquire(&walk->map.view.producer->write_pos);
	int r = walk_to(walk, types, end);

	state->write_pos = end;
	if (r < 0)
		return r;
	r = look_at_oldest(walk, &span, &h);
	if (r < 0)
		return r;
	if (r == 0)
		return 0;
	if (span.pos >= walk->pos)
		return -EAGAIN;
	state->oldest_ts_ns = h.timestamp;
	state->used_bytes = walk->pos - span.pos;
	state->holes = count_holes(walk, h.sequence);
	state->events = walk->last_seq - h.sequence + 1 - state->holes;
	return 0;
}

int stat_walk_on(struct stat_walk *walk, struct kmes_source *src,
		 struct stat_types *types, struct stat_ring_state *state,
		 struct kmes_error *err)
{
	const struct kmes_producer_page *page;
	int r, tries;

	memset(state, 0, sizeof(*state));
	/* Order H, pairs with G. */
	while (kmes_load_acquire(&walk->map.view.producer->generation) !=
	       walk->map.generation) {
		r = follow(walk, src, types, err);
		if (r < 0)
			return r;
		state->replaced = true;
	}
	page = walk->map.view.producer;
	for (tries = 0, r = -EAGAIN; tries < LAPS_MAX && r == -EAGAIN; tries++)
		r = count_ring(walk, types, state);
	if (r == -ENOMEM)
		return kmes_error_set(err, r, "no memory");
	if (r == -EBADMSG)
		return kmes_error_set(err, r, "cpu%u: not an event at position %llu",
				      walk->map.cpu, (unsigned long long)walk->pos);
	state->counted = r == 0;
	state->generation = walk->map.generation;
	state->capacity = walk->map.view.capacity;
	state->last_seq = walk->last_seq;
	state->waiting = kmes_load_relaxed(walk->map.need_wake) != 0;
	state->fresh = walk->map.generation == 1 && !kmes_load_acquire(&page->write_pos);
	return 0;
}
