// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* server.c - the socket, the clients, and the loop that serves them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "sim.h"

/* Events of epoll taken at once. */
#define EVENTS 64

/* How long the listener rests when there are no descriptors. */
#define FULL_MS 100

/* Descriptors that are neither rings' nor clients'. */
#define OTHER_FDS 32

/* Whether a simulator listens there: 1, 0, or -errno when there is no telling. */
static int is_live(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno
										: 0;
	close(fd);
	switch (r) {
	case 0:
	case -EAGAIN: /* its queue is full */
		return 1;
	case -ECONNREFUSED:
	case -ENOENT:
		return 0;
	default:
		return r;
	}
}

/* Binds to the name, in the place of a socket that nobody listens at. */
static int claim(struct sim *sim)
{
	const char *path = sim->options->address.sun_path;
	const struct sockaddr *address = (const void *)&sim->options->address;
	struct stat st;
	mode_t mask;
	int live, r;

	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode)) {
			cli_error("%s exists and is not a socket", path);
			return -1;
		}
		live = is_live(&sim->options->address);
		if (live > 0) {
			cli_error("%s: another simulator is listening there", path);
			return -1;
		}
		if (live < 0 || unlink(path) < 0) {
			cli_error("%s: cannot replace the stale socket: %s", path,
				  strerror(live < 0 ? -live : errno));
			return -1;
		}
	}
	mask = umask(0177);
	r = bind(sim->listener.fd, address, sizeof(struct sockaddr_un));
	if (r < 0)
		cli_error("%s: cannot bind the socket: %s", path, strerror(errno));
	umask(mask);
	if (r < 0)
		return -1;
	if (listen(sim->listener.fd, 128) < 0 || lstat(path, &st) < 0) {
		cli_error("%s: cannot listen: %s", path, strerror(errno));
		unlink(path);
		return -1;
	}
	sim->socket_dev = st.st_dev;
	sim->socket_ino = st.st_ino;
	return 0;
}

/* Others may hold the lock for reasons of their own: it is not waited for for ever. */
static void lock_folder(int fd)
{
	const struct timespec pause = { 0, 20000000 };
	int tries = 100;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0 && --tries)
		nanosleep(&pause, NULL);
}

/*
 * Two simulators that start at the same time must not each replace the other's socket, so
 * the folder is locked while one looks and binds.
 */
static int claim_locked(struct sim *sim)
{
	char dir[sizeof(sim->options->address.sun_path) + 2];
	char *slash;
	int fd, r;

	strcpy(dir, sim->options->address.sun_path);
	slash = strrchr(dir, '/');
	if (!slash)
		strcpy(dir, ".");
	else
		slash[slash == dir] = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		cli_error("%s: cannot open the folder: %s", dir, strerror(errno));
		return -1;
	}
	lock_folder(fd);
	r = claim(sim);
	close(fd);
	return r;
}

/*
 * As many clients as descriptors allow, when the rings have theirs: two each, and two more
 * while they are replaced.
 */
static uint32_t client_max(const struct sim *sim)
{
	uint64_t rings = 2ull * SIM_FDS * sim->slots.count + OTHER_FDS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur <= rings)
		return 1;
	return limit.rlim_cur - rings < 65536 ? limit.rlim_cur - rings : 65536;
}

int sim_server_watch(struct sim *sim, struct sim_watch *watch)
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

/* Says that there is no room and hangs up. */
static void turn_away(int fd)
{
	const struct sim_reply reply = { .op = SIM_HELLO, .error = -EMFILE };

	send(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/*
 * A new client. One process gets no more than half of the places, so that it cannot keep
 * all others out.
 */
static void client_open(struct sim *sim, int fd)
{
	struct sim_client *client = NULL;
	struct ucred who;
	socklen_t len = sizeof(who);

	if (sim->client_count < sim->client_max &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
		client = calloc(1, sizeof(*client));
	if (!client) {
		turn_away(fd);
		return;
	}
	client->watch.ready = sim_requests_ready;
	client->watch.fd = fd;
	client->has_privileges = who.uid == 0 || who.uid == geteuid();
	client->peer = sim_peers_get(&sim->peers, who.pid);
	if (!client->peer || client->peer->connections > (sim->client_max + 1) / 2 ||
	    sim_server_watch(sim, &client->watch) < 0) {
		if (client->peer)
			sim_peers_put(client->peer);
		free(client);
		turn_away(fd);
		return;
	}
	client->next = sim->clients;
	if (client->next)
		client->next->prev = client;
	sim->clients = client;
	sim->client_count++;
}

static void listener_ready(struct sim *sim, struct sim_watch *watch)
{
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		client_open(sim, fd);
		return;
	}
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ECONNABORTED:
		return;
	default:
		/* No descriptor or no memory: it would be ready for ever. */
		epoll_ctl(sim->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
		sim->is_full = true;
	}
}

int sim_server_open(struct sim *sim)
{
	int r;

	sim->client_max = client_max(sim);
	sim->listener.ready = listener_ready;
	sim->epoll = epoll_create1(EPOLL_CLOEXEC);
	sim->listener.fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sim->epoll < 0 || sim->listener.fd < 0) {
		cli_error("cannot make a socket: %s", strerror(errno));
		return -1;
	}
	if (claim_locked(sim) < 0)
		return -1;
	r = sim_server_watch(sim, &sim->listener);
	if (r < 0)
		cli_error("cannot watch the socket: %s", strerror(-r));
	return r;
}

/*
 * Waits for events. The signals that stop us are let in only while it sleeps, so none
 * comes between the look at the flag and the sleep. Returns how many, 0 at a stop.
 */
static int wait_for_events(struct sim *sim, struct epoll_event *events)
{
	sigset_t stop, before;
	int n = 0;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, &before);
	if (!cli_stop_signal())
		n = epoll_pwait(sim->epoll, events, EVENTS, sim->is_full ? FULL_MS : -1,
				&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n < 0 ? 0 : n;
}

/*
 * A handler frees no watch but its own, so those that follow in `events` stay valid. Each
 * gets one turn a round: nobody starves.
 */
int sim_server_run(struct sim *sim)
{
	struct epoll_event events[EVENTS];
	bool was_full;
	int i, n;

	while (!cli_stop_signal()) {
		was_full = sim->is_full;
		n = wait_for_events(sim, events);
		for (i = 0; i < n; i++) {
			struct sim_watch *watch = events[i].data.ptr;

			watch->ready(sim, watch);
		}
		if (was_full && sim_server_watch(sim, &sim->listener) == 0)
			sim->is_full = false;
	}
	return 0;
}

void sim_server_close(struct sim *sim)
{
	struct stat st;

	while (sim->clients)
		sim_client_close(sim, sim->clients);
	if (sim->socket_ino && lstat(sim->options->address.sun_path, &st) == 0 &&
	    st.st_dev == sim->socket_dev && st.st_ino == sim->socket_ino)
		unlink(sim->options->address.sun_path);
	if (sim->listener.fd >= 0)
		close(sim->listener.fd);
	if (sim->epoll >= 0)
		close(sim->epoll);
}
