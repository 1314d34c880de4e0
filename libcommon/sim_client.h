/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* sim_client.h - the client's end of the simulator's socket; private to the project. */
#ifndef KMES_SIM_CLIENT_H
#define KMES_SIM_CLIENT_H
#include <signal.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "sim_proto.h"

struct kmes_sim_client {
	int fd;
	uint32_t last_id;
	struct sim_hello hello;
	struct sockaddr_un address;
	const volatile sig_atomic_t *stop; /* not 0: no answer is waited for; or NULL */
};

/* One request on its way: what goes out and what came back. */
struct kmes_sim_exchange {
	struct sim_request request;
	struct iovec *iov; /* the request and what follows it in the datagram */
	unsigned int iov_count;
	int send_fd; /* -1: none */
	struct sim_reply reply;
	int fds[SIM_FDS]; /* the caller's to close; -1: none came */
};

/*
 * Connects to `path`, NULL for the usual place, and says hello. -ENOENT: nobody there.
 * `stop`: see struct kmes_sim_client.
 */
int kmesp_sim_connect(struct kmes_sim_client *client, const char *path,
		      const volatile sig_atomic_t *stop, struct kmes_error *err);
void kmesp_sim_disconnect(struct kmes_sim_client *client);

/*
 * Sends the request, whose id is filled in here, and waits for its reply. Returns 0, or
 * -errno of the way there and back: -ESHUTDOWN when the simulator has ended, -ETIMEDOUT,
 * -EINTR when it is to stop.
 */
int kmesp_sim_exchange(struct kmes_sim_client *client, struct kmes_sim_exchange *ex);

/* A request without a body; returns the error of its reply, too. */
int kmesp_sim_ask(struct kmes_sim_client *client, struct kmes_sim_exchange *ex,
		  uint32_t op, int cpu, uint64_t value);

void kmesp_sim_close_fds(int fds[SIM_FDS]);

/* A -errno from here in words. */
const char *kmesp_sim_reason(int error);

#endif
