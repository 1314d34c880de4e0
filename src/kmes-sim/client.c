// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* client.c - accepts, limits and closes the connections of clients. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim.h"

int sim_watch_add(struct sim *sim, struct sim_watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	return epoll_ctl(sim->epoll, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

void sim_client_close(struct sim *sim, struct sim_client *client)
{
	close(client->watch.fd);
	if (client->prev)
		client->prev->next = client->next;
	else
		sim->clients = client->next;
	if (client->next)
		client->next->prev = client->prev;
	if (client->peer)
		sim_peers_put(client->peer);
	sim->client_count--;
	free(client);
}

/* Replies that the limit of clients is reached, and hangs up. */
static void refuse(int fd)
{
	const struct sim_reply reply = { .op = SIM_HELLO, .error = -EMFILE };

	send(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

void sim_client_open(struct sim *sim, int fd,
		     void (*ready)(struct sim *sim, struct sim_watch *watch))
{
	struct sim_client *client = NULL;
	struct ucred who;
	socklen_t len = sizeof(who);

	if (sim->client_count < sim->client_max &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
		client = calloc(1, sizeof(*client));
	if (!client) {
		refuse(fd);
		return;
	}
	client->watch.ready = ready;
	client->watch.fd = fd;
	client->has_privileges = who.uid == 0 || who.uid == geteuid();
	client->peer = sim_peers_get(&sim->peers, who.pid);
	/* One process gets at most half of the connections. */
	if (!client->peer || client->peer->connections > (sim->client_max + 1) / 2 ||
	    sim_watch_add(sim, &client->watch) < 0) {
		if (client->peer)
			sim_peers_put(client->peer);
		free(client);
		refuse(fd);
		return;
	}
	client->next = sim->clients;
	if (client->next)
		client->next->prev = client;
	sim->clients = client;
	sim->client_count++;
}
