/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sim_proto.h - what kmes-sim and its clients say to each other; private to both.
 *
 * The simulator listens on a SOCK_SEQPACKET socket of the file system. A client sends one
 * request, a struct sim_request, and gets one struct sim_reply that repeats its `op` and
 * `id`; it may send further requests before that, they are answered in order. A client
 * that lets more replies pile up than its socket holds is cut off, and so is one that
 * breaks the rules below. A hang-up means that the simulator has ended: rings that are
 * mapped keep what they hold.
 *
 *	SIM_HELLO	 the first request, with SIM_VERSION in `value`; the reply tells the
 *			 stream and the limits. A simulator that takes no more clients
 *			 sends a reply of id 0 with the error, unasked, and hangs up.
 *	SIM_ATTACH	 the ring of `cpu`: capacity and birth generation, and two
 *			 descriptors by SCM_RIGHTS, the ring's (read-only) and the consumer
 *			 page's. The ring's file is the producer page and then the data,
 *			 once; the client maps page, consumer page, data and data again
 *			 into one range. Neither file can change its size.
 *	SIM_SLOTS	 the slot count, for those who may attach, in `capacity`.
 *	SIM_EMIT	 `count` events in one step on `cpu`, or on the next slot in turn at
 *			 SIM_CPU_ANY. The reply's `count` is how many were written, its error
 *			 that of the one behind them.
 *	SIM_COUNTERS	 of `cpu`.
 *	SIM_CAPACITY	 the configured capacity.
 *	SIM_SET_CAPACITY to `value`; answered when every ring has been replaced.
 *	SIM_TEST	 only where the simulator was started with --testing: makes happen
 *			 what tests cannot wait for, see enum sim_test.
 *
 * Only SIM_EMIT has a body: `count` struct sim_entry, then for each of them the bytes of
 * its type and of its payload, everything without gaps. From the first entry on whose
 * lengths alone are refused (too large for any event) the bytes may be left out; a byte
 * that is missed elsewhere is EFAULT. The body follows the request in the same datagram as
 * long as that is no longer than SIM_DATAGRAM_MAX. A longer one comes as a memfd passed by
 * SCM_RIGHTS with `body_len` bytes, sealed at least SHRINK and WRITE. No other request
 * takes a descriptor; what comes nevertheless is closed.
 */
#ifndef KMES_SIM_PROTO_H
#define KMES_SIM_PROTO_H
#include <sys/un.h>

#include "kmes.h"

#define SIM_VERSION 1
#define SIM_MAGIC "KMES-SIM"
#define SIM_DATAGRAM_MAX 65536
#define SIM_CPU_ANY (-1)

enum sim_op {
	SIM_HELLO = 1,
	SIM_ATTACH,
	SIM_SLOTS,
	SIM_EMIT,
	SIM_COUNTERS,
	SIM_CAPACITY,
	SIM_SET_CAPACITY,
	SIM_TEST,
};

enum sim_test {
	SIM_TEST_CLOCK = 1, /* stamps are `value` ns (signed) off the clock from now on */
	SIM_TEST_STAMP,	    /* every event is stamped `value`; 0: by the clock again */
	SIM_TEST_DROP,	    /* spend `value` sequences of `cpu` without an event */
	SIM_TEST_SWAP,	    /* replace all rings, to capacity `value`, within the next
			       * attach: behind its back, before its reply goes out */
	SIM_TEST_FAIL_RESIZE, /* the next replacement finds no memory after `value` rings */
};

struct sim_request {
	uint32_t op;
	uint32_t id;
	int32_t cpu;
	uint32_t count;
	uint64_t value;
	uint64_t body_len;
};

struct sim_entry {
	uint32_t payload_len;
	uint16_t type_len;
	uint16_t reserved; /* 0 */
};

struct sim_hello {
	uint8_t magic[8];
	uint8_t stream_id[16];
	uint32_t version;
	uint32_t slots;
	uint32_t max_event_size;
	uint32_t max_nesting_depth;
	uint32_t max_emit_rate;
	uint32_t reserved;
};

struct sim_reply {
	uint32_t op;
	uint32_t id;
	int32_t error; /* 0 or -errno */
	uint32_t count;
	uint64_t capacity;
	uint64_t generation;
	union {
		struct sim_hello hello;
		struct kmes_ring_counts counts;
	};
};

_Static_assert(sizeof(struct sim_request) == 32, "no padding");
_Static_assert(sizeof(struct sim_entry) == 8, "no padding");
_Static_assert(sizeof(struct sim_reply) == 80, "no padding");

/* The descriptors of an attach reply. */
enum { SIM_FD_RING, SIM_FD_CONSUMER, SIM_FDS };

/*
 * Where the simulator listens when nobody says otherwise: in XDG_RUNTIME_DIR, else in
 * /run. -ENAMETOOLONG or -EINVAL (empty) when it cannot be a socket's name.
 */
int kmesp_sim_address(struct sockaddr_un *address, const char *path);

#endif
