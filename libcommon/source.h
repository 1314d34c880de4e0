/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * source.h - the operations that each kind of source implements; private to the
 * project.
 *
 * A kind embeds struct kmes_source as its first member. Its functions return 0 or
 * -errno if nothing else is said, and store a sentence in `err` if they take one. An
 * operation that is NULL is not supported (-EOPNOTSUPP), unless its comment says
 * otherwise.
 */
#ifndef KMES_SOURCE_H
#define KMES_SOURCE_H

#include "kmes.h"

struct kmes_ring;

/*
 * The kinds of sources, in the order in which "auto" tries them: the name, and the form
 * of the argument that may follow it.
 */
#define KMESP_SOURCE_KINDS(KIND)                                                         \
	KIND(native, "")                                                                 \
	KIND(dev, "[:PATH]")                                                             \
	KIND(sim, "[:SOCKET]")                                                           \
	KIND(tracefs, "[:EVENTS]")

/* For messages: "auto, native, dev[:PATH], ...". */
#define KMESP_SOURCE_NAME(name, argument) ", " #name argument
#define KMESP_SOURCE_NAMES "auto" KMESP_SOURCE_KINDS(KMESP_SOURCE_NAME)

struct kmes_source_ops {
	const char *name;
	/* What -EPERM means for attaching and emitting: "" or " (needs ...)". */
	const char *attach_hint;
	const char *emit_hint;
	bool is_explicit;   /* "auto" does not try it */
	bool is_simulation; /* the events are not those of the running kernel */

	/*
	 * `arg` is what follows the colon, or NULL. -ENOENT or -ENOSYS: this kind of
	 * source does not exist on this machine, and "auto" tries the next one; any
	 * other error is final. `stop` is that of kmes_source_open().
	 */
	int (*open)(struct kmes_source **out, const char *arg,
		    const volatile sig_atomic_t *stop, struct kmes_error *err);
	void (*close)(struct kmes_source *src);

	int (*slots)(struct kmes_source *src); /* the slot count, or -errno */
	int (*alive)(struct kmes_source *src); /* 1 or 0; NULL: always alive */

	/*
	 * Attaches and maps: sets base, length, fds, view and need_wake of `map`, and
	 * generation to the one that the ring was created with, or 0 if the source does
	 * not report it. Does not look at the pages. On failure the caller closes
	 * `map`.
	 */
	int (*attach)(struct kmes_source *src, uint16_t cpu, struct kmes_mapping *map,
		      struct kmes_error *err);

	/*
	 * Opens the ring of ring->cpu for reading: sets ring->ops and the state of that
	 * type of ring (ring.h). Sources of KMES rings use kmesp_ring_open_mapped().
	 * -EINVAL: the slot has no ring.
	 */
	int (*ring_open)(struct kmes_ring *ring,
			 const struct kmes_reader_options *options,
			 struct kmes_error *err);

	/* Describes a -errno of this source; NULL: strerror(). */
	const char *(*reason)(int error);

	/* Moves the calling thread to the CPU where it must run to emit there. */
	int (*go_to_cpu)(struct kmes_source *src, int cpu);
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
	int fd; /* see kmes_source_fd(); -1: none */
};

extern const struct kmes_source_ops kmesp_source_native;
extern const struct kmes_source_ops kmesp_source_dev;
extern const struct kmes_source_ops kmesp_source_sim;
extern const struct kmes_source_ops kmesp_source_tracefs;

/* Reads 32 hex digits, ignoring hyphens, from a file into `id`. 0 or -errno. */
int kmesp_read_id(const char *path, uint8_t id[16]);

/* Is this a name that kmes_source_open() accepts, with a valid form of argument? */
bool kmesp_source_is_name(const char *name);

/* The operations of the kind that `name` selects; NULL for "auto" and unknown names. */
const struct kmes_source_ops *kmesp_source_ops(const char *name);

/*
 * Moves the calling thread to `cpu` if the source requires that of those who emit there;
 * -1: leaves it where it is. 0 or -errno.
 */
int kmesp_source_go_to_cpu(struct kmes_source *src, int cpu);

#endif
