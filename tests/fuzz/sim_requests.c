// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * sim_requests.c - the simulator with misbehaving clients: valid requests, requests with
 * wrong fields, damaged bodies, files of every kind, random bytes.
 *
 * After each the counters of every ring must add up, and from time to time a ring is
 * walked: complete, well-formed events with rising sequences [E1 E3 E4 E7].
 *
 * usage: sim_requests [SEED]
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/kmes-sim/sim.h"
#include "tap.h"

#define SLOTS 3
#define SEED_DEFAULT 20261129

static uint64_t seed;
static struct sim *sim;
static struct sim_options options = {
	.limits = { 4096, 8 },
	.max_emit_rate = KMES_RATE_MAX,
	.exempt = true,
	.testing = true,
};
static int fd = -1; /* the client's end */
static uint64_t sent, cut_off, emitted;

static uint32_t any(uint32_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)((seed * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static void connect_client(void)
{
	struct sim_client *client = calloc(1, sizeof(*client));
	int ends[2];

	if (!client || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	if (fd >= 0)
		close(fd);
	fd = ends[0];
	client->watch.fd = ends[1];
	client->has_privileges = true;
	client->is_greeted = any(8) != 0;
	client->peer = sim_peers_get(&sim->peers, getpid());
	sim->clients = client;
	sim->client_count = 1;
}

/* A payload, mostly one small value. */
static uint32_t put_payload(uint8_t *out)
{
	static const char *const values[] = { "\xc0", "\x81\xa1n\x05", "\x93\x01\x02\x03",
					      "\xa3xyz", "\x91\x91\x91\x90" };
	const char *v = values[any(5)];
	uint32_t i, len = (uint32_t)strlen(v);

	if (any(6)) {
		memcpy(out, v, len);
		return len;
	}
	len = any(200);
	for (i = 0; i < len; i++)
		out[i] = (uint8_t)any(256);
	return len;
}

/* Table and bytes of `count` entries; any of them may be damaged. */
static uint64_t put_body(uint8_t *body, uint32_t count)
{
	uint64_t len = count * sizeof(struct sim_entry);
	uint32_t i;

	for (i = 0; i < count; i++) {
		struct sim_entry e = { .type_len = (uint16_t)(1 + any(8)) };

		memset(body + len, 'a' + (int)any(26), e.type_len);
		len += e.type_len;
		e.payload_len = put_payload(body + len);
		len += e.payload_len;
		if (!any(60))
			e.payload_len = any(4) ? any(70000) : UINT32_MAX - any(100);
		if (!any(60))
			e.type_len = (uint16_t)any(65536);
		memcpy(body + i * sizeof(e), &e, sizeof(e));
	}
	if (!any(20) && len)
		body[any((uint32_t)len)] = (uint8_t)any(256);
	return len;
}

static int any_file(const uint8_t *body, uint64_t len)
{
	int file = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (!any(10)) {
		close(file);
		return open("/dev/zero", O_RDONLY | O_CLOEXEC);
	}
	if (write(file, body, any(10) ? len : len / 2) < 0)
		abort();
	if (any(10))
		fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE);
	return file;
}

static void send_message(const void *bytes, size_t len, int file)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (void *)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (file >= 0) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &file, sizeof(int));
	}
	sendmsg(fd, &msg, MSG_NOSIGNAL);
	if (file >= 0)
		close(file);
}

static uint64_t any_value(uint32_t op)
{
	if (op == SIM_SET_CAPACITY || op == SIM_TEST)
		return any(3) ? KMES_CAPACITY_MIN << any(4) : any(200000);
	return any(3);
}

static void send_request(void)
{
	static uint8_t message[1 << 20];
	struct sim_request request = {
		.op = any(4) ? SIM_EMIT : any(10),
		.id = any(1000),
		.cpu = (int32_t)any(SLOTS + 2) - 1,
		.count = any(30) ? any(12) : any(300),
	};
	uint8_t *body = message + sizeof(request);
	uint64_t len = 0;
	int file = -1;

	request.value = any_value(request.op);
	/* frequent swaps would slow down the rest */
	if (request.op == SIM_TEST && request.count == SIM_TEST_DROP)
		request.value %= 100;
	if (request.op == SIM_EMIT)
		len = put_body(body, request.count < 300 ? request.count : 0);
	request.body_len = any(50) ? len : any(100000);
	if (request.op == SIM_EMIT && !any(8))
		file = any_file(body, len);
	if (file >= 0)
		len = any(50) ? 0 : len;
	if (!any(100))
		len = any(100);
	memcpy(message, &request, sizeof(request));
	send_message(message, any(100) ? sizeof(request) + len : any(40), file);
}

/* Takes the reply, if there is one, and what came with it. */
static void receive(void)
{
	char control[CMSG_SPACE(SIM_FDS * sizeof(int))];
	struct sim_reply reply;
	struct iovec iov = { &reply, sizeof(reply) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fds[SIM_FDS];

	if (recvmsg(fd, &msg, MSG_DONTWAIT) != sizeof(reply))
		return;
	c = CMSG_FIRSTHDR(&msg);
	if (c) {
		memcpy(fds, CMSG_DATA(c), sizeof(fds));
		close(fds[0]);
		close(fds[1]);
	}
	if (reply.op == SIM_EMIT)
		emitted += reply.count;
}

static bool counters_add_up(void)
{
	uint32_t i;

	for (i = 0; i < SLOTS; i++) {
		const struct kmes_ring_writer *w = &sim->slots.rings[i].writer;

		if (w->sequence != w->counts.emitted_events + w->counts.dropped_events ||
		    w->counts.emitted_events !=
			    kmes_ring_live(w) + w->counts.overwritten_events ||
		    w->counts.corrupt_resyncs || w->write_pos - w->tail_pos > w->capacity)
			return false;
	}
	return true;
}

static bool ring_is_sound(const struct kmes_ring_writer *w)
{
	uint64_t pos = w->tail_pos, live = 0, last = 0;
	struct kmes_event_header h;

	for (; pos < w->write_pos; pos += h.event_size, live++) {
		const uint8_t *at = w->data + (pos & (w->capacity - 1));
		struct kmes_record r;

		memcpy(&h, at, sizeof(h));
		if (h.event_size > w->write_pos - pos ||
		    h.header_size != KMES_HEADER_SIZE + (uint32_t)h.type_len ||
		    h.event_size < h.header_size || h.sequence <= last)
			return false;
		r = (struct kmes_record){ at + KMES_HEADER_SIZE, at + h.header_size,
					  h.event_size - h.header_size, h.type_len };
		if (kmes_emit_check_content(&options.limits, &r, &sim->scratch))
			return false;
		last = h.sequence;
	}
	return pos == w->write_pos && live == kmes_ring_live(w) && last <= w->sequence;
}

static bool rings_are_sound(void)
{
	uint32_t i;

	for (i = 0; i < SLOTS; i++)
		if (!ring_is_sound(&sim->slots.rings[i].writer))
			return false;
	return true;
}

static bool fuzz(void)
{
	uint64_t end_ns =
		kmesp_clock_ns(CLOCK_MONOTONIC) + tap_fuzz_seconds() * 1000000000ull;

	for (; kmesp_clock_ns(CLOCK_MONOTONIC) < end_ns; sent++) {
		if (!sim->clients || !any(500)) {
			cut_off += !sim->clients;
			if (sim->clients)
				sim_client_close(sim, sim->clients);
			connect_client();
		}
		send_request();
		sim_requests_ready(sim, &sim->clients->watch);
		receive();
		if (!counters_add_up())
			return tap_ok(false, "counters add up after each request");
		if (sent % 256 == 0 && !rings_are_sound())
			return tap_ok(false,
				      "rings contain complete, well-formed events");
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct kmes_cpus no_holes;

	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : SEED_DEFAULT;
	tap_note("seed %llu", (unsigned long long)seed);
	seed = seed * 2 + 1;
	sim = calloc(1, sizeof(*sim));
	if (!sim || sim_slots_init(&sim->slots, SLOTS, &no_holes, KMES_CAPACITY_MIN) < 0)
		return 1;
	sim->options = &options;
	sim_peers_init(&sim->peers, options.max_emit_rate);
	if (fuzz()) {
		tap_ok(rings_are_sound(), "rings contain complete, well-formed events");
		/* a fuzzer whose input is never accepted tests nothing */
		tap_ok(emitted > sent && cut_off > sent / 200,
		       "clients emit, and break the rules");
		tap_note("%llu requests, %llu events, %llu clients disconnected",
			 (unsigned long long)sent, (unsigned long long)emitted,
			 (unsigned long long)cut_off);
	}
	if (sim->clients)
		sim_client_close(sim, sim->clients);
	close(fd);
	sim_slots_fini(&sim->slots);
	sim_peers_fini(&sim->peers);
	free(sim);
	return tap_done();
}
