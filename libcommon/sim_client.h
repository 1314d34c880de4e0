/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* sim_client.h - the client side of the simulator's socket; private to the project. */
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
	const volatile sig_atomic_t
		*stop; /* if *stop is not 0, do not wait; may be NULL */
};

/* One request and its reply. */
struct kmes_sim_exchange {
	struct sim_request request;
	struct iovec *iov; /* the request and its body in the datagram */
	unsigned int iov_count;
	int send_fd; /* -1: none */
	struct sim_reply reply;
	int fds[SIM_FDS]; /* received, closed by the caller; -1: none */
};

/*
 * Connects to `path` (NULL: the default) and exchanges SIM_HELLO. -ENOENT: there is no
 * simulator. `stop`: see struct kmes_sim_client.
 */
int kmesp_sim_connect(struct kmes_sim_client *client, const char *path,
		      const volatile sig_atomic_t *stop, struct kmes_error *err);
void kmesp_sim_disconnect(struct kmes_sim_client *client);

/*
 * Sets the id of the request, sends it, and waits for its reply. Returns 0, or -errno
 * of the transport: -ESHUTDOWN if the simulator has ended, -ETIMEDOUT, -EINTR if *stop
 * is set.
 */
int kmesp_sim_exchange(struct kmes_sim_client *client, struct kmes_sim_exchange *ex);

/* Sends a request without a body; also returns the error in its reply. */
int kmesp_sim_ask(struct kmes_sim_client *client, struct kmes_sim_exchange *ex,
		  uint32_t op, int cpu, uint64_t value);

void kmesp_sim_close_fds(int fds[SIM_FDS]);

/* Describes a -errno of these functions. */
const char *kmesp_sim_reason(int error);

#endif
