/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sim_proto.h - the protocol between kmes-sim and its clients; private to both.
 *
 * The simulator listens on a SOCK_SEQPACKET socket in the file system. A client sends a
 * request, struct sim_request, and receives one struct sim_reply that repeats its `op`
 * and `id`; it may send further requests before that, which are answered in order. A
 * client whose unread replies fill its socket is disconnected, and so is one that
 * violates the rules below. A hang-up means that the simulator has ended: mapped rings
 * keep their contents.
 *
 *	SIM_HELLO	 the first request, with SIM_VERSION in `value`; the reply has the
 *			 stream id and the limits. A simulator that accepts no more
 *			 clients sends a reply of id 0 with the error, unsolicited, and
 *			 hangs up.
 *	SIM_ATTACH	 the ring of `cpu`: its capacity, the generation it was created
 *			 with, and two descriptors by SCM_RIGHTS: of the ring (read-only)
 *			 and of the consumer page. The ring's file is the producer page
 *			 followed by the data, once; the client maps page, consumer page,
 *			 data and data again into one range. The size of the files is
 *			 sealed.
 *	SIM_SLOTS	 the slot count, for clients that may attach, in `capacity`.
 *	SIM_EMIT	 `count` events in one step on `cpu`, or on the next slot in turn
 *			 at SIM_CPU_ANY. The reply's `count` is the number written, its
 *			 error that of the event after them.
 *	SIM_COUNTERS	 of `cpu`.
 *	SIM_CAPACITY	 the configured capacity.
 *	SIM_SET_CAPACITY to `value`; answered when every ring has been replaced.
 *	SIM_TEST	 only if the simulator was started with --testing: causes what
 *			 tests cannot wait for, see enum sim_test.
 *
 * Only SIM_EMIT has a body: `count` struct sim_entry, then the type and payload of each
 * of them, without gaps. From the first entry on that is refused for its lengths (too
 * large for any event), the bytes may be omitted; bytes missing elsewhere are EFAULT.
 * The body follows the request in the same datagram if that does not exceed
 * SIM_DATAGRAM_MAX. A longer one is passed as a memfd by SCM_RIGHTS with `body_len`
 * bytes, sealed at least SHRINK and WRITE. Other requests take no descriptor; if one is
 * passed, it is closed.
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
	SIM_TEST_CLOCK = 1,   /* from now on, stamps deviate by `value` ns (signed) */
	SIM_TEST_STAMP,	      /* every event is stamped `value`; 0: by the clock again */
	SIM_TEST_DROP,	      /* use up `value` sequences of `cpu` without an event */
	SIM_TEST_SWAP,	      /* replace all rings, to capacity `value`, within the next
			       * attach, before its reply is sent */
	SIM_TEST_FAIL_RESIZE, /* the next replacement has no memory after `value` rings */
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
 * The address for `path`, or, if that is NULL, the default: kmes-sim.sock in
 * XDG_RUNTIME_DIR, or else in /run. 0, or -ENAMETOOLONG or -EINVAL (empty).
 */
int kmesp_sim_address(struct sockaddr_un *address, const char *path);

#endif
