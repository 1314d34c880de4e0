/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * when.h - the points in time that --since and --until take.
 *
 *	2026-11-29[T20:21[:22[.123]]][Z|+01:00]   or without - and :, or a space for T
 *	20:21[:22[.123]]                          a time of day
 *	@1796070082[.123]                         seconds since the epoch
 *	10m                                       an age: this long before now
 *
 * And every time that the tools print, in the same form: a number with nine digits after
 * the point is seconds since the epoch, one of 18 digits or more is nanoseconds.
 */
#ifndef KMES_WHEN_H
#define KMES_WHEN_H
#include <stdbool.h>
#include <stdint.h>

#define KMES_DAY_NS 86400000000000ull

enum kmes_when_kind {
	KMES_WHEN_ABSOLUTE, /* ns is since the epoch */
	KMES_WHEN_CLOCK,    /* ns is since midnight; the date is not resolved */
};

struct kmes_when {
	enum kmes_when_kind kind;
	uint64_t ns;
	uint64_t unit_ns; /* the resolution: 1000 if printed in microseconds */
	bool local;	  /* KMES_WHEN_CLOCK: in local time, not in UTC */
};

/*
 * Parses `text`; ages are relative to `now_ns` (since the epoch); a time without a zone
 * is in local time if `local`. 0, or -EINVAL: `*why` is a phrase that says why.
 */
int kmesp_when_parse(struct kmes_when *when, const char *text, uint64_t now_ns,
		     bool local, const char **why);

/* The latest such point that is not after `now_ns`, in ns since the epoch. */
uint64_t kmesp_when_before(const struct kmes_when *when, uint64_t now_ns);

/* The first such point at or after `start_ns`. */
uint64_t kmesp_when_after(const struct kmes_when *when, uint64_t start_ns);

#endif
