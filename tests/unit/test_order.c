// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Ordered accesses of writer, reader and sleeper, against the shapes in tests/model. */
#include "order_trace.h"

/* These use its accesses. */
#include "kmes_ring.h"
#include "unit.h"

/* The library's own files, compiled with logged accesses. */
#include "libcommon/ring_mapped.c"
#include "libcommon/wait.c"

#define CAPACITY 65536u

static struct kmes_producer_page page;
static struct kmes_consumer_page flags;
static uint8_t data[2 * CAPACITY];
static uint8_t private_bytes[CAPACITY];
static struct kmes_mark marks[CAPACITY / KMES_MARK_STRIDE];
static struct kmes_ring_writer writer;

static void name_pages(void)
{
	order_name("write_pos", &page.write_pos, sizeof(page.write_pos));
	order_name("tail_pos", &page.tail_pos, sizeof(page.tail_pos));
	order_name("generation", &page.generation, sizeof(page.generation));
	order_name("futex_counter", &page.futex_counter, sizeof(page.futex_counter));
	order_name("need_wake", &flags.need_wake, 1);
	order_name("data", data, sizeof(data));
}

/* An empty ring; accesses are logged from here. */
static void setup(void)
{
	order_reset();
	memset(&page, 0, sizeof(page));
	memset(&flags, 0, sizeof(flags));
	kmes_ring_init(&writer, &page, &flags, data, marks, CAPACITY, 0, 1);
	name_pages();
}
EACH_TEST(setup, NULL);

static void write_event(uint32_t payload_len)
{
	static const uint8_t payload[CAPACITY / 2];
	struct kmes_record r = { .type = "t", .type_len = 1 };
	struct kmes_stamp stamp = { .timestamp = 1 };
	bool wake;

	r.payload = payload;
	r.payload_len = payload_len;
	assert_int_equal(kmes_ring_write(&writer, &r, &stamp, &wake), 0);
}

/* [O2] and E [O4]: bytes, position, fence, flag. */
TEST(order_writer_publishes_then_fences_then_checks)
{
	write_event(10);
	assert_string_equal(order_log, "store data; release write_pos; fence-full; "
				       "load need_wake; ");
}

/* [O3]: the futex word changes after the publication. */
TEST(order_writer_increments_the_futex_word_last)
{
	flags.need_wake = 1;
	write_event(10);
	assert_string_equal(order_log, "store data; release write_pos; fence-full; "
				       "load need_wake; load futex_counter; "
				       "release futex_counter; ");
}

/* A and J [O1]: the tail, a fence, and only then the bytes that overwrite. */
TEST(order_writer_moves_the_tail_before_it_overwrites)
{
	write_event(CAPACITY / 2 - 78);
	write_event(CAPACITY / 2 - 78);
	order_log[0] = '\0';
	write_event(10);
	assert_string_equal(order_log, "load data; release tail_pos; fence-release; "
				       "store data; release write_pos; fence-full; "
				       "load need_wake; ");
}

/* [E8 E9]: a batch that overwrites everything does each step once. */
TEST(order_batch_publishes_once)
{
	static const uint8_t payload[CAPACITY / 4];
	struct kmes_record r[6];
	struct kmes_stamp stamp = { .timestamp = 1 };
	bool wake;

	for (int i = 0; i < 6; i++)
		r[i] = (struct kmes_record){ "t", payload, sizeof(payload), 1 };
	assert_int_equal(kmes_ring_write_batch(&writer, r, 6, &stamp, &wake), 0);
	assert_string_equal(order_log, "release tail_pos; fence-release; store data; "
				       "release write_pos; fence-full; load need_wake; ");
}

/* G and I [O9]: generation, fence, flag. */
TEST(order_replacer_stores_generation_then_fences_then_checks)
{
	struct kmes_ring_writer next = { .generation = 2 };

	flags.need_wake = 1;
	assert_true(kmes_ring_retire(&writer, &next));
	assert_string_equal(order_log, "release generation; fence-full; load need_wake; "
				       "load futex_counter; release futex_counter; ");
}

/* Once more for a consumer that missed the first one: there is no other writer. */
TEST(order_healer_increments_generation_then_fences_then_checks)
{
	flags.need_wake = 1;
	assert_true(kmes_ring_retire_again(&writer));
	assert_int_equal(page.generation, 2);
	assert_string_equal(order_log, "load generation; release generation; fence-full; "
				       "load need_wake; load futex_counter; "
				       "release futex_counter; ");
}

/* D, K and B [O6 O7 D3 D5]: positions, bytes, fence, the tail again. */
TEST(order_reader_reloads_the_tail_after_the_copy)
{
	struct kmes_ring_view view = { &page, data, CAPACITY };
	struct kmes_ring_span span;

	write_event(10);
	order_log[0] = '\0';
	assert_int_equal(
		kmes_ring_copy(&view, 0, private_bytes, sizeof(private_bytes), &span), 0);
	assert_string_equal(order_log, "acquire write_pos; acquire tail_pos; load data; "
				       "fence-acquire; acquire tail_pos; ");
}

static void mapped_ring(struct kmes_ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->ops = &mapped_ops;
	ring->mapped.map.view = (struct kmes_ring_view){ &page, data, CAPACITY };
	ring->mapped.map.need_wake = &flags.need_wake;
	ring->mapped.map.generation = 1;
	ring->buf = private_bytes;
	ring->size = sizeof(private_bytes);
	ring->mapped.stop_pos = UINT64_MAX;
	ring->fd = -1;
}

/* H [O10 R0]: the final write_pos is loaded after generation. */
TEST(order_reader_loads_generation_before_the_last_position)
{
	struct kmes_ring ring;

	mapped_ring(&ring);
	assert_int_equal(mapped_fill(&ring), 0);
	assert_string_equal(order_log, "acquire generation; acquire write_pos; "
				       "acquire tail_pos; ");
}

/* An impossible event: the tail is read again after a fence [D6 O7]. */
TEST(order_reader_recovers_after_a_fence)
{
	struct kmes_ring ring;

	mapped_ring(&ring);
	mapped_recover(&ring);
	assert_string_equal(order_log, "fence-acquire; acquire tail_pos; "
				       "acquire write_pos; ");
}

/* F and M [N1 N2 N3 O4]: all flags, one fence, the words, then positions, generations. */
TEST(order_sleeper_arms_fences_samples_and_checks)
{
	static struct kmes_producer_page page_b;
	static struct kmes_consumer_page flags_b;
	struct kmes_ring rings[2];
	struct kmes_wait *w = NULL;

	mapped_ring(&rings[0]);
	mapped_ring(&rings[1]);
	rings[1].mapped.map.view.producer = &page_b;
	rings[1].mapped.map.need_wake = &flags_b.need_wake;
	page_b.generation = 1;
	order_name("futex_b", &page_b.futex_counter, sizeof(page_b.futex_counter));
	order_name("write_b", &page_b.write_pos, sizeof(page_b.write_pos));
	order_name("generation_b", &page_b.generation, sizeof(page_b.generation));
	order_name("wake_b", &flags_b.need_wake, 1);

	assert_int_equal(kmesp_wait_new(&w, 2), 0);
	assert_false(arm(w, rings, 2));
	kmesp_wait_free(w);
	assert_string_equal(order_log, "release need_wake; release wake_b; fence-full; "
				       "acquire futex_counter; acquire futex_b; "
				       "acquire write_pos; acquire generation; "
				       "acquire write_b; acquire generation_b; ");
}

/* [O5 N2 N6]: new data clears the flag with a relaxed store. */
TEST(order_sleeper_clears_its_flag_relaxed)
{
	struct kmes_ring ring;
	struct kmes_wait *w = NULL;

	mapped_ring(&ring);
	write_event(10);
	order_log[0] = '\0';
	assert_int_equal(kmesp_wait_new(&w, 1), 0);
	assert_true(arm(w, &ring, 1));
	kmesp_wait_free(w);
	assert_int_equal(flags.need_wake, 0);
	assert_string_equal(order_log, "release need_wake; fence-full; "
				       "acquire futex_counter; acquire write_pos; "
				       "store need_wake; ");
}

/* [N4 N9]: one check before the sleep and one after it, none in between. */
TEST(order_sleeper_does_not_spin)
{
	static const struct kmes_source_ops nothing_special;
	struct kmes_source src = { .ops = &nothing_special, .fd = -1 };
	struct kmes_ring ring;
	struct kmes_reader rd = { .src = &src, .rings = &ring, .ring_count = 1 };

	mapped_ring(&ring);
	assert_int_equal(kmesp_wait_new(&rd.wait, 1), 0);
	assert_int_equal(kmes_reader_wait(&rd, 5, -1), 0);
	kmesp_wait_free(rd.wait);
	assert_string_equal(order_log, "release need_wake; fence-full; "
				       "acquire futex_counter; acquire write_pos; "
				       "acquire generation; "
				       "acquire write_pos; acquire generation; ");
}
