/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * order.h - sorts the events of captures in a bounded window.
 *
 * Items that were read are held in a window of limited memory, and the first one in the
 * requested order leaves it. Events that are farther apart in the file than the window
 * cannot be sorted.
 */
#ifndef DUMP_ORDER_H
#define DUMP_ORDER_H

#include "capture/capture.h"

/* The memory of the window; a larger event is held alone. */
#define DUMP_ORDER_BYTES (64u << 20)

struct dump_order;

/* `bytes`: size of the window. 0 or -ENOMEM. */
int dump_order_new(struct dump_order **out, enum kmes_reader_order order, size_t bytes);
void dump_order_free(struct dump_order *o);

/* Must more be added before an item can be taken? Until the window is full or drained. */
bool dump_order_wants_more(const struct dump_order *o);

/*
 * Copies an event or a loss into the window. `info` is its header: a recording in the
 * requested order is left as it is. 0 or -ENOMEM.
 */
int dump_order_add(struct dump_order *o, const struct kmes_item *item,
		   const struct kmes_capture_info *info);

/* No more input for now: all items can be taken before more is added. */
void dump_order_drain(struct dump_order *o);

/*
 * Takes the next item and its header's info. 1, or 0: more must be added first. Valid
 * until the next call.
 */
int dump_order_take(struct dump_order *o, struct kmes_item *item,
		    struct kmes_capture_info *info);

bool dump_order_is_empty(const struct dump_order *o);

/* The number of events that were added after later ones had been taken. */
uint64_t dump_order_late(const struct dump_order *o);

#endif
