/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * source.h - what a kind of source implements; private to the library.
 *
 * A kind embeds struct kmes_source as its first member. Its functions get -errno right
 * and put a sentence into `err` where they are given one. A NULL function: the source
 * cannot do it (-EOPNOTSUPP).
 */
#ifndef KMES_SOURCE_H
#define KMES_SOURCE_H

#include "kmes.h"

struct kmes_ring;

struct kmes_source_ops {
	const char *name;

	/*
	 * `arg` is the text after the colon, or NULL. -ENOENT or -ENOSYS when this kind of
	 * source does not exist on the machine, so that "auto" goes on; everything else is
	 * a refusal. `stop` is what kmes_source_open was given.
	 */
	int (*open)(struct kmes_source **out, const char *arg,
		    const volatile sig_atomic_t *stop, struct kmes_error *err);
	void (*close)(struct kmes_source *src);

	int (*slots)(struct kmes_source *src);
	int (*alive)(struct kmes_source *src);

	/*
	 * Attaches and maps: fills base, length, fds, view and need_wake of `map`, and
	 * generation with the ring's birth generation, 0 where the source does not tell it.
	 * Checks nothing of what stands in the pages.
	 */
	int (*attach)(struct kmes_source *src, uint16_t cpu, struct kmes_mapping *map,
		      struct kmes_error *err);

	/*
	 * For sources without KMES rings: a ring of another make (ring.h) instead, which
	 * with `snapshot` ends with what is there now. -EINVAL: no ring of this CPU.
	 */
	int (*ring_open)(struct kmes_source *src, uint16_t cpu, struct kmes_ring *ring,
			 bool snapshot, struct kmes_error *err);

	int (*emit)(struct kmes_source *src, int cpu, const struct kmes_record *record);
	int (*emit_batch)(struct kmes_source *src, int cpu,
			  const struct kmes_record *records, uint32_t count,
			  uint32_t *emitted);
	int (*counters)(struct kmes_source *src, uint16_t cpu,
			struct kmes_counters *counters);
	int (*capacity)(struct kmes_source *src, uint64_t *capacity,
			struct kmes_error *err);
	int (*set_capacity)(struct kmes_source *src, uint64_t capacity,
			    struct kmes_error *err);
};

struct kmes_source {
	const struct kmes_source_ops *ops;
	uint8_t stream_id[16];
	int fd; /* see kmes_source_fd; -1 */
};

extern const struct kmes_source_ops kmesp_source_native;
extern const struct kmes_source_ops kmesp_source_dev;
extern const struct kmes_source_ops kmesp_source_sim;
extern const struct kmes_source_ops kmesp_source_tracefs; /* with libtraceevent alone */

/* Reads 32 hex digits, hyphens passed over, out of a file into `id`. 0 or -errno. */
int kmesp_read_id(const char *path, uint8_t id[16]);

/* Behind a refused attach: what is missing, from a blank on; "" when nothing is known. */
const char *kmesp_source_attach_hint(const struct kmes_source *src);

#endif
