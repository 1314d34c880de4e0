// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The simulator's side of its socket: each request, and clients that violate the
 * protocol.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/kmes-sim/sim.h"
#include "unit.h"

#define CAPACITY 65536

static struct sim_options options;
static struct sim *sim;
static struct sim_client *client; /* the simulator's end; NULL: disconnected */
static int fd = -1;		  /* our end */

/* Disconnecting frees the client, which the list shows. */
static bool is_cut_off(void)
{
	return sim->clients == NULL;
}

static void make_sim(void)
{
	static const struct kmes_cpus no_holes;
	int ends[2];

	options = (struct sim_options){ .limits = { 65536, 32 }, .max_emit_rate = 10000 };
	sim = calloc(1, sizeof(*sim));
	sim->options = &options;
	memcpy(sim->stream_id, "0123456789abcdef", 16);
	sim_peers_init(&sim->peers, 10000);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	fd = ends[0];
	client = calloc(1, sizeof(*client));
	client->watch.fd = ends[1];
	client->has_privileges = true;
	client->is_greeted = true;
	client->peer = sim_peers_get(&sim->peers, getpid());
	sim->clients = client;
	sim->client_count = 1;
	assert_int_equal(sim_slots_init(&sim->slots, 2, &no_holes, CAPACITY), 0);
}

static void free_sim(void)
{
	if (!is_cut_off())
		sim_client_close(sim, client);
	close(fd);
	sim_slots_fini(&sim->slots);
	sim_peers_fini(&sim->peers);
	free(sim);
}
EACH_TEST(make_sim, free_sim);

static void serve(void)
{
	sim_requests_ready(sim, &client->watch);
}

static void send_bytes(const void *bytes, size_t len)
{
	assert_int_equal(send(fd, bytes, len, 0), (ssize_t)len);
}

/* Sends a message with descriptors. */
static void send_fds(const void *bytes, size_t len, const int *fds, unsigned int count)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)bytes, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	assert_int_equal(sendmsg(fd, &msg, 0), (ssize_t)len);
}

/* The reply, and the descriptors that came with it, -1 for none. */
static struct sim_reply receive(int fds[SIM_FDS])
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

	fds[0] = fds[1] = -1;
	assert_int_equal(recvmsg(fd, &msg, MSG_DONTWAIT), sizeof(reply));
	c = CMSG_FIRSTHDR(&msg);
	if (c) {
		assert_int_equal(c->cmsg_len, CMSG_LEN(SIM_FDS * sizeof(int)));
		memcpy(fds, CMSG_DATA(c), SIM_FDS * sizeof(int));
	}
	return reply;
}

static struct sim_reply ask(struct sim_request request)
{
	int fds[SIM_FDS];
	struct sim_reply reply;

	request.id = 77;
	send_bytes(&request, sizeof(request));
	serve();
	assert_false(is_cut_off());
	reply = receive(fds);
	assert_int_equal(reply.id, 77);
	assert_int_equal(reply.op, request.op);
	assert_int_equal(fds[0], -1);
	return reply;
}

TEST(sim_requests_hello_returns_stream_and_limits)
{
	struct sim_reply reply = ask((struct sim_request){ .op = SIM_HELLO, .value = 1 });

	assert_int_equal(reply.error, 0);
	assert_memory_equal(reply.hello.magic, "KMES-SIM", 8);
	assert_memory_equal(reply.hello.stream_id, "0123456789abcdef", 16);
	assert_int_equal(reply.hello.slots, 2);
	assert_int_equal(reply.hello.max_event_size, 65536);
	assert_int_equal(reply.hello.max_nesting_depth, 32);
	assert_int_equal(reply.hello.max_emit_rate, 10000);
	reply = ask((struct sim_request){ .op = SIM_HELLO, .value = 2 });
	assert_int_equal(reply.error, -EPROTONOSUPPORT);
}

/* [A1 A9] */
TEST(sim_requests_attach_returns_two_descriptors_of_the_ring)
{
	const struct sim_request request = { .op = SIM_ATTACH, .id = 5, .cpu = 1 };
	int fds[SIM_FDS], again[SIM_FDS];
	struct kmes_producer_page page;
	struct sim_reply reply;

	send_bytes(&request, sizeof(request));
	serve();
	reply = receive(fds);
	assert_int_equal(reply.error, 0);
	assert_int_equal(reply.capacity, CAPACITY);
	assert_int_equal(reply.generation, 1);
	assert_int_equal(pread(fds[SIM_FD_RING], &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(page.cpu_id, 1);
	assert_int_equal(pwrite(fds[SIM_FD_CONSUMER], "\x01", 1, 0), 1);
	assert_int_equal(sim->slots.rings[1].writer.consumer->need_wake, 1);
	send_bytes(&request, sizeof(request));
	serve();
	receive(again);
	assert_int_not_equal(again[0], fds[0]);
	close(fds[0]);
	close(fds[1]);
	close(again[0]);
	close(again[1]);
}

/* [A5 A6] */
TEST(sim_requests_attach_is_refused_with_a_reason)
{
	struct sim_request attach = { .op = SIM_ATTACH, .cpu = 2 };
	const struct sim_request slots = { .op = SIM_SLOTS };

	assert_int_equal(ask(attach).error, -EINVAL);
	attach.cpu = SIM_CPU_ANY;
	assert_int_equal(ask(attach).error, -EINVAL);
	assert_int_equal(ask(slots).capacity, 2);
	options.deny_attach = true;
	assert_int_equal(ask(attach).error, -EPERM);
	assert_int_equal(ask(slots).error, -EPERM);
	options.deny_attach = false;
	client->has_privileges = false;
	assert_int_equal(ask(attach).error, -EPERM);
	assert_int_equal(ask(slots).error, -EPERM);
}

static struct kmes_event_header newest(void)
{
	const struct kmes_ring_writer *w;
	struct kmes_event_header h;
	unsigned int cpu;

	memset(&h, 0, sizeof(h));
	for (cpu = 0; cpu < 2; cpu++) {
		w = &sim->slots.rings[cpu].writer;
		if (kmes_ring_live(w))
			memcpy(&h, w->data, sizeof(h));
	}
	return h;
}

/* [F1 F4] */
TEST(sim_requests_capacity_out_of_range_is_rejected_and_reported)
{
	static const uint64_t wrong[] = { 0, 65535, 98304, 536870912, UINT64_MAX };
	struct sim_request request = { .op = SIM_SET_CAPACITY };
	unsigned int i;

	for (i = 0; i < COUNT(wrong); i++) {
		request.value = wrong[i];
		assert_int_equal(ask(request).error, -ERANGE);
	}
	assert_int_equal(sim->slots.rings[0].writer.generation, 1);
	assert_int_equal(sim->slots.rings[0].writer.sequence, 3);
	assert_int_equal(sim->slots.rings[1].writer.sequence, 2);
	assert_int_equal(newest().origin_class, 1);
	assert_memory_equal(sim->slots.rings[0].writer.data + 77,
			    "kmes.config.value.rejected", 26);
}

/* [F2 F4] */
TEST(sim_requests_capacity_change_is_reported_once)
{
	struct sim_request request = { .op = SIM_SET_CAPACITY, .value = CAPACITY };

	assert_int_equal(ask(request).error, 0);
	assert_int_equal(newest().event_size, 0);
	assert_int_equal(sim->slots.rings[0].writer.generation, 1);
	request.value = 2 * CAPACITY;
	assert_int_equal(ask(request).error, 0);
	assert_int_equal(sim->slots.rings[0].writer.generation, 2);
	assert_memory_equal(sim->slots.rings[0].writer.data + 77, "kmes.config.applied",
			    19);
	request.op = SIM_CAPACITY;
	assert_int_equal(ask(request).capacity, 2 * CAPACITY);
}

/* [F3 F4] */
TEST(sim_requests_capacity_without_memory_is_reported)
{
	const struct sim_request request = { .op = SIM_SET_CAPACITY,
					     .value = 2 * CAPACITY };

	sim->slots.fail_after = 1;
	assert_int_equal(ask(request).error, -ENOMEM);
	assert_int_equal(sim->slots.capacity, CAPACITY);
	assert_memory_equal(sim->slots.rings[0].writer.data + 77,
			    "kmes.buffer.swap.failed", 23);
	client->has_privileges = false;
	assert_int_equal(ask(request).error, -EPERM);
}

struct emit_message {
	struct sim_request request;
	struct sim_entry entry;
	char bytes[4]; /* a type of one byte, a payload of one, two extra */
};

static struct emit_message emit_message(void)
{
	const struct emit_message m = {
		.request = { .op = SIM_EMIT,
			     .id = 9,
			     .cpu = 0,
			     .count = 1,
			     .body_len = sizeof(struct sim_entry) + 2 },
		.entry = { 1, 1, 0 },
		.bytes = "t\x05",
	};

	return m;
}

#define EMIT_LEN (sizeof(struct sim_request) + sizeof(struct sim_entry) + 2)

TEST(sim_requests_emit_writes_and_counts)
{
	const struct emit_message m = emit_message();
	struct sim_reply reply;
	int fds[SIM_FDS];

	send_bytes(&m, EMIT_LEN);
	serve();
	reply = receive(fds);
	assert_int_equal(reply.error, 0);
	assert_int_equal(reply.count, 1);
	reply = ask((struct sim_request){ .op = SIM_COUNTERS, .cpu = 0 });
	assert_int_equal(reply.counts.emitted_events, 1);
	assert_int_equal(reply.counts.emitted_bytes, 79);
	assert_int_equal(reply.capacity, CAPACITY);
	assert_int_equal(reply.generation, 1);
	reply = ask((struct sim_request){ .op = SIM_COUNTERS, .cpu = 2 });
	assert_int_equal(reply.error, -EINVAL);
}

static int body_file(const struct emit_message *m, int seals)
{
	int file = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const size_t len = EMIT_LEN - sizeof(m->request);

	assert_int_equal(write(file, (const char *)m + sizeof(m->request), len),
			 (ssize_t)len);
	assert_int_equal(fcntl(file, F_ADD_SEALS, seals), 0);
	return file;
}

TEST(sim_requests_emit_accepts_a_sealed_file)
{
	const struct emit_message m = emit_message();
	int file = body_file(&m, F_SEAL_SHRINK | F_SEAL_WRITE), fds[SIM_FDS];

	send_fds(&m, sizeof(m.request), &file, 1);
	serve();
	assert_false(is_cut_off());
	assert_int_equal(receive(fds).count, 1);
	assert_int_equal(kmes_ring_live(&sim->slots.rings[0].writer), 1);
	close(file);
}

/* A file that its sender could still change, or that could block the simulator. */
TEST(sim_requests_emit_from_an_unsealed_file_disconnects)
{
	const struct emit_message m = emit_message();
	int file = body_file(&m, F_SEAL_SHRINK);

	send_fds(&m, sizeof(m.request), &file, 1);
	serve();
	assert_true(is_cut_off());
	close(file);
}

TEST(sim_requests_emit_from_a_pipe_disconnects)
{
	const struct emit_message m = emit_message();
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	send_fds(&m, sizeof(m.request), ends, 1);
	serve();
	assert_true(is_cut_off());
	close(ends[0]);
	close(ends[1]);
}

TEST(sim_requests_emit_from_a_short_file_disconnects)
{
	struct emit_message m = emit_message();
	int file = body_file(&m, F_SEAL_SHRINK | F_SEAL_WRITE);

	m.request.body_len = 1ull << 62;
	send_fds(&m, sizeof(m.request), &file, 1);
	serve();
	assert_true(is_cut_off());
	close(file);
}

TEST(sim_requests_emit_by_file_and_message_disconnects)
{
	const struct emit_message m = emit_message();
	int file = body_file(&m, F_SEAL_SHRINK | F_SEAL_WRITE);

	send_fds(&m, EMIT_LEN, &file, 1);
	serve();
	assert_true(is_cut_off());
	close(file);
}

TEST(sim_requests_emit_of_another_length_disconnects)
{
	const struct emit_message m = emit_message();

	send_bytes(&m, EMIT_LEN - 1);
	serve();
	assert_true(is_cut_off());
	assert_int_equal(sim->slots.rings[0].writer.sequence, 0);
}

TEST(sim_requests_request_with_trailing_bytes_disconnects)
{
	struct emit_message m = emit_message();

	m.request.op = SIM_CAPACITY;
	send_bytes(&m, EMIT_LEN);
	serve();
	assert_true(is_cut_off());
}

TEST(sim_requests_short_message_disconnects)
{
	send_bytes("x", 1);
	serve();
	assert_true(is_cut_off());
}

TEST(sim_requests_empty_message_disconnects)
{
	send_bytes("", 0);
	serve();
	assert_true(is_cut_off());
}

TEST(sim_requests_huge_message_disconnects)
{
	static uint8_t huge[100000];

	huge[0] = SIM_EMIT;
	send_bytes(huge, sizeof(huge));
	serve();
	assert_true(is_cut_off());
}

TEST(sim_requests_hangup_within_a_request_is_noticed)
{
	const struct sim_request request = { .op = SIM_ATTACH, .cpu = 1 };

	send_bytes(&request, sizeof(request));
	close(fd);
	fd = -1;
	serve();
	assert_true(is_cut_off());
}

TEST(sim_requests_anything_before_hello_disconnects)
{
	const struct sim_request request = { .op = SIM_CAPACITY };

	client->is_greeted = false;
	send_bytes(&request, sizeof(request));
	serve();
	assert_true(is_cut_off());
}

TEST(sim_requests_unknown_request_is_refused)
{
	assert_int_equal(ask((struct sim_request){ .op = 0 }).error, -EOPNOTSUPP);
	assert_int_equal(ask((struct sim_request){ .op = 12345 }).error, -EOPNOTSUPP);
}

/* A client that does not read its replies must not block the simulator. */
TEST(sim_requests_unread_replies_disconnect)
{
	const struct sim_request request = { .op = SIM_ATTACH, .cpu = 1 };
	unsigned int n;

	for (n = 0; n < 100000 && !is_cut_off(); n++) {
		send_bytes(&request, sizeof(request));
		serve();
	}
	assert_true(is_cut_off());
	assert_between(n, 10, 10000);
}

static unsigned int open_descriptors(void)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < 1024; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

TEST(sim_requests_unexpected_descriptors_are_closed)
{
	const struct sim_request request = { .op = SIM_CAPACITY, .id = 3 };
	const int many[8] = { 0, 1, 2, 0, 1, 2, 0, 1 };
	unsigned int before = open_descriptors();
	int fds[SIM_FDS];

	send_fds(&request, sizeof(request), many, 8);
	serve();
	assert_int_equal(receive(fds).error, 0);
	send_fds(&request, sizeof(request), many, 2);
	serve();
	assert_int_equal(receive(fds).error, 0);
	assert_int_equal(open_descriptors(), before);
}

TEST(sim_requests_attach_leaks_no_descriptors)
{
	const struct sim_request request = { .op = SIM_ATTACH, .cpu = 0 };
	unsigned int before = open_descriptors(), i;
	int fds[SIM_FDS];

	for (i = 0; i < 20; i++) {
		send_bytes(&request, sizeof(request));
		serve();
		receive(fds);
		close(fds[0]);
		close(fds[1]);
	}
	assert_int_equal(open_descriptors(), before);
}

TEST(sim_requests_test_hooks_require_the_option)
{
	struct sim_request request = { .op = SIM_TEST,
				       .count = SIM_TEST_DROP,
				       .value = 3 };

	assert_int_equal(ask(request).error, -EPERM);
	assert_int_equal(sim->slots.rings[0].writer.sequence, 0);
	options.testing = true;
	assert_int_equal(ask(request).error, 0);
	assert_int_equal(sim->slots.rings[0].writer.sequence, 3);
	assert_int_equal(sim->slots.rings[0].writer.counts.dropped_events, 3);
}

/* The client gets the ring that was current at its request; its page shows the swap. */
TEST(sim_requests_swap_during_the_attach)
{
	const struct sim_request attach = { .op = SIM_ATTACH, .cpu = 0 };
	struct kmes_producer_page page;
	struct sim_reply reply;
	int fds[SIM_FDS];

	options.testing = true;
	ask((struct sim_request){
		.op = SIM_TEST, .count = SIM_TEST_SWAP, .value = 2 * CAPACITY });
	send_bytes(&attach, sizeof(attach));
	serve();
	reply = receive(fds);
	assert_int_equal(reply.generation, 1);
	assert_int_equal(reply.capacity, CAPACITY);
	assert_int_equal(pread(fds[SIM_FD_RING], &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(page.generation, 2);
	assert_int_equal(sim->slots.capacity, 2 * CAPACITY);
	close(fds[0]);
	close(fds[1]);
}
