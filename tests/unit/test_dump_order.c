// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The window that reorders events of captures: merging, queues, its size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/kmes-dump/order.h"
#include "testring.h"
#include "unit.h"

#define WIDE (64u << 20)

static const struct kmes_capture_info plain = { .start_ns = 1, .slots = 4 };

static void add(struct dump_order *o, const struct kmes_capture_info *info, uint16_t cpu,
		uint64_t seq, uint64_t ts_ns, uint32_t payload_len)
{
	static uint8_t payload[1 << 20], bytes[2 << 20];
	struct testring_event event = {
		.ts_ns = ts_ns,
		.seq = seq,
		.cpu = cpu,
		.type = "t",
		.payload = payload,
		.payload_len = payload_len,
	};
	struct kmes_event e;
	struct kmes_item item = { .kind = KMES_ITEM_EVENT, .event = &e };
	uint32_t size = testring_build(&event, bytes, sizeof(bytes));

	assert_int_equal(kmes_event_parse(&e, bytes, size, size), 1);
	assert_int_equal(dump_order_add(o, &item, info), 0);
}

static void add_loss(struct dump_order *o, uint16_t cpu, uint64_t first, uint64_t ts_ns)
{
	struct kmes_item item = { .kind = KMES_ITEM_LOSS };

	item.loss = (struct kmes_loss){ cpu, first, first + 1, ts_ns };
	assert_int_equal(dump_order_add(o, &item, &plain), 0);
}

/* Events as "cpu:seq@time" words; "cpu:-first@time" is a loss. */
static void add_all(struct dump_order *o, const struct kmes_capture_info *info,
		    const char *words)
{
	char *end;

	for (; *words; words = end + strspn(end, " ")) {
		uint16_t cpu = (uint16_t)strtoul(words, &end, 10);
		long long seq = strtoll(end + 1, &end, 10);
		uint64_t ts_ns = strtoull(end + 1, &end, 10);

		if (seq < 0)
			add_loss(o, cpu, (uint64_t)-seq, ts_ns);
		else
			add(o, info, cpu, (uint64_t)seq, ts_ns, 1);
	}
}

/* Everything, as "cpu:seq" words; a loss is "cpu:-first". */
static const char *rest(struct dump_order *o)
{
	static char text[4096];
	struct kmes_capture_info info;
	struct kmes_item item;
	size_t len = 0;

	text[0] = '\0';
	dump_order_drain(o);
	while (dump_order_take(o, &item, &info)) {
		assert_between(len, 0, sizeof(text) - 64);
		if (item.kind == KMES_ITEM_LOSS)
			len += (size_t)sprintf(text + len, "%s%u:-%llu", len ? " " : "",
					       item.loss.cpu,
					       (unsigned long long)item.loss.first);
		else
			len += (size_t)sprintf(text + len, "%s%u:%llu", len ? " " : "",
					       item.event->cpu,
					       (unsigned long long)item.event->seq);
	}
	assert_true(dump_order_is_empty(o));
	return text;
}

static struct dump_order *new_window(enum kmes_reader_order order, size_t bytes)
{
	struct dump_order *o;

	assert_int_equal(dump_order_new(&o, order, bytes), 0);
	return o;
}

TEST(dump_order_time_merges_cpus_and_ties_go_by_cpu)
{
	struct dump_order *o = new_window(KMES_ORDER_TIME, WIDE);

	add_all(o, &plain, "1:1@30 1:2@50 0:-1@10 0:3@10 0:4@30 2:1@5");
	assert_string_equal(rest(o), "2:1 0:-1 0:3 0:4 1:1 1:2");
	assert_int_equal(dump_order_late(o), 0);
	dump_order_free(o);
}

TEST(dump_order_time_keeps_the_sequence_after_clock_steps)
{
	struct dump_order *o = new_window(KMES_ORDER_TIME, WIDE);

	add_all(o, &plain, "0:1@10 0:2@5 0:3@20 1:1@7 1:2@12");
	assert_string_equal(rest(o), "1:1 0:1 0:2 1:2 0:3");
	dump_order_free(o);
}

TEST(dump_order_cpu_groups_events_by_cpu)
{
	struct dump_order *o = new_window(KMES_ORDER_CPU, WIDE);
	struct kmes_capture_info other = plain;

	other.start_ns = 2;
	add_all(o, &plain, "1:1@10 0:1@20 1:-2@30 1:4@30 0:2@5");
	/* A later recording stays after it. */
	add_all(o, &other, "0:7@1");
	assert_string_equal(rest(o), "0:1 0:2 1:1 1:-2 1:4 0:7");
	dump_order_free(o);
}

TEST(dump_order_recorded_as_requested_is_kept)
{
	struct kmes_capture_info by_cpu = plain, by_time = plain, later = plain;
	struct dump_order *o = new_window(KMES_ORDER_CPU, WIDE);

	by_cpu.flags = KMES_CAPTURE_BY_CPU;
	by_time.flags = KMES_CAPTURE_BY_TIME;
	add_all(o, &by_cpu, "1:1@10 0:1@20 1:2@30");
	add_all(o, &by_time, "1:3@1 0:2@1");
	assert_string_equal(rest(o), "1:1 0:1 1:2 0:2 1:3");
	dump_order_free(o);

	/* A late event stays late, also between events of another recording. */
	o = new_window(KMES_ORDER_TIME, WIDE);
	later.start_ns = 3;
	add_all(o, &by_time, "1:1@10 0:1@4 1:2@30");
	add_all(o, &later, "3:1@9 3:2@20");
	assert_string_equal(rest(o), "3:1 1:1 0:1 3:2 1:2");
	dump_order_free(o);
}

TEST(dump_order_returns_the_header_of_each)
{
	struct dump_order *o = new_window(KMES_ORDER_TIME, WIDE);
	struct kmes_capture_info other = plain, info;
	struct kmes_item item;

	other.slots = 9;
	add_all(o, &plain, "0:1@20");
	add_all(o, &other, "0:5@10");
	assert_int_equal(dump_order_take(o, &item, &info), 0);
	dump_order_drain(o);
	assert_int_equal(dump_order_take(o, &item, &info), 1);
	assert_int_equal(item.event->seq, 5);
	assert_int_equal(info.slots, 9);
	assert_int_equal(dump_order_take(o, &item, &info), 1);
	assert_int_equal(item.event->seq, 1);
	assert_int_equal(info.slots, 4);
	assert_int_equal(dump_order_take(o, &item, &info), 0);
	assert_true(dump_order_wants_more(o));
	/* Freed with it. */
	add_all(o, &plain, "0:2@20");
	dump_order_free(o);
}

/* A window of 2 MiB over `count` events of 4 CPUs, in runs of `apart` events. */
static uint64_t slide(enum kmes_reader_order order, unsigned int count,
		      unsigned int apart, unsigned int *held_most)
{
	struct dump_order *o = new_window(order, 2 << 20);
	unsigned int added = 0, taken = 0, changes = 0, cpu_before = 9;
	uint64_t last_seq[4] = { 0 }, late;
	struct kmes_capture_info info;
	struct kmes_item item;

	*held_most = 0;
	while (taken < count) {
		while (added < count && dump_order_wants_more(o)) {
			uint16_t cpu = (uint16_t)(added / apart % 4);
			uint64_t seq = added / (4 * apart) * apart + added % apart + 1;

			add(o, &plain, cpu, seq, 1000 * seq + cpu, 900);
			added++;
		}
		if (added - taken > *held_most)
			*held_most = added - taken;
		if (added == count)
			dump_order_drain(o);
		while (dump_order_take(o, &item, &info)) {
			assert_int_equal(item.event->seq, ++last_seq[item.event->cpu]);
			assert_int_equal(item.event->ts_ns,
					 1000 * item.event->seq + item.event->cpu);
			changes += item.event->cpu != cpu_before;
			cpu_before = item.event->cpu;
			taken++;
		}
	}
	late = dump_order_late(o);
	dump_order_free(o);
	return order == KMES_ORDER_CPU ? changes : late;
}

TEST(dump_order_window_has_its_stated_size)
{
	unsigned int held;

	/* Four runs of 300 KB fit into it, those of 1.8 MB do not. */
	assert_int_equal(slide(KMES_ORDER_TIME, 40000, 300, &held), 0);
	assert_between(held, 1500, 2200);
	assert_true(slide(KMES_ORDER_TIME, 40000, 1800, &held) > 1000);
	assert_between(held, 1500, 2200);
	/* By CPU: runs of a window's length, not single events. */
	assert_between(slide(KMES_ORDER_CPU, 40000, 1, &held), 4 * 19, 4 * 27);
	assert_between(held, 1500, 2200);
}

TEST(dump_order_event_larger_than_the_window_is_returned_alone)
{
	struct dump_order *o = new_window(KMES_ORDER_TIME, 100000);
	struct kmes_capture_info info;
	struct kmes_item item;
	uint64_t seq;

	for (seq = 1; seq <= 20; seq++) {
		assert_true(dump_order_wants_more(o));
		add(o, &plain, 0, seq, seq, 1 << 20);
		assert_false(dump_order_wants_more(o));
		assert_int_equal(dump_order_take(o, &item, &info), 1);
		assert_int_equal(item.event->seq, seq);
		assert_int_equal(item.event->payload_len, 1 << 20);
		assert_int_equal(dump_order_take(o, &item, &info), 0);
	}
	dump_order_free(o);
}

TEST(dump_order_an_event_from_the_future_pins_little)
{
	struct dump_order *o = new_window(KMES_ORDER_TIME, 4 << 20);
	struct kmes_capture_info info;
	struct kmes_item item;
	uint64_t seq, futures = 0, given = 0;

	/* Some from far in the future; each may pin its chunk, which is accounted. */
	for (seq = 1; seq <= 100000; seq++) {
		if (seq % 1000 == 0)
			add(o, &plain, 1, ++futures, UINT64_MAX - 100000 + seq, 10);
		add(o, &plain, 0, seq, seq, 300);
		while (!dump_order_wants_more(o) && dump_order_take(o, &item, &info))
			given++;
	}
	assert_true(given > 80000);
	dump_order_drain(o);
	while (dump_order_take(o, &item, &info))
		given++;
	assert_int_equal(given, 100100);
	dump_order_free(o);
}
