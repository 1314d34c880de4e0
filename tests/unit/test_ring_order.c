// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ring's code on a machine that reorders as much as its accesses and fences allow.
 *
 * The ordered accesses are replaced by a small executor. The writer's stores wait in a
 * store buffer and become visible in any order that releases, fences and overlaps allow.
 * The reader's loads may be as old as acquires, fences and earlier loads of the same
 * location allow, and plain data is loaded as late as the next acquire fence. So a
 * missing ordering shows as torn bytes on any hardware; on x86 itself most would never
 * show.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum order { RELAXED, ACQUIRE, RELEASE, FULL };

static uint64_t sim_load(const void *at, unsigned int len, enum order order);
static void sim_store(void *at, uint64_t value, unsigned int len, enum order order);
static void sim_fence(enum order order);
static void sim_copy(void *dst, const void *src, size_t n);

#define KMES_ORDER_H
#define KMES_TSAN 1 /* no plain stores of data */
#define kmes_load_relaxed(p) ((__typeof__(*(p)))sim_load((p), sizeof(*(p)), RELAXED))
#define kmes_load_acquire(p) ((__typeof__(*(p)))sim_load((p), sizeof(*(p)), ACQUIRE))
#define kmes_store_relaxed(p, v) sim_store((p), (v), sizeof(*(p)), RELAXED)
#define kmes_store_release(p, v) sim_store((p), (v), sizeof(*(p)), RELEASE)
#define kmes_fence_acquire() sim_fence(ACQUIRE)
#define kmes_fence_release() sim_fence(RELEASE)
#define kmes_fence_full() sim_fence(FULL)
#define kmes_copy_shared(dst, src, n) sim_copy((dst), (src), (n))

#include "kmes_ring.h"
#include "kmes_view.h"
#include "unit.h"

#define CAPACITY 512u
#define LENGTH (KMES_DATA_OFFSET + 2 * CAPACITY)
#define ONCE (KMES_DATA_OFFSET + CAPACITY) /* bytes of memory */
#define STREAM 65536u

/* The writer sees its own stores at once; the reader's addresses only name locations. */
static _Alignas(8) uint8_t writer_side[LENGTH], reader_side[LENGTH];
static uint8_t memory[ONCE]; /* globally visible, except for `visible` */

struct store {
	uint32_t at;
	uint8_t bytes[8];
	uint8_t len;
	bool is_release;
	uint32_t epoch; /* release fences before it */
};

static struct store pending[2048];
static uint32_t pending_count, writer_epoch;
static struct store visible[8192]; /* in the order in which they became so */
static uint32_t visible_count;

/* How old the reader's loads may be, as a number of visible stores. */
static uint32_t bound, newest_read, tail_read, write_read;

struct late_load {
	uint8_t *dst;
	uint32_t at, len, bound;
};
static struct late_load late[64];
static uint32_t late_count;

static uint16_t stream[STREAM]; /* as it should be read; 0x100: never written */
static struct kmes_mark marks[1];
static struct kmes_ring_writer w;
static uint64_t random_state;
static bool writer_runs;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % limit);
}

static uint32_t place_of(const uint8_t *side, const void *address)
{
	uint32_t at = (uint32_t)((const uint8_t *)address - side);

	return at < ONCE ? at : at - CAPACITY;
}

static bool is_within(const uint8_t *side, const void *address)
{
	const uint8_t *at = address;

	return at >= side && at < side + LENGTH;
}

/* ---- the writer's stores ---- */

static bool overlaps(const struct store *a, const struct store *b)
{
	return a->at < b->at + b->len && b->at < a->at + a->len;
}

static bool may_pass(const struct store *later, const struct store *earlier)
{
	return !later->is_release && later->epoch == earlier->epoch &&
	       !overlaps(later, earlier);
}

/* Makes one pending store visible, any that is allowed to be. */
static void flush_one(void)
{
	uint32_t i = random_below(pending_count);

	for (uint32_t j = 0; j < i; j++) {
		if (!may_pass(&pending[i], &pending[j])) {
			i = j;
			j = (uint32_t)-1;
		}
	}
	visible[visible_count++] = pending[i];
	memmove(&pending[i], &pending[i + 1], (--pending_count - i) * sizeof(pending[0]));
}

static void store_bytes(uint32_t at, const uint8_t *bytes, size_t len, enum order order)
{
	struct store *s = &pending[pending_count++];

	s->at = at;
	s->len = (uint8_t)len;
	memcpy(s->bytes, bytes, len);
	s->is_release = order == RELEASE;
	s->epoch = writer_epoch;
	assert_between(pending_count, 1, 2047);
}

static void sim_store(void *at, uint64_t value, unsigned int len, enum order order)
{
	memcpy(at, &value, len);
	/* The counts are private to the writer: these rings' readers do not use them. */
	if ((const uint8_t *)at >= (const uint8_t *)&w &&
	    (const uint8_t *)at < (const uint8_t *)(&w + 1))
		return;
	assert_true(is_within(writer_side, at));
	store_bytes(place_of(writer_side, at), at, len, order);
}

static void writer_data(uint8_t *dst, const uint8_t *src, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t at = place_of(writer_side, dst + i);
		size_t piece = 8 - at % 8;

		if (piece > n - i)
			piece = n - i;
		store_bytes(at, src + i, piece, RELAXED);
		for (size_t k = 0; k < piece; k++) {
			writer_side[at + k] = src[i + k];
			writer_side[at + k + CAPACITY] = src[i + k];
		}
		i += piece;
	}
}

/* ---- the writer, driven by the reader's accesses ---- */

static void remember(uint64_t pos)
{
	uint64_t kept = w.tail_pos;

	for (; pos < w.write_pos; pos++)
		stream[pos % STREAM] = pos < kept ? 0x100 : w.data[pos & (CAPACITY - 1)];
}

static void writer_acts(void)
{
	static const uint8_t text[200] = { 0 };
	struct kmes_record records[16];
	struct kmes_stamp stamp = { .timestamp = random_below(1u << 30) };
	uint32_t count = random_below(6) ? 1 : 1 + random_below(16);
	uint8_t payloads[16][120];
	uint64_t pos = w.write_pos;
	bool wake;

	for (uint32_t i = 0; i < count; i++) {
		memset(payloads[i], (int)random_below(256), sizeof(payloads[i]));
		records[i] = (struct kmes_record){ text, payloads[i],
						   1 + random_below(119), 1 };
	}
	if (count == 1)
		assert_int_equal(kmes_ring_write(&w, records, &stamp, &wake), 0);
	else
		assert_int_equal(kmes_ring_write_batch(&w, records, count, &stamp, &wake),
				 0);
	remember(pos);
}

static void machine_moves(void)
{
	bool was_running = writer_runs;

	if (was_running)
		return;
	writer_runs = true;
	if (pending_count < 40 && random_below(3) == 0)
		writer_acts();
	for (uint32_t n = random_below(24); n && pending_count; n--)
		flush_one();
	writer_runs = false;
}

/* ---- the reader's loads ---- */

static uint8_t byte_at(uint32_t at, uint32_t version)
{
	for (uint32_t i = version; i-- > 0;) {
		if (at >= visible[i].at && at < visible[i].at + visible[i].len)
			return visible[i].bytes[at - visible[i].at];
	}
	return memory[at];
}

static uint32_t pick_version(uint32_t at_least)
{
	/* Mostly near one end: the oldest allowed, the newest, anything. */
	switch (random_below(4)) {
	case 0:
		return at_least;
	case 1:
		return visible_count;
	default:
		return at_least + random_below(visible_count - at_least + 1);
	}
}

static uint64_t sim_load(const void *address, unsigned int len, enum order order)
{
	uint64_t value = 0;
	uint32_t at, version, *last;

	if (is_within(writer_side, address)) { /* need_wake and the writer's own word */
		memcpy(&value, address, len);
		return value;
	}
	machine_moves();
	at = place_of(reader_side, address);
	last = at == 72 ? &tail_read : &write_read;
	version = pick_version(bound > *last ? bound : *last);
	*last = version;
	if (version > newest_read)
		newest_read = version;
	if (order == ACQUIRE)
		bound = version > bound ? version : bound;
	for (unsigned int i = len; i-- > 0;)
		value = value << 8 | byte_at(at + i, version);
	return value;
}

static void load_late(void)
{
	for (uint32_t i = 0; i < late_count; i++) {
		uint32_t version = 0;

		for (uint32_t k = 0; k < late[i].len; k++) {
			uint32_t at = late[i].at + k;

			if (k % 8 == 0)
				version = pick_version(late[i].bound);
			if (version > newest_read)
				newest_read = version;
			at = at < ONCE ? at : at - CAPACITY;
			late[i].dst[k] = byte_at(at, version);
		}
	}
	late_count = 0;
}

static void sim_copy(void *dst, const void *src, size_t n)
{
	if (is_within(writer_side, dst)) {
		writer_data(dst, src, n);
	} else if (is_within(writer_side, src)) {
		memcpy(dst, src, n);
	} else {
		assert_between(late_count, 0, 63);
		late[late_count++] = (struct late_load){ dst, place_of(reader_side, src),
							 (uint32_t)n, bound };
		machine_moves();
	}
}

static void sim_fence(enum order order)
{
	if (order == ACQUIRE) {
		machine_moves();
		load_late();
		bound = bound > newest_read ? bound : newest_read;
	} else {
		writer_epoch++;
	}
}

/* ---- tests ---- */

static void start(uint64_t seed)
{
	random_state = seed;
	memset(writer_side, 0, sizeof(writer_side));
	memset(memory, 0, sizeof(memory));
	pending_count = 0;
	kmes_ring_init(&w, (void *)writer_side, (const void *)(writer_side + 4096),
		       writer_side + KMES_DATA_OFFSET, marks, CAPACITY, 1, 1);
	memcpy(memory, writer_side, KMES_DATA_OFFSET);
	pending_count = 0;
	visible_count = 0;
	bound = newest_read = tail_read = write_read = 0;
}

/* Between two copies nothing older than the last read matters. */
static void forget_old_versions(void)
{
	for (uint32_t i = 0; i < visible_count; i++)
		memcpy(memory + visible[i].at, visible[i].bytes, visible[i].len);
	visible_count = 0;
	bound = newest_read = tail_read = write_read = 0;
}

static const struct kmes_ring_view view = {
	(const void *)reader_side,
	reader_side + KMES_DATA_OFFSET,
	CAPACITY,
};

/* Advances as a reader does: event by event through the span. */
static uint64_t check_span(const struct kmes_ring_span *span, const uint8_t *buf)
{
	const uint8_t *at = buf + span->skip;
	uint32_t used = 0, size;

	for (uint32_t i = 0; i < span->len; i++)
		assert_int_equal(at[i], stream[(span->pos + i) % STREAM]);
	while (span->len - used >= 4) {
		memcpy(&size, at + used, 4);
		if (size > span->len - used)
			break;
		assert_between(size, 78, CAPACITY / 2);
		used += size;
	}
	return span->pos + used;
}

/* [O1] [O2] [O6] [O7] [D5] [E8] [E9] */
TEST(ring_order_never_returns_a_torn_byte)
{
	uint64_t read_bytes = 0, laps = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t pos = 0;

		start(seed);
		while (w.write_pos < STREAM - 4096) {
			struct kmes_ring_span span;
			uint8_t buf[CAPACITY];
			uint64_t next;

			forget_old_versions();
			assert_int_equal(
				kmes_ring_copy(&view, pos, buf, sizeof(buf), &span), 0);
			load_late();
			next = check_span(&span, buf);
			assert_true(next >= pos);
			laps += span.lapped;
			read_bytes += next - span.pos;
			pos = next;
		}
	}
	/* The reader sometimes kept up, and was sometimes lapped. */
	assert_true(read_bytes > 200000);
	assert_true(laps > 2000);
}
