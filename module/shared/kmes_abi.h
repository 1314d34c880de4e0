/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * kmes_abi.h - the binary interface between producers and consumers of KMES events.
 *
 * The stream. Each CPU owns one ring in shared memory and is its only writer. The writer
 * never waits: when a ring is full the oldest events are overwritten. Any number of
 * consumers map a ring and read it without locks; each keeps its read position in its
 * own memory, and the writer does not know about any of them. A consumer detects what it
 * missed by a gap in the sequence numbers, which count per CPU from 1.
 *
 * The mapping. One descriptor, one mmap of 8192 + 2 * capacity bytes:
 *
 *	0     producer page   identification, positions, futex word; the producer writes
 *	4096  consumer page   byte 0 is need_wake, the only byte that consumers store
 *	8192  data            capacity bytes, and the same capacity bytes again
 *
 * The second copy of the data makes an event that crosses the end of the ring contiguous,
 * so no code has to handle a wrap. Positions are absolute byte counts that only grow; a
 * position's offset in the data is position & (capacity - 1).
 *
 * An event is a packed header of 77 bytes, the type (UTF-8, not terminated), and a
 * MessagePack value. event_size is the size of all three and the next event starts after
 * it; header_size is the offset of the payload, so that later headers may grow.
 *
 * A resize replaces every ring by a new one: the events that fit are moved, sequences
 * continue, the generation in the old page is incremented, and consumers attach again and
 * find their place by sequence.
 *
 * Integers are little-endian. The device /dev/kmes offers the calls of a native kernel
 * as ioctls, with the same errors in the same order. doc/protocol.md describes what
 * producers and consumers do.
 */
#ifndef KMES_ABI_H
#define KMES_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#else
#include <assert.h>
#include <stddef.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "KMES rings are little-endian, and this machine is not"
#endif

/* The native system calls. */
#define KMES_NR_EMIT 1090
#define KMES_NR_ATTACH 1091
#define KMES_NR_EMIT_BATCH 1092

/* As the CPU index of an attach: return the slot count and open nothing. */
#define KMES_ATTACH_QUERY_SLOTS 0xFFFFFFFFu

/* The mapping. */
#define KMES_MAGIC "KMESRING"
#define KMES_MAGIC_SIZE 8
#define KMES_RING_VERSION 1
#define KMES_PAGE_SIZE 4096
#define KMES_CONSUMER_OFFSET 4096
#define KMES_DATA_OFFSET 8192

#define KMES_MAPPING_SIZE(capacity) (KMES_DATA_OFFSET + 2 * (__u64)(capacity))

/* Limits and defaults of the configuration. */
#define KMES_CAPACITY_MIN 65536ull
#define KMES_CAPACITY_MAX 268435456ull
#define KMES_CAPACITY_DEFAULT 4194304ull
#define KMES_EVENT_SIZE_MIN 1024u
#define KMES_EVENT_SIZE_MAX 4194304u
#define KMES_EVENT_SIZE_DEFAULT 65536u
#define KMES_DEPTH_MIN 4u
#define KMES_DEPTH_MAX 256u
#define KMES_DEPTH_DEFAULT 32u
#define KMES_RATE_MIN 100u
#define KMES_RATE_MAX 1000000u
#define KMES_RATE_DEFAULT 10000u
#define KMES_BATCH_MAX 256u

/* The emitter's class; other values are unassigned. */
enum kmes_origin {
	KMES_ORIGIN_USERSPACE = 0,
	KMES_ORIGIN_KMES = 1,
	KMES_ORIGIN_KACS = 2,
	KMES_ORIGIN_LCS = 3,
	KMES_ORIGIN_TRACE = 254, /* an ordinary kernel's trace events */
	KMES_ORIGIN_HOST = 255,	 /* an ordinary kernel's process events */
};

/*
 * First page of the mapping. The first cache line never changes except for generation,
 * which is stored again when the ring is replaced. The second line has the positions, the
 * third the futex: the lines that are written for each event have nothing else in them.
 */
struct kmes_producer_page {
	__u8 magic[KMES_MAGIC_SIZE]; /* compared byte by byte, before anything else */
	__u32 version;
	__u16 cpu_id;
	__u16 reserved0;
	__u64 capacity; /* bytes, a power of two */
	__u64 data_offset;
	__u64 generation; /* 1 for a CPU's first ring */
	__u8 reserved1[24];
	__u64 write_pos; /* where the next event starts */
	__u64 tail_pos;	 /* where the oldest surviving event starts */
	__u8 reserved2[48];
	__u32 futex_counter; /* incremented only when need_wake is set */
	__u8 reserved3[60];
	__u8 unused[KMES_PAGE_SIZE - 192];
};

#define KMES_ASSERT_AT(type, field, offset)                                              \
	static_assert(offsetof(type, field) == (offset), #field " moved")

KMES_ASSERT_AT(struct kmes_producer_page, magic, 0);
KMES_ASSERT_AT(struct kmes_producer_page, version, 8);
KMES_ASSERT_AT(struct kmes_producer_page, cpu_id, 12);
KMES_ASSERT_AT(struct kmes_producer_page, capacity, 16);
KMES_ASSERT_AT(struct kmes_producer_page, data_offset, 24);
KMES_ASSERT_AT(struct kmes_producer_page, generation, 32);
KMES_ASSERT_AT(struct kmes_producer_page, write_pos, 64);
KMES_ASSERT_AT(struct kmes_producer_page, tail_pos, 72);
KMES_ASSERT_AT(struct kmes_producer_page, futex_counter, 128);
static_assert(sizeof(struct kmes_producer_page) == KMES_PAGE_SIZE, "one page");

/* Second page of the mapping. If need_wake is not 0, a consumer may be asleep. */
struct kmes_consumer_page {
	__u8 need_wake;
	__u8 reserved4[KMES_PAGE_SIZE - 1];
};

static_assert(sizeof(struct kmes_consumer_page) == KMES_PAGE_SIZE, "one page");

/* An event's header in the ring, at any alignment. */
struct kmes_event_header {
	__u32 event_size;  /* header and payload */
	__u32 header_size; /* 77 + type_len, or more in a later revision */
	__u64 timestamp;   /* ns since the epoch, CLOCK_REALTIME */
	__u64 sequence;	   /* per CPU, the first is 1 */
	__u16 cpu_id;
	__u8 origin_class;
	__u8 effective_token_guid[16]; /* zero: not available */
	__u8 true_token_guid[16];
	__u8 process_guid[16];
	__u16 type_len; /* bytes of the type, which follows */
} __attribute__((packed));

#define KMES_HEADER_SIZE 77

KMES_ASSERT_AT(struct kmes_event_header, header_size, 4);
KMES_ASSERT_AT(struct kmes_event_header, timestamp, 8);
KMES_ASSERT_AT(struct kmes_event_header, sequence, 16);
KMES_ASSERT_AT(struct kmes_event_header, cpu_id, 24);
KMES_ASSERT_AT(struct kmes_event_header, origin_class, 26);
KMES_ASSERT_AT(struct kmes_event_header, effective_token_guid, 27);
KMES_ASSERT_AT(struct kmes_event_header, true_token_guid, 43);
KMES_ASSERT_AT(struct kmes_event_header, process_guid, 59);
KMES_ASSERT_AT(struct kmes_event_header, type_len, 75);
static_assert(sizeof(struct kmes_event_header) == KMES_HEADER_SIZE, "packed");

/* One event of a batch; the padding is ignored. */
struct kmes_batch_entry {
	__aligned_u64 event_type;
	__u16 event_type_len;
	__u8 pad0[6];
	__aligned_u64 payload;
	__u32 payload_len;
	__u8 pad1[4];
};

KMES_ASSERT_AT(struct kmes_batch_entry, event_type_len, 8);
KMES_ASSERT_AT(struct kmes_batch_entry, payload, 16);
KMES_ASSERT_AT(struct kmes_batch_entry, payload_len, 24);
static_assert(sizeof(struct kmes_batch_entry) == 32, "32 bytes per entry");

/*
 * ioctls of /dev/kmes. Pointers are passed as u64, so 32-bit callers use the same numbers
 * and layouts. Reserved fields must be 0.
 */
struct kmes_ioc_attach {
	__u32 cpu; /* or KMES_ATTACH_QUERY_SLOTS */
	__u32 reserved;
	__aligned_u64 capacity_ptr;   /* u64: capacity in bytes, or the slot count */
	__aligned_u64 generation_ptr; /* u64: birth generation; may be 0 */
};

struct kmes_ioc_emit {
	__aligned_u64 type;
	__aligned_u64 payload;
	__u32 payload_len;
	__u16 type_len;
	__u16 reserved;
};

struct kmes_ioc_batch {
	__aligned_u64 entries;	   /* struct kmes_batch_entry[count] */
	__aligned_u64 emitted_out; /* u32: number of events emitted */
	__u32 count;
	__u32 reserved;
};

/* The same on behalf of the process that pidfd refers to. */
struct kmes_ioc_attach_for {
	struct kmes_ioc_attach call;
	__s32 pidfd;
	__u32 reserved;
};

struct kmes_ioc_emit_for {
	struct kmes_ioc_emit call;
	__s32 pidfd;
	__u32 reserved;
};

struct kmes_ioc_batch_for {
	struct kmes_ioc_batch call;
	__s32 pidfd;
	__u32 reserved;
};

#define KMES_IOC_MAGIC 0xE4
#define KMES_IOC_ATTACH _IOW(KMES_IOC_MAGIC, 1, struct kmes_ioc_attach)
#define KMES_IOC_EMIT _IOW(KMES_IOC_MAGIC, 2, struct kmes_ioc_emit)
#define KMES_IOC_BATCH _IOW(KMES_IOC_MAGIC, 3, struct kmes_ioc_batch)
#define KMES_IOC_ATTACH_FOR _IOW(KMES_IOC_MAGIC, 4, struct kmes_ioc_attach_for)
#define KMES_IOC_EMIT_FOR _IOW(KMES_IOC_MAGIC, 5, struct kmes_ioc_emit_for)
#define KMES_IOC_BATCH_FOR _IOW(KMES_IOC_MAGIC, 6, struct kmes_ioc_batch_for)

static_assert(sizeof(struct kmes_ioc_attach) == 24, "same for 32-bit callers");
static_assert(sizeof(struct kmes_ioc_emit) == 24, "same for 32-bit callers");
static_assert(sizeof(struct kmes_ioc_batch) == 24, "same for 32-bit callers");
static_assert(sizeof(struct kmes_ioc_attach_for) == 32, "same for 32-bit callers");

#endif
