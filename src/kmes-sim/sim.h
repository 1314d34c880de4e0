/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sim.h - the parts of the simulator and their interfaces.
 *
 * A single thread waits on the socket, the clients and the timers of the generators, and
 * handles one request or one slice of generated events at a time. So a ring has one
 * writer, and a resize has no concurrent writer.
 *
 *	main.c	    start and end
 *	server.c    the socket and the main loop
 *	client.c    connections of clients
 *	requests.c  one request of a client and its reply
 *	emit.c	    events of clients, checked, and of the simulator itself, trusted
 *	peers.c	    the client processes: identity and rate limit
 *	slots.c	    the rings, their replacement, and wake-ups
 *	memory.c    memory available for rings
 *	load.c	    --load
 *	demo.c	    --demo
 */
#ifndef KMES_SIM_H
#define KMES_SIM_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kmes_emit.h"
#include "kmes_pack.h"
#include "kmes_rate.h"
#include "sim_proto.h"

/* ---- slots.c ---- */

/* A ring in memory; base NULL: a hole. */
struct sim_ring {
	struct kmes_ring_writer writer;
	void *base;
	size_t length;
	int fds[SIM_FDS];
};

struct sim_slots {
	struct sim_ring *rings;
	uint32_t count;
	uint32_t turn; /* slot of the last event for SIM_CPU_ANY */
	uint64_t capacity;
	uint32_t *sleepy; /* slots with a pending wake-up */
	uint32_t sleepy_count;
	bool *is_sleepy;
	int64_t fail_after; /* for tests: out of memory after this many rings; -1: off */
};

/* Creates `count` rings except for the holes. 0, or -errno: nothing to free. */
int sim_slots_init(struct sim_slots *slots, uint32_t count, const struct kmes_cpus *holes,
		   uint64_t capacity);
void sim_slots_fini(struct sim_slots *slots);

/* The ring of `cpu`, or for SIM_CPU_ANY of the next slot; NULL: a hole. */
struct sim_ring *sim_slots_ring(struct sim_slots *slots, int32_t cpu);

/* Replaces every ring by one of `capacity`. 0, or -errno with nothing changed. */
int sim_slots_replace(struct sim_slots *slots, uint64_t capacity);

/* Marks a ring for a wake-up, which sim_slots_wake() then makes. */
void sim_slots_owe_wake(struct sim_slots *slots, const struct sim_ring *ring);
void sim_slots_wake(struct sim_slots *slots);

/* ---- memory.c ---- */

/* Are this many bytes available in the machine and its control groups? */
bool sim_memory_has(uint64_t bytes);

/* ---- peers.c ---- */

/* A process that has or recently had connections. */
struct sim_peer {
	struct sim_peer *next;
	pid_t pid;
	uint64_t start_time;
	uint8_t guid[16];
	struct kmes_rate_bucket bucket;
	uint32_t connections;
};

#define SIM_PEER_CHAINS 256

struct sim_peers {
	struct sim_peer *chains[SIM_PEER_CHAINS];
	uint8_t key[16];
	uint32_t rate;
};

void sim_peers_init(struct sim_peers *peers, uint32_t rate);
void sim_peers_fini(struct sim_peers *peers);

/* The present process `pid`, with one more connection. NULL: out of memory. */
struct sim_peer *sim_peers_get(struct sim_peers *peers, pid_t pid);
void sim_peers_put(struct sim_peer *peer);

/* The GUID of a process, in Microsoft's binary form. */
void sim_guid_make(uint8_t guid[16], const uint8_t key[16], uint64_t pid,
		   uint64_t start_time);

/* ---- server.c ---- */

struct sim;

/* A descriptor watched by epoll. */
struct sim_watch {
	void (*ready)(struct sim *sim, struct sim_watch *watch);
	int fd;
};

struct sim_client {
	struct sim_watch watch;
	struct sim_peer *peer;
	struct sim_client *prev, *next;
	bool has_privileges; /* root, or the simulator's own user */
	bool is_greeted;
};

struct sim_options {
	struct sockaddr_un address;
	uint32_t slots;
	struct kmes_cpus holes;
	uint64_t capacity;
	struct kmes_emit_limits limits;
	uint32_t max_emit_rate;
	uint32_t load; /* events per second, 0: none */
	bool demo, deny_attach, deny_emit, exempt, daemon, testing;
};

struct sim_demo {
	uint64_t random;
};

struct sim {
	const struct sim_options *options;
	struct sim_slots slots;
	struct sim_peers peers;
	struct sim_peer *self;
	uint8_t stream_id[16];

	int epoll;
	struct sim_watch listener;
	dev_t socket_dev; /* identity of our socket file */
	ino_t socket_ino;
	struct sim_client *clients;
	uint32_t client_count, client_max;
	bool is_full; /* the listener is disabled until descriptors are free */

	struct sim_watch load, demo; /* fd -1: off */
	struct kmes_rate_bucket load_due;
	uint64_t load_count;
	struct sim_demo demo_state;
	uint64_t fixed_stamp_ns; /* for tests; 0: the clock's time */
	int64_t clock_offset_ns; /* for tests */
	uint64_t
		swap_to; /* for tests: capacity of a resize at the next attach; 0: none */

	struct kmes_mp_scratch scratch;
	uint8_t datagram[SIM_DATAGRAM_MAX + 1];
};

/* Binds the socket. 0, or -1 after a message. */
int sim_server_open(struct sim *sim);

/* Serves until a signal asks to stop. 0 or -1. */
int sim_server_run(struct sim *sim);

/* Disconnects all clients; removes the socket if it is still ours. */
void sim_server_close(struct sim *sim);

/* ---- client.c ---- */

int sim_watch_add(struct sim *sim, struct sim_watch *watch);

/* Takes over a connection, or refuses it. `ready` serves its requests. */
void sim_client_open(struct sim *sim, int fd,
		     void (*ready)(struct sim *sim, struct sim_watch *watch));
void sim_client_close(struct sim *sim, struct sim_client *client);

/* ---- requests.c ---- */

void sim_requests_ready(struct sim *sim, struct sim_watch *watch);

/* ---- emit.c ---- */

/* The body of an emit: in memory or in a memfd. */
struct sim_body {
	const uint8_t *bytes; /* NULL: in fd */
	int fd;
	uint64_t len;
};

/* Emits for a client; errors as in doc/protocol.md, in its order. */
int sim_emit_client(struct sim *sim, struct sim_client *client,
		    const struct sim_request *request, const struct sim_body *body,
		    uint32_t *emitted);

/* Emits for the simulator itself; an event that does not fit uses up a sequence. */
void sim_emit_trusted(struct sim *sim, struct sim_ring *ring, uint8_t origin,
		      const uint8_t process_guid[16], const char *type,
		      const struct kmes_pack *payload);

/* A stamp with the current time. */
void sim_stamp_take(const struct sim *sim, struct kmes_stamp *stamp, uint8_t origin,
		    const uint8_t process_guid[16]);

/* ---- load.c, demo.c ---- */

int sim_load_start(struct sim *sim);
int sim_demo_start(struct sim *sim);

/* Timers on CLOCK_MONOTONIC. */
int sim_timer_open(struct sim *sim, struct sim_watch *watch);
void sim_timer_set(const struct sim_watch *watch, uint64_t at_ns);

#endif
