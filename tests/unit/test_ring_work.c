// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The work of one write, as the kernel does it with interrupts off. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "copied.h"

/* These use its kmes_copy_shared. */
#include "kmes_ring.h"
#include "testring.h"
#include "unit.h"

/* The ring has strides of 16384 bytes, the smallest event has 78: 211 of them. */
#define WALK_MAX 211

static const struct kmes_stamp no_stamp;

/* Filled twice with the smallest events. */
static struct testring *ring_of_small_events(uint64_t capacity)
{
	struct testring *ring = testring_new(capacity, 0, 1);
	struct kmes_record record = { "s", NULL, 0, 1 };
	bool wake;

	for (uint64_t n = 0; n < 2 * capacity / 78; n++)
		assert_int_equal(kmes_ring_write(&ring->w, &record, &no_stamp, &wake), 0);
	return ring;
}

/* `events` of them were written; their headers may count as copied or not. */
static void assert_work(uint64_t bytes, uint64_t events)
{
	assert_between(copied.sizes, 0, WALK_MAX);
	assert_between(copied.bytes, bytes - 77 * events, bytes);
	copied_reset();
}

/* A single event of any accepted size, over the smallest events. */
TEST(work_of_one_large_event_is_its_copy_and_a_bounded_walk)
{
	static const uint32_t sizes[] = { 78,	 1000,	16000,	 16384,
					  16385, 65536, 1048576, 2097152 };
	struct kmes_record record = { "l", calloc(1, 2097152), 0, 1 };
	bool wake;

	for (unsigned int i = 0; i < COUNT(sizes); i++) {
		struct testring *ring = ring_of_small_events(4194304);
		struct testring_walk walk;

		record.payload_len = sizes[i] - 78;
		copied_reset();
		assert_int_equal(kmes_ring_write(&ring->w, &record, &no_stamp, &wake), 0);
		assert_work(sizes[i], 1);
		/* No more events were evicted than necessary. */
		walk = testring_walk(ring);
		assert_true(walk.is_consistent);
		assert_int_equal(walk.events, (4194304 - sizes[i]) / 78 + 1);
		assert_int_equal(walk.last_seq, ring->w.sequence);
		assert_int_equal(ring->w.counts.overwritten_events,
				 ring->w.counts.emitted_events - walk.events);
		testring_free(ring);
	}
	free((void *)record.payload);
}

/* Batches of up to the entire ring, and larger ones. */
TEST(work_of_a_batch_is_the_copy_of_its_survivors_and_a_bounded_walk)
{
	static const uint32_t sizes[] = { 78, 200, 5000, 16384, 40000 };
	struct kmes_record records[256];
	uint8_t *payload = calloc(1, 65536);
	bool wake;

	for (unsigned int i = 0; i < COUNT(sizes); i++) {
		struct testring *ring = ring_of_small_events(4194304);
		uint64_t fit = 4194304 / sizes[i] < 256 ? 4194304 / sizes[i] : 256;

		for (int n = 0; n < 256; n++)
			records[n] =
				(struct kmes_record){ "b", payload, sizes[i] - 78, 1 };
		copied_reset();
		for (int n = 0; n < 3; n++) {
			assert_int_equal(kmes_ring_write_batch(&ring->w, records, 256,
							       &no_stamp, &wake),
					 0);
			assert_work(fit * sizes[i], fit);
		}
		assert_true(testring_walk(ring).is_consistent);
		testring_free(ring);
	}
	free(payload);
}
