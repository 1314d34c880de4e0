// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The simulator as a source: opening, emitting, attaching. The stand-in is a pthread. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "simserver.h"
#include "unit.h"

#define CAPACITY 65536

TEST(source_sim_open_returns_the_stream_id)
{
	assert_int_equal(server_start(server_honest), 0);
	assert_string_equal(kmes_source_name(src), "sim");
	assert_memory_equal(kmes_source_stream_id(src), "0123456789abcdef", 16);
	assert_true(kmes_source_fd(src) >= 0);
	assert_int_equal(kmes_source_alive(src), 1);
	server_stop();
}

TEST(source_sim_open_without_a_socket_is_absent)
{
	assert_int_equal(kmes_source_open(&src, "sim:/tmp/kmes-there-is-none/s", NULL,
					  &err),
			 -ENOENT);
	assert_string_equal(err.text, "/tmp/kmes-there-is-none/s does not exist");
	assert_int_equal(kmes_source_open(&src, "sim:", NULL, &err), -EINVAL);
	assert_int_equal(
		kmes_source_open(
			&src,
			"sim:/0123456789/0123456789/0123456789/0123456789/0123456789"
			"/0123456789/0123456789/0123456789/0123456789/0123456789",
			NULL, &err),
		-ENAMETOOLONG);
}

TEST(source_sim_open_of_a_stale_socket_is_absent)
{
	char dir[] = "/tmp/kmes-source.XXXXXX", name[64];
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_non_null(mkdtemp(dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	snprintf(name, sizeof(name), "sim:%s/s", dir);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(kmes_source_open(&src, name, NULL, &err), -ENOENT);
	unlink(address.sun_path);
	/* a socket of another type is not the simulator */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(kmes_source_open(&src, name, NULL, &err), -EPROTO);
	close(fd);
	unlink(address.sun_path);
	rmdir(dir);
}

/* [E5] */
TEST(source_sim_emit_sends_table_and_bytes)
{
	const struct kmes_record r[2] = { { "ab", "\x01", 1, 2 },
					  { "c", "\xa1x", 2, 1 } };
	uint32_t emitted;

	assert_int_equal(server_start(server_honest), 0);
	assert_int_equal(kmes_source_emit_batch(src, 1, r, 2, &emitted), 0);
	assert_int_equal(emitted, 2);
	assert_int_equal(server.last.op, SIM_EMIT);
	assert_int_equal(server.last.cpu, 1);
	assert_int_equal(server.last.count, 2);
	assert_int_equal(server.last.body_len, server.body_len);
	assert_int_equal(server.body_len, 2 * 8 + 6);
	assert_memory_equal(server.body, "\x01\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\0\0", 16);
	assert_memory_equal(server.body + 16,
			    "ab\x01"
			    "c\xa1x",
			    6);
	server_stop();
}

/* An impossible event is left out of the body: its lengths suffice to refuse it. [E2] */
TEST(source_sim_emit_reads_no_bytes_of_an_impossible_event)
{
	const struct kmes_record r[3] = { { "ab", "\x01", 1, 2 },
					  { "c", NULL, UINT32_MAX, 1 },
					  { "d", "\x02", 1, 1 } };
	uint32_t emitted;

	assert_int_equal(server_start(server_honest), 0);
	kmes_source_emit_batch(src, 0, r, 3, &emitted);
	assert_int_equal(server.body_len, 3 * 8 + 3);
	assert_memory_equal(server.body + 8, "\xff\xff\xff\xff\x01\0\0\0", 8);
	/* a wrong count is sent to the simulator, without a body */
	assert_int_equal(kmes_source_emit_batch(src, 0, r, 0, &emitted), 0);
	assert_int_equal(server.last.count, 0);
	assert_int_equal(kmes_source_emit_batch(src, 0, r, 257, &emitted), 0);
	assert_int_equal(server.last.count, 257);
	assert_int_equal(server.body_len, 0);
	server_stop();
}

TEST(source_sim_large_emit_is_sent_as_a_file)
{
	static char payload[60000];
	const struct kmes_record r[2] = { { "t", payload, sizeof(payload), 1 },
					  { "t", payload, sizeof(payload), 1 } };
	uint32_t emitted;

	assert_int_equal(server_start(server_honest), 0);
	assert_int_equal(kmes_source_emit_batch(src, 0, r, 1, &emitted), 0);
	assert_int_equal(server.body_len, 60009);
	assert_int_equal(kmes_source_emit_batch(src, 0, r, 2, &emitted), 0);
	assert_int_equal(emitted, 2);
	assert_int_equal(server.body_len, 0);
	assert_int_equal(server.last.body_len, 2 * 60009);
	server_stop();
}

/* Files as the simulator would send them, or almost. */
static void make_files(uint64_t ring_size, int ring_seals)
{
	server.fds[SIM_FD_RING] = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	server.fds[SIM_FD_CONSUMER] =
		memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(server.fds[SIM_FD_RING], (off_t)ring_size), 0);
	assert_int_equal(ftruncate(server.fds[SIM_FD_CONSUMER], 4096), 0);
	assert_int_equal(fcntl(server.fds[SIM_FD_RING], F_ADD_SEALS, ring_seals), 0);
	assert_int_equal(fcntl(server.fds[SIM_FD_CONSUMER], F_ADD_SEALS, F_SEAL_SHRINK),
			 0);
}

static bool gives_ring(struct server *s, const struct sim_request *request,
		       struct sim_reply *reply)
{
	struct kmes_producer_page page = {
		.magic = { 'K', 'M', 'E', 'S', 'R', 'I', 'N', 'G' },
		.version = 1,
		.cpu_id = 1,
		.capacity = CAPACITY,
		.data_offset = 8192,
		.generation = 4,
	};

	if (request->op != SIM_ATTACH)
		return true;
	assert_int_equal(pwrite(s->fds[0], &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(pwrite(s->fds[0], "end", 3, 4096 + CAPACITY - 3), 3);
	reply->capacity = CAPACITY;
	reply->generation = 4;
	return true;
}

/* [A1 M3 M5 M7] */
TEST(source_sim_attach_maps_one_range)
{
	struct kmes_mapping map;
	const uint8_t *base;
	uint8_t byte;

	assert_int_equal(server_start(gives_ring), 0);
	make_files(4096 + CAPACITY, F_SEAL_SHRINK);
	assert_int_equal(kmes_mapping_open(&map, src, 1, &err), 0);
	base = map.base;
	assert_int_equal(map.length, 8192 + 2 * CAPACITY);
	assert_int_equal(map.generation, 4);
	assert_ptr_equal(map.view.producer, base);
	assert_ptr_equal(map.need_wake, base + 4096);
	assert_ptr_equal(map.view.data, base + 8192);
	assert_memory_equal(map.view.data + CAPACITY - 3, "end", 3);
	assert_memory_equal(map.view.data + 2 * CAPACITY - 3, "end", 3);
	*map.need_wake = 1;
	assert_int_equal(pread(server.fds[SIM_FD_CONSUMER], &byte, 1, 0), 1);
	assert_int_equal(byte, 1);
	kmes_mapping_close(&map);
	server_stop();
}

/* A file that can shrink could raise SIGBUS later, one that is too short at once. */
TEST(source_sim_attach_refuses_files_that_can_shrink)
{
	struct kmes_mapping map;

	assert_int_equal(server_start(gives_ring), 0);
	make_files(4096 + CAPACITY, F_SEAL_GROW);
	assert_int_equal(kmes_mapping_open(&map, src, 1, &err), -EPROTO);
	server_stop();
}

static bool gives_short_ring(struct server *s, const struct sim_request *request,
			     struct sim_reply *reply)
{
	(void)s;
	(void)request;
	reply->capacity = 2 * CAPACITY;
	reply->generation = 1;
	return true;
}

TEST(source_sim_attach_refuses_short_files)
{
	struct kmes_mapping map;

	assert_int_equal(server_start(gives_short_ring), 0);
	make_files(4096 + CAPACITY, F_SEAL_SHRINK);
	assert_int_equal(kmes_mapping_open(&map, src, 1, &err), -EPROTO);
	server_stop();
}

static bool gives_odd_capacity(struct server *s, const struct sim_request *request,
			       struct sim_reply *reply)
{
	(void)s;
	(void)request;
	reply->capacity = CAPACITY - 4096;
	return true;
}

/* [M6] */
TEST(source_sim_attach_refuses_an_odd_capacity)
{
	struct kmes_mapping map;

	assert_int_equal(server_start(gives_odd_capacity), 0);
	make_files(4096 + CAPACITY, F_SEAL_SHRINK);
	assert_int_equal(kmes_mapping_open(&map, src, 1, &err), -EPROTO);
	server_stop();
}

static bool gives_nothing(struct server *s, const struct sim_request *request,
			  struct sim_reply *reply)
{
	(void)s;
	if (request->op == SIM_ATTACH)
		s->last.op = SIM_SLOTS; /* so that no descriptors are sent */
	reply->capacity = CAPACITY;
	return true;
}

TEST(source_sim_attach_without_descriptors_is_refused)
{
	struct kmes_mapping map;

	assert_int_equal(server_start(gives_nothing), 0);
	assert_int_equal(kmes_mapping_open(&map, src, 1, &err), -EPROTO);
	server_stop();
}

static bool counts(struct server *s, const struct sim_request *request,
		   struct sim_reply *reply)
{
	(void)s;
	if (request->op == SIM_HELLO)
		return true;
	reply->capacity = CAPACITY;
	reply->generation = 3;
	reply->counts.emitted_events = 1ull << 40;
	reply->counts.wakes = 5;
	reply->error = request->op == SIM_SET_CAPACITY ? -ENOMEM : 0;
	return true;
}

TEST(source_sim_counters_and_capacity_are_passed_on)
{
	struct kmes_counters counters;
	uint64_t capacity;

	assert_int_equal(server_start(counts), 0);
	assert_int_equal(kmes_source_counters(src, 1, &counters), 0);
	assert_int_equal(server.last.cpu, 1);
	assert_int_equal(counters.generation, 3);
	assert_int_equal(counters.capacity, CAPACITY);
	assert_int_equal(counters.counts.emitted_events, 1ull << 40);
	assert_int_equal(counters.counts.wakes, 5);
	assert_int_equal(kmes_source_capacity(src, &capacity, &err), 0);
	assert_int_equal(capacity, CAPACITY);
	assert_int_equal(kmes_source_set_capacity(src, 1 << 20, &err), -ENOMEM);
	assert_int_equal(server.last.value, 1 << 20);
	assert_string_equal(
		err.text,
		"sim: cannot set the capacity to 1048576: Cannot allocate memory");
	server_stop();
}

TEST(source_sim_address_follows_the_environment)
{
	struct sockaddr_un address;

	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	assert_int_equal(kmesp_sim_address(&address, NULL), 0);
	assert_string_equal(address.sun_path, "/run/user/7/kmes-sim.sock");
	setenv("XDG_RUNTIME_DIR", "", 1);
	assert_int_equal(kmesp_sim_address(&address, NULL), 0);
	assert_string_equal(address.sun_path, "/run/kmes-sim.sock");
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(kmesp_sim_address(&address, NULL), 0);
	assert_string_equal(address.sun_path, "/run/kmes-sim.sock");
	assert_int_equal(kmesp_sim_address(&address, "rel"), 0);
	assert_string_equal(address.sun_path, "rel");
}
