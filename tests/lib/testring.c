// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* testring.c - rings in memfds for the tests, see testring.h */
#include "testring.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmes_move.h"

#define DIE_UNLESS(ok)                                                                   \
	do {                                                                             \
		if (!(ok)) {                                                             \
			fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                  \
			perror(#ok);                                                     \
			abort();                                                         \
		}                                                                        \
	} while (0)

/* Pages and data from offset 0, followed by the data once more. */
static void *map_twice(int fd, uint64_t capacity)
{
	uint8_t *base = mmap(NULL, KMES_MAPPING_SIZE(capacity), PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	DIE_UNLESS(base != MAP_FAILED);
	DIE_UNLESS(mmap(base, KMES_DATA_OFFSET + capacity, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
	DIE_UNLESS(mmap(base + KMES_DATA_OFFSET + capacity, capacity,
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			KMES_DATA_OFFSET) != MAP_FAILED);
	return base;
}

struct testring *testring_new(uint64_t capacity, uint16_t cpu, uint64_t generation)
{
	struct testring *ring = calloc(1, sizeof(*ring));
	struct kmes_mark *marks;

	DIE_UNLESS(ring);
	ring->fd = memfd_create("testring", MFD_CLOEXEC);
	DIE_UNLESS(ring->fd >= 0);
	DIE_UNLESS(ftruncate(ring->fd, (off_t)(KMES_DATA_OFFSET + capacity)) == 0);
	ring->length = KMES_MAPPING_SIZE(capacity);
	ring->base = map_twice(ring->fd, capacity);
	ring->producer = ring->base;
	ring->consumer = (void *)((uint8_t *)ring->base + KMES_CONSUMER_OFFSET);
	ring->data = (uint8_t *)ring->base + KMES_DATA_OFFSET;
	marks = calloc(kmes_ring_mark_count(capacity), sizeof(*marks));
	DIE_UNLESS(marks);
	kmes_ring_init(&ring->w, ring->producer, ring->consumer, ring->data, marks,
		       capacity, cpu, generation);
	return ring;
}

void testring_free(struct testring *ring)
{
	if (!ring)
		return;
	munmap(ring->base, ring->length);
	close(ring->fd);
	free(ring->w.marks);
	free(ring);
}

void testring_start_at(struct testring *ring, uint64_t pos, uint64_t sequence)
{
	ring->w.write_pos = pos;
	ring->w.tail_pos = pos;
	ring->w.next_mark = pos & ~(uint64_t)(KMES_MARK_STRIDE - 1);
	ring->w.sequence = sequence;
	ring->w.counts.overwritten_events = ring->w.counts.emitted_events;
	ring->w.counts.dropped_events = sequence - ring->w.counts.emitted_events;
	testring_set_positions(ring, pos, pos);
}

void testring_map(const struct testring *ring, struct kmes_mapping *map)
{
	uint64_t capacity = ring->w.capacity;
	uint8_t *base;

	memset(map, 0, sizeof(*map));
	map->fds[0] = dup(ring->fd);
	map->fds[1] = -1;
	DIE_UNLESS(map->fds[0] >= 0);
	base = map_twice(map->fds[0], capacity);
	DIE_UNLESS(mprotect(base, KMES_CONSUMER_OFFSET, PROT_READ) == 0);
	DIE_UNLESS(mprotect(base + KMES_DATA_OFFSET, 2 * capacity, PROT_READ) == 0);
	map->base = base;
	map->length = KMES_MAPPING_SIZE(capacity);
	map->need_wake = base + KMES_CONSUMER_OFFSET;
	map->view.producer = (void *)base;
	map->view.data = base + KMES_DATA_OFFSET;
	map->view.capacity = capacity;
	map->cpu = ring->w.cpu_id;
}

void testring_unmap(struct kmes_mapping *map)
{
	munmap(map->base, map->length);
	close(map->fds[0]);
}

struct kmes_ring_view testring_view(const struct testring *ring)
{
	return (struct kmes_ring_view){ ring->producer, ring->data, ring->w.capacity };
}

void testring_wake(struct testring *ring)
{
	syscall(SYS_futex, &ring->producer->futex_counter, FUTEX_WAKE, INT_MAX, NULL,
		NULL, 0);
}

uint64_t testring_emit(struct testring *ring, uint64_t ts_ns, const char *type,
		       const void *payload, uint32_t payload_len)
{
	struct kmes_record record = { type, payload, payload_len, (__u16)strlen(type) };
	struct kmes_stamp stamp = { .timestamp = ts_ns };
	bool wake;

	DIE_UNLESS(kmes_ring_write(&ring->w, &record, &stamp, &wake) == 0);
	if (wake)
		testring_wake(ring);
	return ring->w.sequence;
}

uint64_t testring_emit_size(struct testring *ring, uint32_t size)
{
	uint32_t len = size - KMES_HEADER_SIZE - 1;
	uint8_t *payload = malloc(len + 1);
	uint64_t seq;

	DIE_UNLESS(payload && size > KMES_HEADER_SIZE);
	memset(payload, (uint8_t)(ring->w.sequence + 1), len);
	seq = testring_emit(ring, ring->w.sequence + 1, "s", payload, len);
	free(payload);
	return seq;
}

void testring_set_positions(struct testring *ring, uint64_t write_pos, uint64_t tail_pos)
{
	kmes_store_release(&ring->producer->tail_pos, tail_pos);
	kmes_store_release(&ring->producer->write_pos, write_pos);
	if (kmes_ring_check_wake(&ring->w))
		testring_wake(ring);
}

void testring_put(struct testring *ring, const void *bytes, uint32_t len)
{
	struct kmes_ring_writer *w = &ring->w;

	DIE_UNLESS(w->write_pos - w->tail_pos + len <= w->capacity);
	kmes_copy_shared(w->data + (w->write_pos & (w->capacity - 1)), bytes, len);
	w->write_pos += len;
	w->counts.emitted_events++;
	if (kmes_ring_publish(w))
		testring_wake(ring);
}

struct testring *testring_successor(const struct testring *old, uint64_t capacity)
{
	struct testring *ring =
		testring_new(capacity, old->w.cpu_id, old->w.generation + 1);

	kmes_move_all(&ring->w, &old->w);
	return ring;
}

void testring_retire(struct testring *old, struct testring *next)
{
	if (kmes_ring_retire(&old->w, &next->w))
		testring_wake(old);
}

static uint64_t get(const uint8_t *at, int len)
{
	uint64_t value = 0;

	while (len-- > 0)
		value = value << 8 | at[len];
	return value;
}

static bool is_filled(const uint8_t *at, uint64_t len, uint8_t byte)
{
	for (uint64_t i = 0; i < len; i++) {
		if (at[i] != byte)
			return false;
	}
	return true;
}

struct testring_walk testring_walk(const struct testring *ring)
{
	const uint8_t *page = ring->base;
	uint64_t capacity = get(page + 16, 8), end = get(page + 64, 8);
	uint64_t pos = get(page + 72, 8);
	struct testring_walk walk = { .is_filled = true };

	while (pos < end) {
		const uint8_t *at = page + 8192 + pos % capacity;
		uint64_t size = get(at, 4), header = get(at + 4, 4);
		uint64_t seq = get(at + 16, 8);

		if (header < 77 || size < header || size > end - pos)
			return walk;
		if (walk.events && seq <= walk.last_seq)
			return walk;
		if (!is_filled(at + header, size - header, (uint8_t)seq))
			walk.is_filled = false;
		if (!walk.events++)
			walk.first_seq = seq;
		walk.last_seq = seq;
		pos += size;
	}
	walk.is_consistent = pos == end;
	return walk;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t len)
{
	if (len)
		memcpy(at, bytes, len);
	return at + len;
}

uint32_t testring_build(const struct testring_event *event, uint8_t *buf, uint32_t size)
{
	static const uint8_t guids[48];
	size_t type_bytes = event->type ? strlen(event->type) : 0;
	uint16_t type_len = event->type_len ? event->type_len : (uint16_t)type_bytes;
	uint32_t header = KMES_HEADER_SIZE + (uint32_t)type_bytes + event->grown;
	uint32_t total = header + event->payload_len;
	uint32_t event_size = event->event_size ? event->event_size : total;
	uint8_t *at = buf;

	DIE_UNLESS(total <= size);
	if (event->header_size)
		header = event->header_size;
	at = put_bytes(at, &event_size, 4);
	at = put_bytes(at, &header, 4);
	at = put_bytes(at, &event->ts_ns, 8);
	at = put_bytes(at, &event->seq, 8);
	at = put_bytes(at, &event->cpu, 2);
	at = put_bytes(at, &event->origin, 1);
	at = put_bytes(at, guids, sizeof(guids));
	at = put_bytes(at, &type_len, 2);
	at = put_bytes(at, event->type, type_bytes);
	memset(at, 0xee, event->grown);
	at += event->grown;
	put_bytes(at, event->payload, event->payload_len);
	return total;
}
