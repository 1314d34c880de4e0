/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * captured.h - captures in memory files, of events that are determined by their sequence.
 */
#ifndef KMES_TESTS_CAPTURED_H
#define KMES_TESTS_CAPTURED_H

#include <stdbool.h>

#include "capture/capture.h"

extern const struct kmes_capture_info captured_info;
extern const struct kmes_capture_options captured_plain, captured_packed;

/*
 * Adds event `seq` with a payload of `len` bytes: a run of one byte, or incompressible.
 */
void captured_add(struct kmes_capture_writer *w, uint64_t seq, uint32_t len);

/* Whether the item is that event. */
bool captured_is(const struct kmes_item *item, uint64_t seq, uint32_t len);

/* A payload length for event `seq`; they vary widely. */
uint32_t captured_size(uint64_t seq);

/* Begins a capture in a memfd; the writer has one descriptor of it, the test another. */
int captured_file(struct kmes_capture_writer **w,
		  const struct kmes_capture_options *options);

#endif
