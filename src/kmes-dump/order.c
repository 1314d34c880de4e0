// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * order.c - a window that sorts events.
 *
 * By time this is the merge of rings: each CPU of a recording is a queue, and the queue
 * whose head has the earliest time stamp goes first. A queue keeps its own order whatever
 * its stamps are, so the key of an event is the latest stamp of its queue so far. By CPU
 * the window is filled and then emptied, one CPU after another. A recording in the
 * requested order is a single queue.
 *
 * Events are copied into chunks, which are freed when the last of their events is taken.
 * Only complete chunks are counted, so an event that is held for long keeps its chunk.
 */
#include "order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define CPU_IDS 65536u
#define CHUNK_SIZE (256u << 10)
/* Bits of the serial number, below the CPU in a key. */
#define SERIAL_BITS 48

struct chunk {
	size_t size, used;
	unsigned int entries;
	_Alignas(8) uint8_t bytes[];
};

/* The sort key; equal keys keep the order of arrival. */
struct key {
	uint64_t major; /* the time stamp, or the number of the recording */
	uint32_t cpu;
};

/* Events under one header, or several equal ones. */
struct recording {
	struct kmes_capture_info info;
	uint64_t number;
	uint64_t users; /* entries; the newest one is also used by the window */
	bool is_as_wanted;
	struct key latest;
};

struct entry {
	struct recording *recording;
	struct chunk *chunk;
	uint32_t size; /* 0: a loss */
	struct kmes_loss loss;
	uint8_t bytes[];
};

/* One CPU of a recording, with its latest time stamp. */
struct queue {
	uint64_t recording;
	uint64_t latest;
};

struct dump_order {
	enum kmes_reader_order order;
	size_t bytes, size; /* in use, and the limit */
	bool is_draining;
	struct kmes_heap heap; /* of entries: by stamp or recording, CPU, arrival */
	size_t room;
	uint64_t serial, late;
	uint64_t given_ns; /* time stamp of the last item taken */
	struct recording *newest;
	struct chunk *filling, *spare;
	struct entry *out; /* taken last */
	struct kmes_event event;
	struct queue *queues; /* by CPU; only pages of existing CPUs are touched */
};

int dump_order_new(struct dump_order **out, enum kmes_reader_order order, size_t bytes)
{
	struct dump_order *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->order = order;
	o->size = bytes;
	o->queues = calloc(CPU_IDS, sizeof(*o->queues));
	if (!o->queues) {
		free(o);
		return -ENOMEM;
	}
	*out = o;
	return 0;
}

/* ---- the heap ---- */

static int heap_reserve(struct dump_order *o)
{
	size_t room = o->room ? 2 * o->room : 1024;
	struct kmes_heap_entry *entries;

	if (o->heap.len < o->room)
		return 0;
	entries = realloc(o->heap.entries, room * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	o->heap.entries = entries;
	o->room = room;
	return 0;
}

/* ---- memory ---- */

static void put_chunk(struct dump_order *o, struct chunk *chunk)
{
	o->bytes -= chunk->size;
	if (o->spare || chunk->size != CHUNK_SIZE) {
		free(chunk);
		return;
	}
	o->spare = chunk;
}

static struct chunk *get_chunk(struct dump_order *o, size_t len)
{
	struct chunk *chunk = o->spare;
	size_t size = len > CHUNK_SIZE ? len : CHUNK_SIZE;

	if (chunk && size == CHUNK_SIZE)
		o->spare = NULL;
	else
		chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct chunk){ .size = size };
	o->bytes += size;
	return chunk;
}

static void put_recording(struct recording *recording)
{
	if (recording && !--recording->users)
		free(recording);
}

static void free_entry(struct dump_order *o, struct entry *entry)
{
	struct chunk *chunk = entry->chunk;

	put_recording(entry->recording);
	if (--chunk->entries)
		return;
	if (chunk == o->filling)
		chunk->used = 0;
	else
		put_chunk(o, chunk);
}

/* Allocates an entry with `len` bytes. NULL: out of memory. */
static struct entry *new_entry(struct dump_order *o, size_t len)
{
	struct chunk *chunk = o->filling;
	struct entry *entry;

	len = (sizeof(*entry) + len + 7) & ~(size_t)7;
	if (!chunk || len > chunk->size - chunk->used) {
		chunk = get_chunk(o, len);
		if (!chunk)
			return NULL;
		if (o->filling && !o->filling->entries)
			put_chunk(o, o->filling);
		o->filling = chunk;
	}
	entry = (struct entry *)(chunk->bytes + chunk->used);
	chunk->used += len;
	chunk->entries++;
	entry->chunk = chunk;
	return entry;
}

void dump_order_free(struct dump_order *o)
{
	if (!o)
		return;
	if (o->out)
		free_entry(o, o->out);
	while (o->heap.len)
		free_entry(o, kmesp_heap_pop(&o->heap).item);
	if (o->filling)
		put_chunk(o, o->filling);
	put_recording(o->newest);
	free(o->spare);
	free(o->queues);
	free(o->heap.entries);
	free(o);
}

/* ---- adding and taking ---- */

/* The recording of this header: the newest one as long as headers are equal. */
static struct recording *find_recording(struct dump_order *o,
					const struct kmes_capture_info *info)
{
	uint32_t wanted = o->order == KMES_ORDER_CPU ? KMES_CAPTURE_BY_CPU
						     : KMES_CAPTURE_BY_TIME;
	struct recording *recording;

	if (o->newest && kmesp_capture_is_same_info(&o->newest->info, info))
		return o->newest;
	recording = calloc(1, sizeof(*recording));
	if (!recording)
		return NULL;
	recording->info = *info;
	recording->number = o->newest ? o->newest->number + 1 : 1;
	recording->is_as_wanted = info->flags & wanted;
	recording->users = 1;
	put_recording(o->newest);
	o->newest = recording;
	return recording;
}

static bool key_is_before(struct key a, struct key b)
{
	return a.major != b.major ? a.major < b.major : a.cpu < b.cpu;
}

/* The key by time: not before earlier items of its queue. */
static struct key time_key(struct dump_order *o, struct recording *recording,
			   struct key own)
{
	struct queue *queue = &o->queues[own.cpu];

	if (recording->is_as_wanted) {
		if (key_is_before(recording->latest, own))
			recording->latest = own;
		return recording->latest;
	}
	if (queue->recording != recording->number)
		*queue = (struct queue){ recording->number, 0 };
	if (queue->latest < own.major)
		queue->latest = own.major;
	own.major = queue->latest;
	return own;
}

static struct key find_key(struct dump_order *o, struct recording *recording,
			   const struct kmes_item *item)
{
	bool is_loss = item->kind == KMES_ITEM_LOSS;
	struct key own = {
		.major = is_loss ? item->loss.ts_ns : item->event->ts_ns,
		.cpu = is_loss ? item->loss.cpu : item->event->cpu,
	};

	if (o->order == KMES_ORDER_TIME)
		return time_key(o, recording, own);
	own.major = recording->number;
	if (recording->is_as_wanted)
		own.cpu = 0;
	return own;
}

bool dump_order_wants_more(const struct dump_order *o)
{
	return !o->is_draining && (!o->heap.len || o->bytes < o->size);
}

int dump_order_add(struct dump_order *o, const struct kmes_item *item,
		   const struct kmes_capture_info *info)
{
	uint32_t size = item->kind == KMES_ITEM_EVENT ? item->event->size : 0;
	struct recording *recording = find_recording(o, info);
	struct entry *entry;
	struct key key;

	if (!recording || heap_reserve(o) < 0)
		return -ENOMEM;
	entry = new_entry(o, size);
	if (!entry)
		return -ENOMEM;
	key = find_key(o, recording, item);
	recording->users++;
	entry->recording = recording;
	entry->size = size;
	if (size)
		memcpy(entry->bytes, item->event->bytes, size);
	else
		entry->loss = item->loss;
	o->late += o->order == KMES_ORDER_TIME && key.major < o->given_ns;
	kmesp_heap_push(&o->heap,
			(struct kmes_heap_entry){
				.key = key.major,
				.tie = (uint64_t)key.cpu << SERIAL_BITS | o->serial++,
				.item = entry,
			});
	return 0;
}

void dump_order_drain(struct dump_order *o)
{
	o->is_draining = true;
}

bool dump_order_is_empty(const struct dump_order *o)
{
	return !o->heap.len;
}

uint64_t dump_order_late(const struct dump_order *o)
{
	return o->late;
}

static void give(struct dump_order *o, struct kmes_heap_entry first,
		 struct kmes_item *item, struct kmes_capture_info *info)
{
	struct entry *entry = first.item;

	o->out = entry;
	o->given_ns = first.key;
	*info = entry->recording->info;
	if (!entry->size) {
		item->kind = KMES_ITEM_LOSS;
		item->loss = entry->loss;
		return;
	}
	/* Cannot fail: it was parsed before. */
	kmes_event_parse(&o->event, entry->bytes, entry->size, entry->size);
	item->kind = KMES_ITEM_EVENT;
	item->event = &o->event;
}

int dump_order_take(struct dump_order *o, struct kmes_item *item,
		    struct kmes_capture_info *info)
{
	if (o->out)
		free_entry(o, o->out);
	o->out = NULL;
	if (dump_order_wants_more(o))
		return 0;
	/* By CPU: empty the window completely. */
	if (o->order == KMES_ORDER_CPU)
		o->is_draining = true;
	if (!o->heap.len) {
		o->is_draining = false;
		return 0;
	}
	give(o, kmesp_heap_pop(&o->heap), item, info);
	return 1;
}
