// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sim_client.c - the client side of the simulator's socket: connect, send, receive. */
#include "sim_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

/* Limits for a reply. Replacing all rings of a large machine takes a while. */
#define ANSWER_MS 5000
#define REPLACE_MS 60000

/* How often a waiting request checks the time and the stop flag. */
#define LOOK_MS 500

/* No errno of the kernel is larger. */
#define ERRNO_MAX 4095

int kmesp_sim_address(struct sockaddr_un *address, const char *path)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	int n;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (path && !*path)
		return -EINVAL;
	if (path)
		n = snprintf(address->sun_path, sizeof(address->sun_path), "%s", path);
	else
		n = snprintf(address->sun_path, sizeof(address->sun_path),
			     "%s/kmes-sim.sock", dir && *dir ? dir : "/run");
	return n < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

static uint64_t now_ms(void)
{
	return kmesp_clock_ns(CLOCK_MONOTONIC) / KMES_NS_PER_MS;
}

/* After a failed send or receive: 0 to try again, or the error to return. */
static int try_again(uint64_t *deadline_ms, int timeout_ms)
{
	switch (errno) {
	case EINTR:
	case EAGAIN:
		if (!*deadline_ms)
			*deadline_ms = now_ms() + timeout_ms;
		return now_ms() < *deadline_ms ? 0 : -ETIMEDOUT;
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return -ESHUTDOWN;
	default:
		return -errno;
	}
}

/* An emission is completed even if the program is to stop after it. */
static bool is_to_stop(const struct kmes_sim_client *client,
		       const struct kmes_sim_exchange *ex)
{
	return client->stop && *client->stop && ex->request.op != SIM_EMIT;
}

static int send_request(const struct kmes_sim_client *client,
			const struct kmes_sim_exchange *ex)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr msg = { .msg_iov = ex->iov, .msg_iovlen = ex->iov_count };
	uint64_t deadline_ms = 0;
	int rc;

	if (ex->send_fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &ex->send_fd, sizeof(int));
	}
	while (sendmsg(client->fd, &msg, MSG_NOSIGNAL) < 0) {
		rc = is_to_stop(client, ex) ? -EINTR : try_again(&deadline_ms, ANSWER_MS);
		if (rc)
			return rc;
	}
	return 0;
}

void kmesp_sim_close_fds(int fds[SIM_FDS])
{
	unsigned int i;

	for (i = 0; i < SIM_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* Takes the descriptors of a message; the buffer has room for SIM_FDS of them. */
static void take_fds(struct msghdr *msg, int fds[SIM_FDS])
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

/*
 * There is no reply yet (errno), or only one to another request: 0 to continue waiting,
 * or the error to return.
 */
static int not_yet(const struct kmes_sim_client *client,
		   const struct kmes_sim_exchange *ex, uint64_t *deadline_ms)
{
	int patience_ms = ex->request.op == SIM_SET_CAPACITY ? REPLACE_MS : ANSWER_MS;

	return is_to_stop(client, ex) ? -EINTR : try_again(deadline_ms, patience_ms);
}

/* Receives one message into ex->reply and ex->fds. */
static int receive_one(const struct kmes_sim_client *client, struct kmes_sim_exchange *ex,
		       uint64_t *deadline_ms)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(SIM_FDS * sizeof(int))];
	} control;
	struct iovec iov = { &ex->reply, sizeof(ex->reply) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n;

	while ((n = recvmsg(client->fd, &msg, MSG_CMSG_CLOEXEC)) < 0) {
		int rc = not_yet(client, ex, deadline_ms);

		if (rc)
			return rc;
		msg.msg_controllen = sizeof(control.buf);
	}
	take_fds(&msg, ex->fds);
	if (n == 0)
		return -ESHUTDOWN;
	if (n != sizeof(ex->reply) || msg.msg_flags & MSG_TRUNC)
		return -EPROTO;
	return msg.msg_flags & MSG_CTRUNC ? -EMFILE : 0;
}

/* The error is 0 or -errno; an emission has written all events, or less with an error. */
static bool reply_is_valid(const struct kmes_sim_exchange *ex)
{
	const struct sim_reply *reply = &ex->reply;
	uint32_t asked = ex->request.count;

	if (reply->error > 0 || reply->error < -ERRNO_MAX)
		return false;
	if (ex->request.op != SIM_EMIT)
		return true;
	return reply->error && asked ? reply->count < asked : reply->count == asked;
}

/*
 * A reply to an earlier request, which had timed out, is ignored; a simulator that sends
 * only such replies has not answered.
 */
int kmesp_sim_exchange(struct kmes_sim_client *client, struct kmes_sim_exchange *ex)
{
	uint64_t deadline_ms = 0;
	int rc;

	ex->request.id = ++client->last_id;
	ex->fds[0] = ex->fds[1] = -1;
	rc = send_request(client, ex);
	while (rc == 0) {
		rc = receive_one(client, ex, &deadline_ms);
		if (rc == 0 && (ex->reply.id == ex->request.id || !ex->reply.id)) {
			if (reply_is_valid(ex))
				return 0;
			rc = -EPROTO;
		}
		kmesp_sim_close_fds(ex->fds);
		errno = EAGAIN;
		if (rc == 0)
			rc = not_yet(client, ex, &deadline_ms);
	}
	return rc;
}

int kmesp_sim_ask(struct kmes_sim_client *client, struct kmes_sim_exchange *ex,
		  uint32_t op, int cpu, uint64_t value)
{
	struct iovec iov = { &ex->request, sizeof(ex->request) };
	int rc;

	memset(ex, 0, sizeof(*ex));
	ex->request.op = op;
	ex->request.cpu = cpu;
	ex->request.value = value;
	ex->iov = &iov;
	ex->iov_count = 1;
	ex->send_fd = -1;
	rc = kmesp_sim_exchange(client, ex);
	if (rc < 0)
		return rc;
	if (op != SIM_ATTACH)
		kmesp_sim_close_fds(ex->fds);
	return ex->reply.error;
}

const char *kmesp_sim_reason(int error)
{
	switch (error) {
	case -ESHUTDOWN:
		return "the simulator has ended";
	case -ETIMEDOUT:
		return "the simulator does not answer";
	case -EPROTO:
		return "not a simulator of a known version";
	default:
		return strerror(-error);
	}
}

/* connect() gives ECONNREFUSED for a file that is not a socket, too. */
static bool is_other_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISSOCK(st.st_mode);
}

static int connect_to(struct kmes_sim_client *client, struct kmes_error *err)
{
	const struct timeval look = { LOOK_MS / 1000, LOOK_MS % 1000 * 1000 };
	const char *path = client->address.sun_path;
	uint64_t deadline_ms = 0;
	int fd, rc;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return kmes_error_set(err, -errno, "%s: cannot create a socket: %s", path,
				      strerror(errno));
	client->fd = fd;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &look, sizeof(look));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look));
	while (connect(fd, (struct sockaddr *)&client->address, sizeof(client->address)) <
	       0) {
		switch (errno) {
		case ENOENT:
		case ENOTDIR:
			return kmes_error_set(err, -ENOENT, "%s does not exist", path);
		case ECONNREFUSED:
			if (!is_other_file(path))
				return kmes_error_set(
					err, -ENOENT,
					"%s: no simulator is listening there", path);
			/* fall through */
		case EPROTOTYPE:
		case ENOTSOCK:
			return kmes_error_set(err, -EPROTO,
					      "%s is not a simulator's socket", path);
		}
		rc = client->stop && *client->stop ? -EINTR
						   : try_again(&deadline_ms, ANSWER_MS);
		if (rc)
			return kmes_error_set(err, rc, "%s: cannot connect: %s", path,
					      kmesp_sim_reason(rc));
	}
	return 0;
}

static int say_hello(struct kmes_sim_client *client, struct kmes_error *err)
{
	const char *path = client->address.sun_path;
	struct kmes_sim_exchange ex;
	int rc = kmesp_sim_ask(client, &ex, SIM_HELLO, 0, SIM_VERSION);

	client->hello = ex.reply.hello;
	if (rc == -EMFILE || rc == -ESHUTDOWN)
		return kmes_error_set(err, rc,
				      "%s: the simulator accepts no more clients, or is "
				      "ending",
				      path);
	if (rc < 0)
		return kmes_error_set(err, rc, "%s: %s", path, kmesp_sim_reason(rc));
	if (memcmp(client->hello.magic, SIM_MAGIC, sizeof(client->hello.magic)) ||
	    client->hello.version != SIM_VERSION || client->hello.slots > 65536)
		return kmes_error_set(err, -EPROTO, "%s: %s", path,
				      kmesp_sim_reason(-EPROTO));
	return 0;
}

int kmesp_sim_connect(struct kmes_sim_client *client, const char *path,
		      const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	int rc;

	memset(client, 0, sizeof(*client));
	client->fd = -1;
	client->stop = stop;
	rc = kmesp_sim_address(&client->address, path);
	if (rc < 0)
		return kmes_error_set(err, rc, "'%s' cannot be the name of a socket: %s",
				      path ? path : "$XDG_RUNTIME_DIR/kmes-sim.sock",
				      rc == -EINVAL ? "empty" : "too long");
	rc = connect_to(client, err);
	if (rc == 0)
		rc = say_hello(client, err);
	if (rc < 0)
		kmesp_sim_disconnect(client);
	return rc;
}

void kmesp_sim_disconnect(struct kmes_sim_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}
