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

/* epoll events handled per call. */
#define EVENTS 64

/* How long the listener is disabled when descriptors run out. */
#define FULL_MS 100

/* Descriptors that belong neither to rings nor to clients. */
#define OTHER_FDS 32

/* Does a simulator listen there? 1, 0, or -errno: unknown. */
static int is_live(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno
										 : 0;
	close(fd);
	switch (rc) {
	case 0:
	case -EAGAIN: /* its backlog is full */
		return 1;
	case -ECONNREFUSED:
	case -ENOENT:
		return 0;
	default:
		return rc;
	}
}

/* Binds to the address; replaces a stale socket. */
static int claim(struct sim *sim)
{
	const char *path = sim->options->address.sun_path;
	const struct sockaddr *address = (const void *)&sim->options->address;
	struct stat st;
	mode_t mask;
	int live, rc;

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
	rc = bind(sim->listener.fd, address, sizeof(struct sockaddr_un));
	if (rc < 0)
		cli_error("%s: cannot bind the socket: %s", path, strerror(errno));
	umask(mask);
	if (rc < 0)
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

/* Another program may hold the lock: wait for two seconds at most. */
static void lock_directory(int fd)
{
	const struct timespec pause = { 0, 20000000 };
	int tries = 100;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0 && --tries)
		nanosleep(&pause, NULL);
}

/*
 * The directory is locked between the check and the bind, so that simulators that start
 * at the same time do not replace each other's socket.
 */
static int claim_locked(struct sim *sim)
{
	char dir[sizeof(sim->options->address.sun_path) + 2];
	char *slash;
	int fd, rc;

	strcpy(dir, sim->options->address.sun_path);
	slash = strrchr(dir, '/');
	if (!slash)
		strcpy(dir, ".");
	else
		slash[slash == dir] = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		cli_error("%s: cannot open the directory: %s", dir, strerror(errno));
		return -1;
	}
	lock_directory(fd);
	rc = claim(sim);
	close(fd);
	return rc;
}

/*
 * The number of clients that descriptors allow; a ring needs two, twice during a resize.
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

static void listener_ready(struct sim *sim, struct sim_watch *watch)
{
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		sim_client_open(sim, fd, sim_requests_ready);
		return;
	}
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ECONNABORTED:
		return;
	default:
		/* Out of descriptors or memory: the listener would stay ready. */
		epoll_ctl(sim->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
		sim->is_full = true;
	}
}

int sim_server_open(struct sim *sim)
{
	int rc;

	sim->client_max = client_max(sim);
	sim->listener.ready = listener_ready;
	sim->epoll = epoll_create1(EPOLL_CLOEXEC);
	sim->listener.fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sim->epoll < 0 || sim->listener.fd < 0) {
		cli_error("cannot create a socket: %s", strerror(errno));
		return -1;
	}
	if (claim_locked(sim) < 0)
		return -1;
	rc = sim_watch_add(sim, &sim->listener);
	if (rc < 0)
		cli_error("cannot watch the socket: %s", strerror(-rc));
	return rc;
}

/*
 * Waits for events. Stop signals are unblocked only during the sleep, so that none
 * arrives between the check of the flag and the sleep. Returns their number, 0 on a stop.
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
 * A handler frees no watch but its own, so the others in `events` stay valid. Each watch
 * gets one turn per round, so no client starves.
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
		if (was_full && sim_watch_add(sim, &sim->listener) == 0)
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
