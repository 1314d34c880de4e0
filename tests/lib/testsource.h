/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * testsource.h - an in-process source over rings that the test writes, and a log of what
 * a reader returns.
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
	bool tells_birth; /* attaching returns the birth generation */
	bool ended;
	/*
	 * Readers use the writer's own mapping, so that ThreadSanitizer, which goes by
	 * addresses, sees both sides. Set in its builds.
	 */
	bool shares_mapping;
	struct testring *retired[TESTSOURCE_SLOTS]; /* kept for those readers */
	int retired_count;
	uint64_t fixed_capacity; /* the capacity really mapped, if not 0 */
	uint32_t attaches;
	/*
	 * Called when a ring is attached to, also after the end, before its page is read.
	 */
	void (*on_attach)(struct testsource *ts, uint16_t cpu);
};

/* `slots` empty rings; capacity 0: only holes. */
struct testsource *testsource_new(int slots, uint64_t capacity);
void testsource_free(struct testsource *ts);

/* Replaces a ring as a resize does; called by its writer. */
void testsource_resize(struct testsource *ts, uint16_t cpu, uint64_t capacity);

/* ---- what a reader returns ---- */

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
	uint64_t last_event_ns; /* CLOCK_MONOTONIC when it was returned */
};

void testlog_add(struct testlog *log, const struct kmes_item *item);

/* Reads until nothing is available; returns the last result of kmes_reader_next. */
int testlog_drain(struct testlog *log, struct kmes_reader *rd);

/* Reads and waits until `items` more were returned, or a timeout. */
int testlog_wait(struct testlog *log, struct kmes_reader *rd, uint32_t items,
		 uint32_t timeout_ms);

/* A reader of all rings, or NULL with the error in `err`. */
struct kmes_reader *testsource_read(struct testsource *ts, enum kmes_reader_order order,
				    bool only_new, bool snapshot, struct kmes_error *err);

uint64_t test_now_ns(void); /* CLOCK_MONOTONIC */
uint64_t test_real_ns(void);
void test_nap_us(uint64_t us);

#endif
