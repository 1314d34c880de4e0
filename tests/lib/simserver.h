/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * simserver.h - a stand-in for the simulator that answers as a test wants, and a source
 * that is open on it.
 */
#ifndef KMES_TESTS_SIMSERVER_H
#define KMES_TESTS_SIMSERVER_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "sim_proto.h"

/* A stand-in for the simulator: serves one client as `answer` likes. */
struct server {
	/* Returns false to hang up. The reply is prepared as a correct one. */
	bool (*answer)(struct server *s, const struct sim_request *request,
		       struct sim_reply *reply);
	pthread_t thread;
	char dir[32], path[64], name[80];
	int listener, client;
	int fds[SIM_FDS]; /* sent with an attach */
	uint32_t requests;
	struct sim_request last;
	uint8_t body[SIM_DATAGRAM_MAX];
	size_t body_len;
};

extern struct server server;
extern struct kmes_source *src;
extern struct kmes_error err;
extern volatile sig_atomic_t stopped; /* passed to kmes_source_open */

/* Starts the server and opens `src` on it; returns what kmes_source_open did. */
int server_start(bool (*answer)(struct server *s, const struct sim_request *request,
				struct sim_reply *reply));
void server_stop(void);

/* Sends a reply, with the descriptors of an attach unless NULL. */
void server_reply(int fd, const struct sim_reply *reply, const int *fds);

/* Answers as the simulator does. */
bool server_honest(struct server *s, const struct sim_request *request,
		   struct sim_reply *reply);

#endif
