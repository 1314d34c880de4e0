/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* slots.h - opens one object for each slot of a source that has a ring. */
#ifndef KMES_SLOTS_H
#define KMES_SLOTS_H

#include "source.h"

struct kmes_slots {
	/* Fills one zeroed object; -EINVAL: the slot has no ring. */
	int (*open)(void *object, struct kmes_source *src, uint16_t cpu, const void *arg,
		    struct kmes_error *err);
	const void *arg;
	size_t size;		      /* of an object */
	const struct kmes_cpus *cpus; /* those wanted; NULL: all */

	/* Set also on failure: the caller closes the objects, then frees the array. */
	void *objects;
	unsigned int count;
};

/*
 * Opens the wanted slots in ascending order and passes over those without a ring. 0,
 * -ENODEV when none has one, or another -errno, with a sentence in `err`.
 */
int kmesp_slots_open(struct kmes_slots *slots, struct kmes_source *src,
		     struct kmes_error *err);

#endif
