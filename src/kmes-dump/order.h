/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * order.h - events of captures in another order than the one they stand in.
 *
 * A window goes over them, of so many bytes of memory: what was read waits in it, and the
 * one that is first in the wanted order leaves it. So memory stays bounded whatever is
 * read, and events that stand farther apart than the window is wide stay apart.
 */
#ifndef DUMP_ORDER_H
#define DUMP_ORDER_H

#include "capture/capture.h"

/* The memory that the window takes; one event that is larger has it alone. */
#define DUMP_ORDER_BYTES (64u << 20)

struct dump_order;

/* 0 or -ENOMEM. `bytes`: of the window. */
int dump_order_new(struct dump_order **out, enum kmes_reader_order order, size_t bytes);
void dump_order_free(struct dump_order *o);

/*
 * Whether more is to be added before anything can leave: until the window is full, or has
 * been told that nothing more will come.
 */
bool dump_order_wants_more(const struct dump_order *o);

/*
 * Copies an event or a loss into the window. `info` is that of the header above it: a
 * recording that was made in the very order that is wanted stays as it is. 0 or -ENOMEM.
 */
int dump_order_add(struct dump_order *o, const struct kmes_item *item,
		   const struct kmes_capture_info *info);

/* Nothing more comes, at least for now: everything leaves before more is added. */
void dump_order_drain(struct dump_order *o);

/*
 * The next one, with its header's info: 1, or 0 when more must come before. It is valid
 * until the next call.
 */
int dump_order_take(struct dump_order *o, struct kmes_item *item,
		    struct kmes_capture_info *info);

bool dump_order_is_empty(const struct dump_order *o);

/* Events that came when later ones had left already. */
uint64_t dump_order_late(const struct dump_order *o);

#endif
