/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sim.h - the simulator's parts and what they know of each other.
 *
 * One thread does everything: it waits on the socket, on each client and on the timers of
 * the generators, and handles one request or one slice of generated events at a time. So a
 * ring has one writer, and a replacement of rings meets nobody else.
 *
 *	main.c	    options, start, end
 *	server.c    the socket, the clients, the loop
 *	requests.c  one request of a client and its reply
 *	emit.c	    the emission of a client, checked; and of the simulator itself, trusted
 *	peers.c	    the processes behind the clients: identity and rate
 *	slots.c	    the rings, their replacement, whose turn it is, waking
 *	memory.c    how much memory there is for rings
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
	uint32_t turn; /* where the last event without a slot of its own went */
	uint64_t capacity;
	uint32_t *sleepy; /* slots whose sleepers are still to be woken */
	uint32_t sleepy_count;
	bool *is_sleepy;
	int64_t fail_after; /* for tests: no memory after so many rings; -1: off */
};

/* Makes `count` rings but for the holes. -errno: there is nothing to be freed. */
int sim_slots_init(struct sim_slots *slots, uint32_t count, const struct kmes_cpus *holes,
		   uint64_t capacity);
void sim_slots_fini(struct sim_slots *slots);

/* The ring of `cpu`, or of the next slot in turn at SIM_CPU_ANY; NULL: a hole. */
struct sim_ring *sim_slots_ring(struct sim_slots *slots, int32_t cpu);

/* Replaces every ring by one of `capacity`; -errno with everything as it was. */
int sim_slots_replace(struct sim_slots *slots, uint64_t capacity);

/* A write asked for a wake: it is owed until sim_slots_wake pays it. */
void sim_slots_owe_wake(struct sim_slots *slots, const struct sim_ring *ring);
void sim_slots_wake(struct sim_slots *slots);

/* ---- memory.c ---- */

/* Whether so many bytes can be had without making the machine or its group short. */
bool sim_memory_has(uint64_t bytes);

/* ---- peers.c ---- */

/* A process that has, or lately had, connections. */
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

/* The process `pid` as it is now, with one connection more; NULL without memory. */
struct sim_peer *sim_peers_get(struct sim_peers *peers, pid_t pid);
void sim_peers_put(struct sim_peer *peer);

/* The identity of a process, in Microsoft's binary form. */
void sim_guid_make(uint8_t guid[16], const uint8_t key[16], uint64_t pid,
		   uint64_t start_time);

/* ---- server.c ---- */

struct sim;

/* Something that epoll watches. */
struct sim_watch {
	void (*ready)(struct sim *sim, struct sim_watch *watch);
	int fd;
};

struct sim_client {
	struct sim_watch watch;
	struct sim_peer *peer;
	struct sim_client *prev, *next;
	bool has_privileges; /* of root and of the simulator's own user */
	bool is_greeted;
};

struct sim_options {
	struct sockaddr_un address;
	uint32_t slots;
	struct kmes_cpus holes;
	uint64_t capacity;
	struct kmes_emit_limits limits;
	uint32_t max_emit_rate;
	uint32_t load; /* events a second, 0: none */
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
	dev_t socket_dev; /* which file is ours */
	ino_t socket_ino;
	struct sim_client *clients;
	uint32_t client_count, client_max;
	bool is_full; /* the listener waits until a descriptor is free */

	struct sim_watch load, demo; /* fd -1: off */
	struct kmes_rate_bucket load_due;
	uint64_t load_count;
	struct sim_demo demo_state;
	uint64_t fixed_stamp_ns; /* for tests; 0: the clock's */
	int64_t clock_offset_ns; /* for tests */
	uint64_t swap_to;	 /* for tests: capacity, 0: no swap is due */

	struct kmes_mp_scratch scratch;
	uint8_t datagram[SIM_DATAGRAM_MAX + 1];
};

/* Takes the socket's name; says on stderr what is in the way. 0 or -1. */
int sim_server_open(struct sim *sim);

/* Until a signal asks to stop; 0 or -1. */
int sim_server_run(struct sim *sim);

/* Hangs up on everybody and removes the socket if it is still ours. */
void sim_server_close(struct sim *sim);

int sim_server_watch(struct sim *sim, struct sim_watch *watch);
void sim_client_close(struct sim *sim, struct sim_client *client);

/* ---- requests.c ---- */

void sim_requests_ready(struct sim *sim, struct sim_watch *watch);

/* ---- emit.c ---- */

/* Where the bytes behind the table of an emit are: in memory, or in a file. */
struct sim_body {
	const uint8_t *bytes; /* NULL: in fd */
	int fd;
	uint64_t len;
};

/* Emits for a client; the contract's errors in the contract's order. */
int sim_emit_client(struct sim *sim, struct sim_client *client,
		    const struct sim_request *request, const struct sim_body *body,
		    uint32_t *emitted);

/* Emits for the simulator itself; what does not fit is dropped and spends a sequence. */
void sim_emit_trusted(struct sim *sim, struct sim_ring *ring, uint8_t origin,
		      const uint8_t process_guid[16], const char *type,
		      const struct kmes_pack *payload);

/* A stamp of now. */
void sim_stamp_take(const struct sim *sim, struct kmes_stamp *stamp, uint8_t origin,
		    const uint8_t process_guid[16]);

/* ---- load.c, demo.c ---- */

int sim_load_start(struct sim *sim);
int sim_demo_start(struct sim *sim);

/* CLOCK_MONOTONIC and the timers on it. */
uint64_t sim_now_ns(void);
int sim_timer_open(struct sim *sim, struct sim_watch *watch);
void sim_timer_set(const struct sim_watch *watch, uint64_t at_ns);

#endif
