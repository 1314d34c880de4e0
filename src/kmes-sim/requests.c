// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* requests.c - serves one request of a client. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kmes_self.h"
#include "sim.h"

/* A received message. */
struct message {
	struct sim_request request;
	const uint8_t *bytes; /* after the request */
	size_t len;	      /* of those */
	int fd;		      /* passed with it, or -1 */
};

/* Takes the first descriptor of a message and closes all others. */
static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *c;
	int fds[8], first = -1;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t i, n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(c), n * sizeof(int));
		for (i = 0; i < n; i++) {
			if (first < 0)
				first = fds[i];
			else
				close(fds[i]);
		}
	}
	return first;
}

/* 1: a message; 0: none; -1: the client hung up or violated the protocol. */
static int message_receive(struct sim *sim, int fd, struct message *m)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { sim->datagram, sizeof(sim->datagram) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	m->fd = -1;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	m->fd = take_fd(&msg);
	if (n < (ssize_t)sizeof(m->request) || n > SIM_DATAGRAM_MAX)
		return -1;
	memcpy(&m->request, sim->datagram, sizeof(m->request));
	m->bytes = sim->datagram + sizeof(m->request);
	m->len = n - sizeof(m->request);
	return 1;
}

/* A memfd that contains the complete body and is sealed against changes. */
static bool is_body_file(int fd, uint64_t len)
{
	const int need = F_SEAL_WRITE | F_SEAL_SHRINK;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & need) == need && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_size >= len;
}

/* Locates the body of an emit. False: the message violates the protocol. */
static bool body_find(const struct message *m, struct sim_body *body)
{
	body->len = m->request.body_len;
	body->fd = m->fd;
	body->bytes = m->fd < 0 ? m->bytes : NULL;
	if (m->fd < 0)
		return body->len == m->len;
	return m->len == 0 && is_body_file(m->fd, body->len);
}

static bool may_attach(const struct sim *sim, const struct sim_client *client)
{
	return client->has_privileges && !sim->options->deny_attach;
}

/* Emits an event about the simulator itself, on the next slot. */
static void emit_self(struct sim *sim, const struct sim_client *client, const char *type,
		      const struct kmes_pack *payload)
{
	struct sim_ring *ring = sim_slots_ring(&sim->slots, SIM_CPU_ANY);

	if (ring)
		sim_emit_trusted(sim, ring, KMES_ORIGIN_KMES, client->peer->guid, type,
				 payload);
}

static int set_capacity(struct sim *sim, const struct sim_client *client,
			uint64_t capacity)
{
	const struct kmes_self_value value = {
		.name = KMES_SELF_CAPACITY,
		.min = KMES_CAPACITY_MIN,
		.max = KMES_CAPACITY_MAX,
		.current_value = sim->slots.capacity,
	};
	uint8_t buf[KMES_SELF_SIZE];
	struct kmes_pack payload = kmes_pack_begin(buf, sizeof(buf));
	int rc;

	if (!client->has_privileges)
		return -EPERM;
	if (capacity < value.min || capacity > value.max || (capacity & (capacity - 1))) {
		kmes_self_out_of_range(&payload, &value, capacity);
		emit_self(sim, client, KMES_SELF_REJECTED, &payload);
		return -ERANGE;
	}
	if (capacity == value.current_value)
		return 0;
	rc = sim_slots_replace(&sim->slots, capacity);
	if (rc < 0) {
		kmes_self_swap_failed(&payload, capacity, value.current_value, rc);
		emit_self(sim, client, KMES_SELF_SWAP_FAILED, &payload);
		return rc;
	}
	kmes_self_applied(&payload, value.name, capacity, capacity);
	emit_self(sim, client, KMES_SELF_APPLIED, &payload);
	return 0;
}

static int hello(struct sim *sim, struct sim_client *client,
		 const struct sim_request *request, struct sim_reply *reply)
{
	struct sim_hello *h = &reply->hello;

	if (request->value != SIM_VERSION)
		return -EPROTONOSUPPORT;
	client->is_greeted = true;
	memcpy(h->magic, SIM_MAGIC, sizeof(h->magic));
	memcpy(h->stream_id, sim->stream_id, sizeof(h->stream_id));
	h->version = SIM_VERSION;
	h->slots = sim->slots.count;
	h->max_event_size = sim->options->limits.max_event_size;
	h->max_nesting_depth = sim->options->limits.max_nesting_depth;
	h->max_emit_rate = sim->options->max_emit_rate;
	return 0;
}

/* The descriptors are duplicates, because tests may replace the ring right afterwards. */
static int attach(struct sim *sim, const struct sim_client *client, int32_t cpu,
		  struct sim_reply *reply, int fds[SIM_FDS])
{
	const struct sim_ring *ring;
	unsigned int i;

	if (!may_attach(sim, client))
		return -EPERM;
	ring = cpu >= 0 ? sim_slots_ring(&sim->slots, cpu) : NULL;
	if (!ring)
		return -EINVAL;
	reply->capacity = ring->writer.capacity;
	reply->generation = ring->writer.generation;
	for (i = 0; i < SIM_FDS; i++) {
		fds[i] = fcntl(ring->fds[i], F_DUPFD_CLOEXEC, 0);
		if (fds[i] < 0)
			return -errno;
	}
	if (sim->swap_to) {
		set_capacity(sim, client, sim->swap_to);
		sim->swap_to = 0;
	}
	return 0;
}

static int counters(struct sim *sim, int32_t cpu, struct sim_reply *reply)
{
	const struct sim_ring *ring = cpu >= 0 ? sim_slots_ring(&sim->slots, cpu) : NULL;

	if (!ring)
		return -EINVAL;
	reply->capacity = ring->writer.capacity;
	reply->generation = ring->writer.generation;
	reply->counts = ring->writer.counts;
	return 0;
}

static int drop(struct sim *sim, int32_t cpu, uint64_t count)
{
	struct sim_ring *ring = sim_slots_ring(&sim->slots, cpu);

	if (!ring || count > 1000000)
		return -EINVAL;
	while (count--)
		kmes_ring_drop(&ring->writer);
	return 0;
}

static int test(struct sim *sim, const struct sim_client *client,
		const struct sim_request *request)
{
	if (!sim->options->testing || !client->has_privileges)
		return -EPERM;
	switch (request->count) {
	case SIM_TEST_CLOCK:
		sim->clock_offset_ns = (int64_t)request->value;
		return 0;
	case SIM_TEST_STAMP:
		sim->fixed_stamp_ns = request->value;
		return 0;
	case SIM_TEST_DROP:
		return drop(sim, request->cpu, request->value);
	case SIM_TEST_SWAP:
		sim->swap_to = request->value;
		return 0;
	case SIM_TEST_FAIL_RESIZE:
		sim->slots.fail_after = (int64_t)request->value;
		return 0;
	}
	return -EINVAL;
}

/* Executes the request; results go to `reply` and `fds`. */
static int request_serve(struct sim *sim, struct sim_client *client,
			 const struct sim_request *request, const struct sim_body *body,
			 struct sim_reply *reply, int fds[SIM_FDS])
{
	switch (request->op) {
	case SIM_HELLO:
		return hello(sim, client, request, reply);
	case SIM_ATTACH:
		return attach(sim, client, request->cpu, reply, fds);
	case SIM_SLOTS:
		reply->capacity = sim->slots.count;
		return may_attach(sim, client) ? 0 : -EPERM;
	case SIM_EMIT:
		return sim_emit_client(sim, client, request, body, &reply->count);
	case SIM_COUNTERS:
		return counters(sim, request->cpu, reply);
	case SIM_CAPACITY:
		reply->capacity = sim->slots.capacity;
		return 0;
	case SIM_SET_CAPACITY:
		return set_capacity(sim, client, request->value);
	case SIM_TEST:
		return test(sim, client, request);
	}
	return -EOPNOTSUPP;
}

/* False: the client does not receive its replies. */
static bool reply_send(int fd, const struct sim_reply *reply, const int fds[SIM_FDS])
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(SIM_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)reply, sizeof(*reply) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!reply->error && fds[SIM_FD_RING] >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(SIM_FDS * sizeof(int));
		memcpy(CMSG_DATA(c), fds, SIM_FDS * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(*reply);
}

/* Serves a message. False: disconnect the client. */
static bool message_serve(struct sim *sim, struct sim_client *client,
			  const struct message *m)
{
	struct sim_reply reply = { .op = m->request.op, .id = m->request.id };
	int fds[SIM_FDS] = { -1, -1 };
	struct sim_body body = { .fd = -1 };
	unsigned int i;
	bool ok;

	if (m->request.op == SIM_EMIT ? !body_find(m, &body) : m->len > 0)
		return false;
	if (!client->is_greeted && m->request.op != SIM_HELLO)
		return false;
	reply.error = request_serve(sim, client, &m->request, &body, &reply, fds);
	sim_slots_wake(&sim->slots);
	ok = reply_send(client->watch.fd, &reply, fds);
	for (i = 0; i < SIM_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return ok;
}

void sim_requests_ready(struct sim *sim, struct sim_watch *watch)
{
	struct sim_client *client = (struct sim_client *)watch;
	struct message m;
	int rc = message_receive(sim, watch->fd, &m);
	bool ok = rc > 0 ? message_serve(sim, client, &m) : rc == 0;

	if (m.fd >= 0)
		close(m.fd);
	if (!ok)
		sim_client_close(sim, client);
}
