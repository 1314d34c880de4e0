// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Emission for a client: the order of checks, prefixes, large batches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/kmes-sim/sim.h"
#include "unit.h"

#define CAPACITY 65536
#define RATE 1000

static struct sim_options options;
static struct sim *sim;
static struct sim_client client;

static void make_sim(void)
{
	static const struct kmes_cpus no_holes;

	options = (struct sim_options){
		.limits = { 65536, 32 },
		.max_emit_rate = RATE,
	};
	sim = calloc(1, sizeof(*sim));
	sim->options = &options;
	sim_peers_init(&sim->peers, RATE);
	client = (struct sim_client){ .has_privileges = true };
	client.peer = sim_peers_get(&sim->peers, getpid());
	assert_int_equal(sim_slots_init(&sim->slots, 2, &no_holes, CAPACITY), 0);
}

static void free_sim(void)
{
	sim_slots_fini(&sim->slots);
	sim_peers_fini(&sim->peers);
	free(sim);
}
EACH_TEST(make_sim, free_sim);

/* A body as a client builds it. */
struct builder {
	uint8_t *bytes;
	uint32_t count, table_count;
	size_t len;
};

static struct builder begin(uint32_t table_count)
{
	struct builder b = { malloc(4 << 20), 0, table_count,
			     table_count * sizeof(struct sim_entry) };

	assert_non_null(b.bytes);
	memset(b.bytes, 0, b.len);
	return b;
}

static void tell_lengths(struct builder *b, uint16_t type_len, uint32_t payload_len)
{
	const struct sim_entry e = { payload_len, type_len, 0 };

	memcpy(b->bytes + b->count++ * sizeof(e), &e, sizeof(e));
}

static void add_bytes(struct builder *b, const void *bytes, size_t len)
{
	memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
}

static void add(struct builder *b, const char *type, const void *payload, uint32_t len)
{
	tell_lengths(b, strlen(type), len);
	add_bytes(b, type, strlen(type));
	add_bytes(b, payload, len);
}

/* A binary value of `size` bytes in total. */
static void add_large(struct builder *b, uint32_t size, uint8_t fill)
{
	uint8_t *payload = malloc(size);

	memset(payload, fill, size);
	payload[0] = 0xc6;
	payload[1] = 0;
	payload[2] = (size - 5) >> 16;
	payload[3] = (size - 5) >> 8;
	payload[4] = size - 5;
	add(b, "t", payload, size);
	free(payload);
}

static int emit_on(int cpu, struct builder *b, uint32_t count, uint32_t *emitted)
{
	const struct sim_request request = { .cpu = cpu, .count = count };
	const struct sim_body body = { b->bytes, -1, b->len };
	int r = sim_emit_client(sim, &client, &request, &body, emitted);

	free(b->bytes);
	return r;
}

static int emit_file(struct builder *b, uint32_t count, uint32_t *emitted)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	const struct sim_request request = { .cpu = 0, .count = count };
	const struct sim_body body = { NULL, fd, b->len };
	int r;

	assert_int_equal(write(fd, b->bytes, b->len), (ssize_t)b->len);
	r = sim_emit_client(sim, &client, &request, &body, emitted);
	close(fd);
	free(b->bytes);
	return r;
}

static const struct kmes_ring_writer *ring(uint16_t cpu)
{
	return &sim->slots.rings[cpu].writer;
}

static uint64_t tokens(void)
{
	kmes_rate_fill(&client.peer->bucket, RATE, kmesp_clock_ns(CLOCK_MONOTONIC));
	return client.peer->bucket.units / KMES_RATE_TOKEN;
}

/* Empties the bucket, without refill. */
static void use_up_the_rate(void)
{
	client.peer->bucket.units = 0;
	client.peer->bucket.filled_ns = UINT64_MAX;
}

/* Each case also fails all later checks. [E1] */
TEST(sim_emit_checks_are_in_order)
{
	uint32_t emitted = 99;
	struct builder b;

	use_up_the_rate();
	client.has_privileges = false;
	b = begin(1);
	assert_int_equal(emit_on(9, &b, 0, &emitted), -EPERM);
	client.has_privileges = true;
	options.deny_emit = true;
	b = begin(1);
	assert_int_equal(emit_on(9, &b, 0, &emitted), -EPERM);
	options.deny_emit = false;
	b = begin(1);
	assert_int_equal(emit_on(0, &b, 0, &emitted), -EINVAL);
	b = begin(257);
	assert_int_equal(emit_on(0, &b, 257, &emitted), -EINVAL);
	b = begin(1);
	tell_lengths(&b, 0, UINT32_MAX);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EAGAIN);
	assert_int_equal(emitted, 0);
	kmes_rate_init(&client.peer->bucket, RATE, kmesp_clock_ns(CLOCK_MONOTONIC));
	b = begin(1);
	tell_lengths(&b, 0, UINT32_MAX);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EINVAL);
	b = begin(1);
	tell_lengths(&b, 1, UINT32_MAX);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EINVAL);
	b = begin(1);
	tell_lengths(&b, 1, 65536);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -ENOSPC);
	b = begin(1);
	tell_lengths(&b, 1, 32768);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -ENOSPC);
	b = begin(1);
	tell_lengths(&b, 1, 10);
	add_bytes(&b, "\xff", 1);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EFAULT);
	b = begin(1);
	add(&b, "\xff", "\xc0", 1);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EINVAL);
	b = begin(1);
	add(&b, "t", "\xc1", 1);
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EINVAL);
	/* the table itself is truncated */
	b = begin(1);
	b.len = 5;
	assert_int_equal(emit_on(0, &b, 1, &emitted), -EFAULT);
	assert_int_equal(emitted, 0);
	/* none of them had an effect [E7] */
	assert_int_equal(ring(0)->sequence, 0);
	assert_int_equal(ring(0)->write_pos, 0);
	assert_int_equal(tokens(), RATE);
}

/* [E5 E6 E7] */
TEST(sim_emit_writes_the_bytes_verbatim)
{
	struct kmes_event_header h;
	uint32_t emitted;
	struct builder b = begin(1);

	add(&b, "app.login", "\xcd\x00\x05", 3);
	assert_int_equal(emit_on(1, &b, 1, &emitted), 0);
	assert_int_equal(emitted, 1);
	memcpy(&h, ring(1)->data, sizeof(h));
	assert_int_equal(h.event_size, 77 + 9 + 3);
	assert_int_equal(h.sequence, 1);
	assert_int_equal(h.cpu_id, 1);
	assert_int_equal(h.origin_class, 0);
	assert_true(h.timestamp > 1700000000000000000u);
	assert_memory_equal(h.process_guid, client.peer->guid, 16);
	assert_memory_equal(h.true_token_guid, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_memory_equal(ring(1)->data + 77,
			    "app.login"
			    "\xcd\x00\x05",
			    12);
}

/* [E8 E11] */
TEST(sim_emit_batch_writes_the_prefix_and_refunds_the_rest)
{
	uint32_t emitted;
	struct builder b = begin(4);

	client.peer->bucket.units = RATE * KMES_RATE_TOKEN;
	client.peer->bucket.filled_ns = UINT64_MAX; /* no time passes */
	add(&b, "a", "\x01", 1);
	add(&b, "b", "\x02", 1);
	add(&b, "c", "\xc1", 1);
	add(&b, "d", "\x04", 1);
	assert_int_equal(emit_on(0, &b, 4, &emitted), -EINVAL);
	assert_int_equal(emitted, 2);
	assert_int_equal(ring(0)->sequence, 2);
	assert_int_equal(ring(0)->counts.emitted_events, 2);
	assert_int_equal(client.peer->bucket.units, (RATE - 2) * KMES_RATE_TOKEN);
}

/* [E11] */
TEST(sim_emit_batch_beyond_the_rate_is_refused_entirely)
{
	uint32_t emitted, i;
	struct builder b = begin(3);

	client.peer->bucket.units = 2 * KMES_RATE_TOKEN;
	client.peer->bucket.filled_ns = UINT64_MAX;
	for (i = 0; i < 3; i++)
		add(&b, "a", "\x01", 1);
	assert_int_equal(emit_on(0, &b, 3, &emitted), -EAGAIN);
	assert_int_equal(ring(0)->sequence, 0);
	assert_int_equal(client.peer->bucket.units, 2 * KMES_RATE_TOKEN);
	options.exempt = true;
	b = begin(3);
	for (i = 0; i < 3; i++)
		add(&b, "a", "\x01", 1);
	assert_int_equal(emit_on(0, &b, 3, &emitted), 0);
	assert_int_equal(client.peer->bucket.units, 2 * KMES_RATE_TOKEN);
}

TEST(sim_emit_hole_is_refused)
{
	uint32_t emitted;
	struct builder b = begin(1);

	add(&b, "a", "\x01", 1);
	assert_int_equal(emit_on(2, &b, 1, &emitted), -EINVAL);
	b = begin(1);
	add(&b, "a", "\x01", 1);
	assert_int_equal(emit_on(SIM_CPU_ANY, &b, 1, &emitted), 0);
	assert_int_equal(ring(0)->sequence + ring(1)->sequence, 1);
}

/* The last event's size, from the end of the published bytes. */
static void assert_newest_are_whole(uint32_t size, uint32_t count)
{
	struct kmes_event_header h;
	uint64_t pos = ring(0)->tail_pos;
	uint64_t sequence = ring(0)->sequence - kmes_ring_live(ring(0));
	uint8_t last;

	for (; pos < ring(0)->write_pos; pos += h.event_size) {
		memcpy(&h, ring(0)->data + (pos & (CAPACITY - 1)), sizeof(h));
		assert_int_equal(h.event_size, size);
		assert_int_equal(h.sequence, ++sequence);
		last = ring(0)->data[(pos + size - 1) & (CAPACITY - 1)];
		assert_int_equal(last, (uint8_t)h.sequence);
	}
	assert_int_equal(sequence, ring(0)->sequence);
	assert_int_equal(kmes_ring_live(ring(0)), count);
}

/* Twenty events of 10000 bytes in a ring of 65536: the newest six stay. [E9] */
TEST(sim_emit_batch_larger_than_the_ring_keeps_the_newest)
{
	uint32_t emitted, i;
	struct builder b = begin(20);

	for (i = 0; i < 20; i++)
		add_large(&b, 10000 - 78, i + 1);
	assert_int_equal(emit_file(&b, 20, &emitted), 0);
	assert_int_equal(emitted, 20);
	assert_newest_are_whole(10000, 6);
	assert_int_equal(ring(0)->counts.overwritten_events, 14);
	assert_int_equal(ring(0)->counts.emitted_events, 20);
}

/* The last one is bad: the staged events before it are still written. [E8 E9] */
TEST(sim_emit_large_batch_writes_its_prefix)
{
	uint32_t emitted, i;
	struct builder b = begin(21);

	for (i = 0; i < 20; i++)
		add_large(&b, 10000 - 78, i + 1);
	add(&b, "t", "\xc1", 1);
	assert_int_equal(emit_file(&b, 21, &emitted), -EINVAL);
	assert_int_equal(emitted, 20);
	assert_newest_are_whole(10000, 6);
}

/* A file shorter than announced. */
TEST(sim_emit_truncated_body_is_a_fault)
{
	uint32_t emitted;
	struct builder b = begin(2);
	int fd = memfd_create("test", MFD_CLOEXEC);
	const struct sim_request request = { .cpu = 0, .count = 2 };
	const struct sim_body body = { NULL, fd, 1 << 20 };

	add(&b, "a", "\x01", 1);
	tell_lengths(&b, 1, 5000);
	assert_int_equal(write(fd, b.bytes, b.len), (ssize_t)b.len);
	assert_int_equal(sim_emit_client(sim, &client, &request, &body, &emitted),
			 -EFAULT);
	assert_int_equal(emitted, 1);
	close(fd);
	free(b.bytes);
}

/* [E10] */
TEST(sim_emit_trusted_drop_uses_a_sequence)
{
	static uint8_t payload[CAPACITY];
	const struct kmes_pack too_large = { payload, sizeof(payload), 32768, false };
	const struct kmes_pack none = { payload, 0, 0, false };

	sim_emit_trusted(sim, &sim->slots.rings[0], KMES_ORIGIN_KMES, client.peer->guid,
			 "t", &too_large);
	assert_int_equal(ring(0)->sequence, 1);
	assert_int_equal(ring(0)->counts.dropped_events, 1);
	assert_int_equal(ring(0)->counts.emitted_events, 0);
	sim_emit_trusted(sim, &sim->slots.rings[0], KMES_ORIGIN_KMES, client.peer->guid,
			 "t", &none);
	assert_int_equal(ring(0)->sequence, 2);
	assert_int_equal(kmes_ring_live(ring(0)), 1);
}

TEST(sim_emit_timestamps_follow_the_clock_offset)
{
	struct kmes_stamp before, after;

	sim_stamp_take(sim, &before, 0, client.peer->guid);
	sim->clock_offset_ns = -3600000000000;
	sim_stamp_take(sim, &after, 0, client.peer->guid);
	assert_true(after.timestamp < before.timestamp - 3590000000000);
	assert_true(after.timestamp >= before.timestamp - 3600000000000);
}
