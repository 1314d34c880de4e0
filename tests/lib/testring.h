/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * testring.h - a ring of a test's own: pages and twice-mapped data in a memfd.
 *
 * The writer's mapping is all writable; testring_map() gives what a consumer gets, where
 * a store to anything but the consumer page ends the test by SIGSEGV. A call that cannot
 * be done ends the program with a message: the tests have nothing to say about it.
 */
#ifndef KMES_TESTS_TESTRING_H
#define KMES_TESTS_TESTRING_H

#include <stdint.h>

#include "kmes.h"
#include "kmes_ring.h"

struct testring {
	struct kmes_ring_writer w;
	struct kmes_producer_page *producer;
	struct kmes_consumer_page *consumer;
	uint8_t *data;
	int fd;
	void *base;
	size_t length;
};

/* Any power of two from 4096 is a capacity here. Shared by fork(). */
struct testring *testring_new(uint64_t capacity, uint16_t cpu, uint64_t generation);
void testring_free(struct testring *ring);

/* Make an empty ring look as if `pos` bytes and `sequence` events had gone through it. */
void testring_start_at(struct testring *ring, uint64_t pos, uint64_t sequence);

/* A consumer's mapping; kmes_mapping_close() or testring_unmap() undoes it. */
void testring_map(const struct testring *ring, struct kmes_mapping *map);
void testring_unmap(struct kmes_mapping *map);

/* The writer's own view, for kmes_ring_copy(). */
struct kmes_ring_view testring_view(const struct testring *ring);

/* Write one event with a time stamp and wake who sleeps; returns its sequence. */
uint64_t testring_emit(struct testring *ring, uint64_t ts_ns, const char *type,
		       const void *payload, uint32_t payload_len);

/* Write one event of `size` bytes in all, its payload filled with its sequence's low byte. */
uint64_t testring_emit_size(struct testring *ring, uint32_t size);

/* Publish bytes as they are, without a thought for what they say. */
void testring_put(struct testring *ring, const void *bytes, uint32_t len);

/* Set what the producer page says of the positions, and wake who sleeps. */
void testring_set_positions(struct testring *ring, uint64_t write_pos, uint64_t tail_pos);

/* Wake everybody who sleeps on the ring, counted or not. */
void testring_wake(struct testring *ring);

/*
 * A ring of the next generation with what fits of `old`; and telling the readers of `old`
 * about it, who are woken. Both stay until freed.
 */
struct testring *testring_successor(const struct testring *old, uint64_t capacity);
void testring_retire(struct testring *old, struct testring *next);

/* The events that stand in a ring, oldest first, told by code that is not the library's. */
struct testring_walk {
	uint32_t events;
	uint64_t first_seq, last_seq;
	bool is_consistent; /* sizes add up to write_pos, sequences rise */
	bool is_filled;	    /* each payload byte is its sequence's low byte */
};
struct testring_walk testring_walk(const struct testring *ring);

/* The event that a ring would hold, put together by other code than the writer's. */
struct testring_event {
	uint32_t event_size, header_size; /* 0: what is right */
	uint64_t ts_ns, seq;
	uint16_t cpu;
	uint8_t origin;
	uint16_t type_len; /* 0: that of `type` */
	const char *type;
	const void *payload;
	uint32_t payload_len;
	uint32_t grown; /* bytes between the type and the payload */
};

/* Writes it to `buf` of `size` bytes; returns its length. */
uint32_t testring_build(const struct testring_event *event, uint8_t *buf, uint32_t size);

#endif
