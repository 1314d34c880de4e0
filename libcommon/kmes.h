/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes.h - the library: open a source of rings, map them, drain them, sleep on them.
 *
 * The library never prints, never exits and keeps no global state. Functions return 0 or
 * something positive, or -errno; where -errno alone would leave a user helpless, a struct
 * kmes_error takes one sentence that names the object and the remedy. Frees accept NULL.
 * An object is used by one thread at a time; different objects are independent.
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

/* One sentence without the tool's name and without a newline; "" when there is none. */
struct kmes_error {
	char text[512];
};

/* Puts a sentence into `err` (NULL: nowhere) and returns `code` (a -errno). */
int kmes_error_set(struct kmes_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- events ---- */

/*
 * An event taken apart; everything points into the private bytes it was parsed from.
 * The GUIDs are 16 bytes in Microsoft's binary form; all zero: not available.
 */
struct kmes_event {
	const uint8_t *bytes; /* the whole event as it stood in the ring */
	uint32_t size;	      /* of it */
	uint32_t payload_len;
	const uint8_t *payload; /* one MessagePack value, or nothing at all */
	const char *type;	/* not terminated, not checked to be UTF-8 */
	uint64_t ts_ns;		/* since the epoch */
	uint64_t seq;
	uint16_t type_len;
	uint16_t cpu;
	uint8_t origin;		 /* enum kmes_origin or unassigned */
	bool payload_is_trusted; /* the payload was made by the library: it needs no check */
	const uint8_t *effective_token_guid;
	const uint8_t *true_token_guid;
	const uint8_t *process_guid;
};

/*
 * Takes apart the event at `buf`, of which `len` private bytes are at hand. Returns 1,
 * 0 when the event goes on past `len` (`event->size` then says how much is needed), or
 * -EBADMSG when no event looks like this [D6]. `max` bounds event_size.
 */
int kmes_event_parse(struct kmes_event *event, const void *buf, size_t len, uint64_t max);

/* Events of a CPU that nobody will see any more: sequences first to last. */
struct kmes_loss {
	uint16_t cpu;
	uint64_t first;
	uint64_t last;
	uint64_t ts_ns; /* of the event that showed the gap */
};

/* A ring was replaced and is followed. */
struct kmes_resize {
	uint16_t cpu;
	uint64_t old_capacity, new_capacity; /* bytes */
	uint64_t old_generation, new_generation;
};

enum kmes_item_kind {
	KMES_ITEM_EVENT,
	KMES_ITEM_LOSS,
	KMES_ITEM_RESIZE,
	KMES_ITEM_NOTE, /* something is wrong with a ring; reading goes on */
};

/* What a reader hands out; valid until its next call. */
struct kmes_item {
	enum kmes_item_kind kind;
	union {
		const struct kmes_event *event;
		struct kmes_loss loss;
		struct kmes_resize resize;
		const char *note; /* one sentence that names CPU and position */
	};
};

/* ---- sources ---- */

struct kmes_source;

/*
 * Opens a source: "auto", "native", "dev[:PATH]", "sim[:SOCKET]", "tracefs[:EVENTS]".
 * "auto" tries native, dev and sim and goes on only past one that does not exist.
 *
 * Once `*stop` (NULL: never) is not 0, as set by a signal handler, whatever waits for an
 * answer of the source, this call too, gives up with -EINTR within half a second; emission
 * alone is finished. The flag outlives the source.
 */
int kmes_source_open(struct kmes_source **out, const char *name,
		     const volatile sig_atomic_t *stop, struct kmes_error *err);
void kmes_source_close(struct kmes_source *src);

/* "native", "dev", "sim" or "tracefs". */
const char *kmes_source_name(const struct kmes_source *src);

/* The kernel's boot id: 16 bytes in the order of its text. 0 or -errno. */
int kmes_boot_id(uint8_t id[16]);

/* 16 bytes that (cpu, sequence) are unique in; zero when the source cannot tell. */
const uint8_t *kmes_source_stream_id(const struct kmes_source *src);

/* One more than the highest slot index, or -errno [A6]. */
int kmes_source_slots(struct kmes_source *src, struct kmes_error *err);

/*
 * A descriptor that polls readable or hung up when the source ends or wants to be looked
 * at, or -1.
 */
int kmes_source_fd(const struct kmes_source *src);

/* 1: alive, 0: the source ended; what its rings hold can still be read. */
int kmes_source_alive(struct kmes_source *src);

/*
 * Emits one event, on slot `cpu` or, at -1, where the source likes. The kernel's own
 * errors, in the contract's order; -EAGAIN when the rate is used up. Does not wait.
 */
int kmes_source_emit(struct kmes_source *src, int cpu, const struct kmes_record *record);

/*
 * Emits up to KMES_BATCH_MAX events in one step. `*emitted` is how many were; the return
 * is the error of the one after them, or 0.
 */
int kmes_source_emit_batch(struct kmes_source *src, int cpu,
			   const struct kmes_record *records, uint32_t count,
			   uint32_t *emitted);

/* The source's own counts of one CPU; -EOPNOTSUPP where it has none. */
struct kmes_counters {
	uint64_t generation, capacity;
	struct kmes_ring_counts counts;
};
int kmes_source_counters(struct kmes_source *src, uint16_t cpu,
			 struct kmes_counters *counters);

/*
 * The configured capacity in bytes, and setting it, which returns when every ring has
 * been replaced: -EOPNOTSUPP, -EPERM, -EINVAL, -ERANGE, -ENOMEM with nothing changed.
 */
int kmes_source_capacity(struct kmes_source *src, uint64_t *capacity,
			 struct kmes_error *err);
int kmes_source_set_capacity(struct kmes_source *src, uint64_t capacity,
			     struct kmes_error *err);

/* ---- mappings ---- */

/*
 * One ring, mapped. `generation` is the one that it was born with: when the page shows
 * another, the ring has been replaced. Nothing is touched after the descriptors are
 * closed: closing unmaps first [A12].
 */
struct kmes_mapping {
	struct kmes_ring_view view;
	uint8_t *need_wake; /* the one byte that a consumer stores to [C3] */
	void *base;
	size_t length;
	uint64_t generation;
	int fds[2]; /* -1: unused */
	uint16_t cpu;
};

/*
 * Attaches to the ring of `cpu`, maps it, verifies magic and version before anything
 * else, and makes sure that it was current when it was looked at [A1 A13 P1]. -EINVAL:
 * the slot has no ring; -EPERM; -EPROTO: not a ring that we understand.
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
	KMES_ORDER_CPU,	 /* each CPU's run as it comes */
};

struct kmes_reader_options {
	const struct kmes_cpus *cpus; /* NULL: every ring; read during open only */
	enum kmes_reader_order order;
	bool only_new; /* start behind the newest event instead of at the oldest */
	bool snapshot; /* end with what was in the rings at the start */
};

/*
 * Attaches to every wanted ring of `src`, which must outlive the reader. A source
 * without any ring is -ENODEV. A hole is no error here; kmes_reader_has_cpu tells.
 */
int kmes_reader_open(struct kmes_reader **out, struct kmes_source *src,
		     const struct kmes_reader_options *options, struct kmes_error *err);
void kmes_reader_close(struct kmes_reader *reader);

/*
 * The next item: 1; 0: nothing now; -ENODATA: the end of a snapshot; -ESHUTDOWN: the
 * source ended and everything was read; another -errno: the reader cannot go on, see
 * kmes_reader_error. Never blocks and makes no system call while events are there [N8].
 */
int kmes_reader_next(struct kmes_reader *reader, struct kmes_item *item);

/* Why kmes_reader_next failed, one sentence. */
const char *kmes_reader_error(const struct kmes_reader *reader);

/*
 * Sleeps after kmes_reader_next said 0, until something may be there, at most
 * `timeout_ms` and at most 100 ms [N9]; may return early for no reason, also on a signal.
 * While events come faster than it could fall asleep it naps for 0.1 to 0.8 ms instead
 * and asks no writer for a wake. At each time-out, and each 100 ms, it looks whether the
 * source is alive and, with the same system call, whether the reader of `watch_fd` (a
 * pipe or socket we write to, or -1) is gone: 1 if so, else 0.
 */
int kmes_reader_wait(struct kmes_reader *reader, int timeout_ms, int watch_fd);

/* How many rings are read, and whether that of `cpu` is among them. */
unsigned int kmes_reader_rings(const struct kmes_reader *reader);
bool kmes_reader_has_cpu(const struct kmes_reader *reader, uint16_t cpu);

/* Events read so far, also those that a filter of the caller's hides. */
uint64_t kmes_reader_events(const struct kmes_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
