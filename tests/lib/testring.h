/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * testring.h - a test's own ring: pages and twice-mapped data in a memfd.
 *
 * The writer's mapping is entirely writable; testring_map() returns what a consumer gets,
 * where a store outside the consumer page ends the test by SIGSEGV. A failing system call
 * ends the program with a message: tests need not check.
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

/* The capacity is any power of two from 4096. Shared across fork(). */
struct testring *testring_new(uint64_t capacity, uint16_t cpu, uint64_t generation);
void testring_free(struct testring *ring);

/* Makes an empty ring look as if `pos` bytes and `sequence` events had been written. */
void testring_start_at(struct testring *ring, uint64_t pos, uint64_t sequence);

/* A consumer's mapping; kmes_mapping_close() or testring_unmap() undoes it. */
void testring_map(const struct testring *ring, struct kmes_mapping *map);
void testring_unmap(struct kmes_mapping *map);

/* The writer's own view, for kmes_ring_copy(). */
struct kmes_ring_view testring_view(const struct testring *ring);

/* Writes one event with a timestamp and wakes sleepers; returns its sequence. */
uint64_t testring_emit(struct testring *ring, uint64_t ts_ns, const char *type,
		       const void *payload, uint32_t payload_len);

/*
 * Writes one event of `size` bytes in total, its payload filled with its sequence's low
 * byte.
 */
uint64_t testring_emit_size(struct testring *ring, uint32_t size);

/* Publishes bytes verbatim, valid or not. */
void testring_put(struct testring *ring, const void *bytes, uint32_t len);

/* Sets the positions in the producer page, and wakes sleepers. */
void testring_set_positions(struct testring *ring, uint64_t write_pos, uint64_t tail_pos);

/* Wakes all sleepers, whether or not the counter moved. */
void testring_wake(struct testring *ring);

/*
 * A ring of the next generation with the events of `old` that fit; and notifying and
 * waking the readers of `old`. Both exist until freed.
 */
struct testring *testring_successor(const struct testring *old, uint64_t capacity);
void testring_retire(struct testring *old, struct testring *next);

/* The events of a ring, oldest first, found by code independent of the library. */
struct testring_walk {
	uint32_t events;
	uint64_t first_seq, last_seq;
	bool is_consistent; /* sizes add up to write_pos, sequences rise */
	bool is_filled;	    /* each payload byte is its sequence's low byte */
};
struct testring_walk testring_walk(const struct testring *ring);

/* An event as in a ring, built by code independent of the writer. */
struct testring_event {
	uint32_t event_size, header_size; /* 0: the correct value */
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
