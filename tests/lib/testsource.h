/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * testsource.h - a source inside the test, over rings that the test writes as it likes,
 * and a log of what a reader makes of them.
 */
#ifndef KMES_TESTS_TESTSOURCE_H
#define KMES_TESTS_TESTSOURCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kmes.h"
#include "source.h"
#include "testring.h"

#define TESTSOURCE_SLOTS 512

struct testsource {
	struct kmes_source src;
	pthread_mutex_t lock; /* of rings[], against an attach in another thread */
	int slots;
	struct testring *rings[TESTSOURCE_SLOTS]; /* NULL: a hole */
	bool tells_birth; /* attaching tells the birth generation */
	bool ended;
	/*
	 * Readers get the writer's own mapping: ThreadSanitizer, which goes by addresses,
	 * sees both sides then. So it is in its builds.
	 */
	bool shares_mapping;
	struct testring *retired[TESTSOURCE_SLOTS]; /* kept for those readers */
	int retired_count;
	uint64_t fixed_capacity; /* what is really mapped, if not 0 */
	uint32_t attaches;
	/* Called when a ring is attached to, also after the end, before its page is read. */
	void (*on_attach)(struct testsource *ts, uint16_t cpu);
};

/* `slots` empty rings; capacity 0: only holes. */
struct testsource *testsource_new(int slots, uint64_t capacity);
void testsource_free(struct testsource *ts);

/* Replace a ring as a resize does; called by who writes it. */
void testsource_resize(struct testsource *ts, uint16_t cpu, uint64_t capacity);

/* ---- what a reader hands out ---- */

/*
 * A log line: events as "cpu.sequence ", losses as "cpu.first-last ", a replacement as
 * "cpu:oldgeneration>newgeneration ", a note as "! ".
 */
struct testlog {
	char text[65536];
	size_t len;
	uint32_t items, events, notes;
	uint64_t lost;
	char note[512];		/* the last one */
	uint64_t last_event_ns; /* CLOCK_MONOTONIC when it was handed out */
};

void testlog_add(struct testlog *log, const struct kmes_item *item);

/* Read until nothing is there; returns what kmes_reader_next said last. */
int testlog_drain(struct testlog *log, struct kmes_reader *rd);

/* Read and wait until `items` more were handed out, or this time is over. */
int testlog_wait(struct testlog *log, struct kmes_reader *rd, uint32_t items,
		 uint32_t timeout_ms);

/* A reader of all rings, or NULL with the error in `err`. */
struct kmes_reader *testsource_read(struct testsource *ts, enum kmes_reader_order order,
				    bool only_new, bool snapshot, struct kmes_error *err);

uint64_t test_now_ns(void); /* CLOCK_MONOTONIC */
uint64_t test_real_ns(void);
void test_nap_us(uint64_t us);

#endif
