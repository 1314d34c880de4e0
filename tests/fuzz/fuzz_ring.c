// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Rings of random bytes, of random positions, and valid ones damaged while being read:
 * the reader accesses nothing outside, always returns, and its events rise by sequence
 * and do not overlap with losses. [D6] [M9] [D1]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "testsource.h"

#define CPUS 3

static uint64_t random_state;
static struct testsource *ts;
static volatile uint8_t sink;

static struct {
	uint64_t rounds, events, losses, notes, resizes, parsed;
	const char *wrong;
	uint64_t wrong_seed;
} sum;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % limit);
}

static uint64_t any_number(void)
{
	switch (below(6)) {
	case 0:
		return below(200);
	case 1:
		return below(70000);
	case 2:
		return (uint64_t)0 - below(100000);
	case 3:
		return 1ull << below(64);
	case 4:
		return (1ull << below(64)) - 1 + below(3);
	default:
		return (uint64_t)below(UINT32_MAX) << 32 | below(UINT32_MAX);
	}
}

static void touch(const void *bytes, uint32_t len)
{
	uint8_t x = 0;

	for (uint32_t i = 0; i < len; i++)
		x ^= ((const uint8_t *)bytes)[i];
	sink = x;
}

static void wrong(const char *what, uint64_t seed)
{
	if (sum.wrong)
		return;
	sum.wrong = what;
	sum.wrong_seed = seed;
}

/* ---- damage ---- */

static void scribble(struct testring *ring)
{
	uint64_t at = below((uint32_t)ring->w.capacity);
	uint32_t len = 1 + below(below(4) ? 8 : 3000);

	for (uint32_t i = 0; i < len; i++)
		ring->data[(at + i) % ring->w.capacity] = (uint8_t)below(256);
}

/* A field of a header in the live span, where the reader will read it. */
static void damage_field(struct testring *ring)
{
	static const uint8_t offsets[] = { 0, 4, 8, 16, 24, 75 };
	uint64_t pos = ring->w.tail_pos, value = any_number();
	uint32_t steps = below(40), offset = offsets[below(sizeof(offsets))];

	while (steps-- && pos < ring->w.write_pos) {
		uint32_t size;

		memcpy(&size, ring->data + pos % ring->w.capacity, 4);
		if (size < 78 || size > ring->w.capacity)
			break;
		pos += size;
	}
	memcpy(ring->data + pos % ring->w.capacity + offset, &value,
	       offset == 24 || offset == 75 ? 2
	       : offset < 8		    ? 4
					    : 8);
}

static void write_events(struct testring *ring)
{
	for (uint32_t n = below(30); n; n--) {
		if (below(30) == 0)
			ring->w.sequence += below(5);
		testring_emit_size(ring, 78 + below(below(8) ? 200 : 1970));
	}
}

static void damage_positions(struct testring *ring)
{
	uint64_t write_pos = ring->producer->write_pos;
	uint64_t tail_pos = ring->producer->tail_pos;

	switch (below(4)) {
	case 0:
		write_pos = any_number();
		break;
	case 1:
		tail_pos = any_number();
		break;
	case 2:
		write_pos += below(8192);
		break;
	default:
		tail_pos += below(8192);
	}
	testring_set_positions(ring, write_pos, tail_pos);
}

static void act(void)
{
	uint16_t cpu = (uint16_t)below(CPUS);
	struct testring *ring = ts->rings[cpu];

	switch (below(16)) {
	case 0:
		scribble(ring);
		break;
	case 1:
	case 2:
		damage_field(ring);
		break;
	case 3:
		damage_positions(ring);
		break;
	case 4:
		ring->producer->generation = 1 + any_number() % 5;
		break;
	case 5:
		testsource_resize(ts, cpu, 4096u << below(4));
		break;
	default:
		write_events(ring);
	}
}

/* ---- reading ---- */

struct seen {
	uint64_t last[CPUS];
};

static void check_item(struct seen *seen, const struct kmes_item *item, uint64_t seed)
{
	const struct kmes_event *e = item->event;

	switch (item->kind) {
	case KMES_ITEM_EVENT:
		sum.events++;
		if (e->cpu >= CPUS || e->seq <= seen->last[e->cpu]) {
			wrong("an event twice, or of no CPU", seed);
			return;
		}
		seen->last[e->cpu] = e->seq;
		if (e->size > 2 * KMES_CAPACITY_MIN || e->type_len == 0 ||
		    e->payload_len > e->size ||
		    (const uint8_t *)e->type + e->type_len > e->payload ||
		    e->payload + e->payload_len != e->bytes + e->size)
			wrong("an event that does not fit together", seed);
		else
			touch(e->bytes, e->size);
		break;
	case KMES_ITEM_LOSS:
		sum.losses++;
		/* Starting after the newest event, the previous one is unknown. */
		if (item->loss.cpu >= CPUS || item->loss.first > item->loss.last ||
		    (seen->last[item->loss.cpu] &&
		     item->loss.first != seen->last[item->loss.cpu] + 1))
			wrong("a loss that is not the gap", seed);
		break;
	case KMES_ITEM_RESIZE:
		sum.resizes++;
		break;
	case KMES_ITEM_NOTE:
		sum.notes++;
		if (!strstr(item->note, "cpu") || !strstr(item->note, "position"))
			wrong("a note without CPU and position", seed);
	}
}

static void read_damaged(uint64_t seed)
{
	struct kmes_error err = { "" };
	struct kmes_reader *rd;
	struct kmes_item item;
	struct seen seen = { { 0 } };
	bool snapshot;

	random_state = seed;
	ts = testsource_new(CPUS, 4096u << below(4));
	ts->tells_birth = below(2);
	for (uint32_t n = below(20); n; n--)
		act();
	snapshot = below(4) == 0;
	alarm(20); /* an endless loop fails by SIGALRM */
	rd = testsource_read(ts, below(2) ? KMES_ORDER_TIME : KMES_ORDER_CPU,
			     below(4) == 0, snapshot, &err);
	for (uint32_t n = 0; rd && n < 200; n++) {
		int r = 0;

		for (uint32_t i = below(50); i && r >= 0; i--) {
			r = kmes_reader_next(rd, &item);
			if (r > 0)
				check_item(&seen, &item, seed);
		}
		if (r < 0)
			break;
		if (below(8) == 0)
			kmes_reader_wait(rd, 0, -1);
		act();
	}
	kmes_reader_close(rd);
	testsource_free(ts);
	sum.rounds++;
}

/* The parser alone, on bytes that end with their allocation. */
static void parse_random(void)
{
	struct testring_event sound = { .seq = 1,
					.type = "type",
					.payload = "\xa2xy",
					.payload_len = 3,
					.grown = below(20) };
	uint32_t len = below(160), take;
	uint8_t bytes[256];
	struct kmes_event e;
	uint8_t *exact;
	int r;

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)below(256);
	if (below(4))
		len = testring_build(&sound, bytes, sizeof(bytes));
	for (uint32_t n = below(3); n; n--) {
		uint64_t value = any_number();

		memcpy(bytes + (below(2) ? 4 * below(2) : 75), &value, 1 + below(4));
	}
	take = below(3) ? len : below(len + 1);
	exact = malloc(take ? take : 1);
	memcpy(exact, bytes, take);
	r = kmes_event_parse(&e, exact, take, below(3) ? len : any_number());
	if (r > 0) {
		touch(e.bytes, e.size);
		touch(e.type, e.type_len);
		touch(e.payload, e.payload_len);
		if (e.size > take)
			wrong("parsed an event beyond its bytes", 0);
		sum.parsed++;
	} else if (r == 0 && e.size <= take) {
		wrong("asked for bytes that it had", 0);
	}
	free(exact);
}

int main(void)
{
	uint64_t end = test_now_ns() + tap_fuzz_seconds() * 1000000000ull;
	uint64_t seed = test_real_ns() & 0xffffffff;
	const char *fixed = getenv("KMES_FUZZ_SEED");

	if (fixed)
		seed = strtoull(fixed, NULL, 10);
	tap_note("seed %llu (KMES_FUZZ_SEED repeats it)", (unsigned long long)seed);
	do {
		read_damaged(seed++);
		for (int i = 0; i < 2000; i++)
			parse_random();
	} while (test_now_ns() < end && !sum.wrong && !fixed);
	if (sum.wrong)
		tap_note("%s, seed %llu", sum.wrong, (unsigned long long)sum.wrong_seed);
	tap_note(
		"%llu rounds: %llu events, %llu losses, %llu notes, %llu resizes; %llu parsed",
		(unsigned long long)sum.rounds, (unsigned long long)sum.events,
		(unsigned long long)sum.losses, (unsigned long long)sum.notes,
		(unsigned long long)sum.resizes, (unsigned long long)sum.parsed);
	tap_ok(!sum.wrong, "fuzz_ring: no event out of order in damaged rings");
	tap_ok(fixed || (sum.events && sum.losses && sum.notes && sum.resizes &&
			 sum.parsed),
	       "fuzz_ring: everything came up");
	return tap_done();
}
