/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes.h - the library's interface: open a source of rings, map them, read and wait for
 * events. What the rings contain and how they are read safely is described in
 * doc/protocol.md of the sources, to whose sections the comments refer.
 *
 * The library never prints, never exits and keeps no global state. Functions return 0
 * or a positive value, or -errno. Where -errno does not explain enough, a function also
 * takes a struct kmes_error, which may be NULL, and stores one sentence that names the
 * object and, if there is one, the remedy. On failure nothing is left open, and `*out`
 * is not set. Closing accepts NULL.
 *
 * Threads: use an object from one thread at a time; different objects are independent,
 * except that a reader uses its source. No function is safe in a signal handler.
 */
#ifndef KMES_H
#define KMES_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmes_abi.h"
#include "kmes_types.h"
#include "kmes_view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One sentence without a program's name and without a newline; "" if there is none. */
struct kmes_error {
	char text[512];
};

/* Formats a sentence into `err`, if that is not NULL, and returns `code`. */
int kmes_error_set(struct kmes_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- events ---- */

/*
 * A parsed event (doc/protocol.md, Events). All pointers are into the bytes that it was
 * parsed from, and valid as long as those. GUIDs are 16 bytes in Microsoft's binary
 * form, all zero if not available. Type and payload are untrusted input.
 */
struct kmes_event {
	const uint8_t *bytes; /* the complete event, as stored in the ring */
	uint32_t size;	      /* bytes, of the complete event */
	uint32_t payload_len;
	const uint8_t *payload; /* one MessagePack value, or empty */
	const char *type;	/* no terminator; not necessarily UTF-8 */
	uint64_t ts_ns;		/* CLOCK_REALTIME, ns since the epoch */
	uint64_t seq;
	uint16_t type_len;
	uint16_t cpu;
	uint8_t origin;		 /* enum kmes_origin, or unassigned */
	bool payload_is_trusted; /* produced by the library itself: known to be valid */
	const uint8_t *effective_token_guid;
	const uint8_t *true_token_guid;
	const uint8_t *process_guid;
};

/*
 * Parses the event that starts at `buf`, of which `len` bytes are available. The bytes
 * must be private: nothing may change them meanwhile. `max` is the largest size that is
 * accepted. Returns 1; 0 if the event is longer than `len`, in which case event->size
 * is the number of bytes needed to get further; or -EBADMSG if it is not an event. Only
 * after 1 are fields other than `size` valid.
 */
int kmes_event_parse(struct kmes_event *event, const void *buf, size_t len, uint64_t max);

/* Events of a CPU that the reader can no longer get: sequences `first` to `last`. */
struct kmes_loss {
	uint16_t cpu;
	uint64_t first;
	uint64_t last;
	uint64_t ts_ns; /* of the event after the gap */
};

/* A ring was replaced by another one, from which reading continues. */
struct kmes_resize {
	uint16_t cpu;
	uint64_t old_capacity, new_capacity; /* bytes */
	uint64_t old_generation, new_generation;
};

enum kmes_item_kind {
	KMES_ITEM_EVENT,
	KMES_ITEM_LOSS,
	KMES_ITEM_RESIZE,
	KMES_ITEM_NOTE, /* something is wrong with a ring; reading continues */
};

/* What a reader returns; valid until the next call for that reader. */
struct kmes_item {
	enum kmes_item_kind kind;
	union {
		const struct kmes_event *event;
		struct kmes_loss loss;
		struct kmes_resize resize;
		const char *note; /* one sentence that names the CPU and the position */
	};
};

/* ---- sources ---- */

struct kmes_source;

/*
 * Opens the source `name`: "auto", "native", "dev[:PATH]", "sim[:SOCKET]" or
 * "tracefs[:EVENTS]". "auto" opens the first of native, dev and sim that exists on this
 * machine, and fails if that one refuses.
 *
 * `stop` may be NULL. Otherwise, once `*stop` is not 0 (a signal handler may set it),
 * calls that wait for an answer of the source, including this one, fail with -EINTR
 * within half a second; only emission is completed first. The flag must outlive the
 * source.
 *
 * May block: a simulator is given 5 s to answer, 60 s to replace its rings. 0 or
 * -errno: -EINVAL for an unknown name, -ENODEV if "auto" finds nothing, -EOPNOTSUPP if
 * this build or machine cannot use the source, otherwise the source's own error. The
 * caller closes `*out` after all readers and mappings of it.
 */
int kmes_source_open(struct kmes_source **out, const char *name,
		     const volatile sig_atomic_t *stop, struct kmes_error *err);
void kmes_source_close(struct kmes_source *src);

/* "native", "dev", "sim" or "tracefs"; a constant. */
const char *kmes_source_name(const struct kmes_source *src);

/* Stores the kernel's boot id: 16 bytes, in the order of its text form. 0 or -errno. */
int kmes_boot_id(uint8_t id[16]);

/*
 * The stream id, 16 bytes that belong to the source: (CPU, sequence) identifies an event
 * within one stream. All zero if the source does not know it.
 */
const uint8_t *kmes_source_stream_id(const struct kmes_source *src);

/*
 * The slot count, which is one more than the highest index that can have a ring, or
 * -errno (doc/protocol.md, Attaching).
 */
int kmes_source_slots(struct kmes_source *src, struct kmes_error *err);

/*
 * A descriptor that becomes readable or hangs up when the state of the source may have
 * changed: call kmes_source_alive() then. -1: there is none. It belongs to the source.
 */
int kmes_source_fd(const struct kmes_source *src);

/* 1: alive; 0: the source has ended, but what its rings contain can still be read. */
int kmes_source_alive(struct kmes_source *src);

/*
 * Emits one event on slot `cpu`, or where the source chooses if `cpu` is -1. Where a
 * kernel owns the rings, the calling thread is moved to `cpu`, and stays there. Does
 * not wait for the rate limit: -EAGAIN when it is used up. Other errors are those of
 * the source, in the order of doc/protocol.md, Emission; -EOPNOTSUPP if the source
 * takes no events.
 */
int kmes_source_emit(struct kmes_source *src, int cpu, const struct kmes_record *record);

/*
 * Emits up to KMES_BATCH_MAX events in one step, with one time stamp. `*emitted`
 * becomes the number of events emitted. Returns 0, or the error of the event after
 * those.
 */
int kmes_source_emit_batch(struct kmes_source *src, int cpu,
			   const struct kmes_record *records, uint32_t count,
			   uint32_t *emitted);

/*
 * What the source itself counts for one CPU. 0, -EOPNOTSUPP if it has no counters, or
 * another -errno, among them -EINVAL or -ENOENT for a slot without a ring.
 */
struct kmes_counters {
	uint64_t generation, capacity; /* of the present ring; capacity in bytes */
	struct kmes_ring_counts counts;
};
int kmes_source_counters(struct kmes_source *src, uint16_t cpu,
			 struct kmes_counters *counters);

/* The configured capacity of each ring in bytes. 0 or -errno. */
int kmes_source_capacity(struct kmes_source *src, uint64_t *capacity,
			 struct kmes_error *err);

/*
 * Sets the capacity and blocks until every ring has been replaced (doc/protocol.md,
 * Replacement). -EOPNOTSUPP, -EPERM, -EINVAL, -ERANGE, -ENOMEM and other errors: no
 * ring was replaced. -ETIMEDOUT, -EINTR, -ESHUTDOWN: unknown.
 */
int kmes_source_set_capacity(struct kmes_source *src, uint64_t capacity,
			     struct kmes_error *err);

/* ---- mappings ---- */

/*
 * One mapped ring (doc/protocol.md, Memory layout). `generation` is the one it was
 * created with: if the producer page shows another one, the ring has been replaced.
 */
struct kmes_mapping {
	struct kmes_ring_view view; /* for kmes_ring_copy() */
	uint8_t *need_wake;	    /* the only byte that a reader may store to */
	void *base;
	size_t length; /* bytes mapped at `base` */
	uint64_t generation;
	int fds[2]; /* -1: unused */
	uint16_t cpu;
};

/*
 * Attaches to the ring of `cpu`, maps it, verifies it, and confirms that it was current
 * (doc/protocol.md, Attaching). Does not wait for events. 0, -EINVAL: the slot has no
 * ring, -EPERM, -EPROTO: not a ring of a known version, or another -errno. The caller
 * closes `map`, which unmaps the ring before it closes the descriptors; afterwards
 * `view` and `need_wake` must not be used.
 */
int kmes_mapping_open(struct kmes_mapping *map, struct kmes_source *src, uint16_t cpu,
		      struct kmes_error *err);
void kmes_mapping_close(struct kmes_mapping *map);

/* ---- the reader ---- */

struct kmes_reader;

/* A set of CPU ids. */
struct kmes_cpus {
	uint64_t bits[1024];
};

static inline bool kmes_cpus_has(const struct kmes_cpus *cpus, uint16_t cpu)
{
	return cpus->bits[cpu / 64] >> (cpu % 64) & 1;
}

static inline void kmes_cpus_add(struct kmes_cpus *cpus, uint16_t cpu)
{
	cpus->bits[cpu / 64] |= 1ull << (cpu % 64);
}

enum kmes_reader_order {
	KMES_ORDER_TIME, /* merged by timestamp, ties by CPU, within a CPU by sequence */
	KMES_ORDER_CPU,	 /* the CPUs in turn, as much of each as was copied at once */
};

struct kmes_reader_options {
	const struct kmes_cpus *cpus; /* NULL: every ring; used during open only */
	enum kmes_reader_order order;
	bool only_new; /* start after the newest event instead of at the oldest */
	bool snapshot; /* end after the events that were in the rings at the start */
};

/*
 * Attaches to every wanted ring of `src`, which must outlive the reader. Slots without
 * a ring are skipped, see kmes_reader_has_cpu(). 0, -ENODEV if no wanted slot has a
 * ring, or another -errno. May start threads, which block all signals, to wait on more
 * than 128 rings. The caller closes `*out`.
 */
int kmes_reader_open(struct kmes_reader **out, struct kmes_source *src,
		     const struct kmes_reader_options *options, struct kmes_error *err);
void kmes_reader_close(struct kmes_reader *reader);

/*
 * Reads the next item (doc/protocol.md, Reading, Loss and Replacement). Returns 1; 0:
 * there is nothing now; -ENODATA: the snapshot is complete; -ESHUTDOWN: the source has
 * ended and everything was read; another -errno: the reader cannot continue, see
 * kmes_reader_error(). Never blocks, and makes no system call while there are events.
 */
int kmes_reader_next(struct kmes_reader *reader, struct kmes_item *item);

/* Why kmes_reader_next() failed: one sentence, valid until the next call. */
const char *kmes_reader_error(const struct kmes_reader *reader);

/*
 * Blocks after kmes_reader_next() returned 0, until there may be something to read, for
 * at most `timeout_ms` and never longer than 100 ms; negative: 100 ms (doc/protocol.md,
 * Sleeping). May return early for no reason, and does so for a signal. While events
 * arrive faster than the reader could fall asleep, it naps for 0.1 to 0.8 ms instead
 * and asks no writer for a wake.
 *
 * `watch_fd` is -1, or the pipe or socket that the caller writes to. Returns 1 if its
 * reader has closed it, else 0; that is checked, together with the source, on each
 * time-out and every 100 ms.
 */
int kmes_reader_wait(struct kmes_reader *reader, int timeout_ms, int watch_fd);

/* The number of rings that are read, and whether that of `cpu` is one of them. */
unsigned int kmes_reader_rings(const struct kmes_reader *reader);
bool kmes_reader_has_cpu(const struct kmes_reader *reader, uint16_t cpu);

/* The number of events returned so far. */
uint64_t kmes_reader_events(const struct kmes_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
