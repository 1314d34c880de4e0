// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source_sim.c - the simulator as a source: requests over a socket, rings in memfds. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ring.h"
#include "sim_client.h"

/* The request, the table of a full batch, and type and payload of each of its entries. */
#define IOV_MAX_EMIT (2 + 2 * KMES_BATCH_MAX)

struct sim_source {
	struct kmes_source base;
	struct kmes_sim_client client;
};

static struct kmes_sim_client *to_client(struct kmes_source *src)
{
	return &((struct sim_source *)src)->client;
}

static void sim_close(struct kmes_source *src)
{
	kmesp_sim_disconnect(to_client(src));
	free(src);
}

static int sim_open(struct kmes_source **out, const char *arg,
		    const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	struct sim_source *sim = calloc(1, sizeof(*sim));
	int rc;

	if (!sim)
		return kmes_error_set(err, -ENOMEM, "out of memory");
	rc = kmesp_sim_connect(&sim->client, arg, stop, err);
	if (rc < 0) {
		free(sim);
		return rc;
	}
	sim->base.ops = &kmesp_source_sim;
	sim->base.fd = sim->client.fd;
	memcpy(sim->base.stream_id, sim->client.hello.stream_id,
	       sizeof(sim->base.stream_id));
	*out = &sim->base;
	return 0;
}

static int sim_slots(struct kmes_source *src)
{
	struct kmes_sim_exchange ex;
	int rc = kmesp_sim_ask(to_client(src), &ex, SIM_SLOTS, 0, 0);

	if (rc < 0)
		return rc;
	return ex.reply.capacity <= 65536 ? (int)ex.reply.capacity : -EPROTO;
}

/* 1 until the simulator hangs up, even if there is data to receive; one system call. */
static int sim_alive(struct kmes_source *src)
{
	struct pollfd p = { .fd = src->fd };

	return poll(&p, 1, 0) <= 0 || !(p.revents & (POLLERR | POLLHUP));
}

/* A file of at least this size that no process can truncate. */
static bool is_fixed(int fd, uint64_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && seals & F_SEAL_SHRINK && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_size >= size;
}

static bool map_at(uint8_t *at, size_t len, int prot, int fd, off_t offset)
{
	return mmap(at, len, prot, MAP_SHARED | MAP_FIXED, fd, offset) != MAP_FAILED;
}

/* Maps the parts of a ring into one range, as a device's mmap would. */
static int map_ring(struct kmes_mapping *map, uint64_t capacity)
{
	const int ring = map->fds[SIM_FD_RING];
	uint8_t *base;

	map->length = KMES_MAPPING_SIZE(capacity);
	base = mmap(NULL, map->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	map->base = base;
	if (!map_at(base, KMES_PAGE_SIZE, PROT_READ, ring, 0) ||
	    !map_at(base + KMES_CONSUMER_OFFSET, KMES_PAGE_SIZE, PROT_READ | PROT_WRITE,
		    map->fds[SIM_FD_CONSUMER], 0) ||
	    !map_at(base + KMES_DATA_OFFSET, capacity, PROT_READ, ring, KMES_PAGE_SIZE) ||
	    !map_at(base + KMES_DATA_OFFSET + capacity, capacity, PROT_READ, ring,
		    KMES_PAGE_SIZE))
		return -errno;
	map->view.producer = (const void *)base;
	map->view.data = base + KMES_DATA_OFFSET;
	map->view.capacity = capacity;
	map->need_wake = base + KMES_CONSUMER_OFFSET;
	return 0;
}

static int sim_attach(struct kmes_source *src, uint16_t cpu, struct kmes_mapping *map,
		      struct kmes_error *err)
{
	struct kmes_sim_exchange ex;
	uint64_t capacity;
	int rc = kmesp_sim_ask(to_client(src), &ex, SIM_ATTACH, cpu, 0);

	if (rc < 0) {
		kmesp_sim_close_fds(ex.fds);
		return kmes_error_set(err, rc, "cpu%u: cannot attach: %s", cpu,
				      rc == -EPERM ? "the simulator denies it"
						   : kmesp_sim_reason(rc));
	}
	memcpy(map->fds, ex.fds, sizeof(map->fds));
	map->generation = ex.reply.generation;
	capacity = ex.reply.capacity;
	if (map->fds[0] < 0 || map->fds[1] < 0 || capacity < KMES_CAPACITY_MIN ||
	    capacity > KMES_CAPACITY_MAX || (capacity & (capacity - 1)) ||
	    !is_fixed(map->fds[SIM_FD_RING], KMES_PAGE_SIZE + capacity) ||
	    !is_fixed(map->fds[SIM_FD_CONSUMER], KMES_PAGE_SIZE))
		return kmes_error_set(
			err, -EPROTO,
			"cpu%u: the simulator returned something that is not a ring",
			cpu);
	rc = map_ring(map, capacity);
	if (rc < 0)
		return kmes_error_set(err, rc, "cpu%u: cannot map ring: %s", cpu,
				      strerror(-rc));
	return 0;
}

/* Writes the pieces, `total` bytes in all. */
static int write_pieces(int fd, struct iovec *iov, unsigned int count, uint64_t total)
{
	while (total) {
		ssize_t n = writev(fd, iov, (int)count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		total -= n;
		for (; count && (size_t)n >= iov->iov_len; iov++, count--)
			n -= iov->iov_len;
		if (count) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= n;
		}
	}
	return 0;
}

/* Stores the body in a sealed memfd; returns its descriptor, or -errno. */
static int body_file(struct iovec *iov, unsigned int count, uint64_t total)
{
	int fd = memfd_create("kmes-emit", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd < 0)
		return -errno;
	rc = write_pieces(fd, iov, count, total);
	if (rc == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/*
 * Fills the table and lists the pieces of the body. The simulator reads nothing after an
 * entry that is too large for any event, so no bytes are sent from there on.
 */
static unsigned int list_pieces(struct iovec *iov, struct sim_entry *table,
				const struct kmes_sim_client *client,
				const struct kmes_record *r, uint32_t count)
{
	unsigned int n = 0;
	bool send = true;
	uint32_t i;

	iov[n++] = (struct iovec){ table, count * sizeof(*table) };
	for (i = 0; i < count; i++) {
		uint32_t size = kmes_record_size(r[i].type_len, r[i].payload_len);

		table[i] = (struct sim_entry){ r[i].payload_len, r[i].type_len, 0 };
		send = send && size && size <= client->hello.max_event_size;
		if (!send)
			continue;
		iov[n++] = (struct iovec){ (void *)r[i].type, r[i].type_len };
		iov[n++] = (struct iovec){ (void *)r[i].payload, r[i].payload_len };
	}
	return n;
}

static int sim_emit_batch(struct kmes_source *src, int cpu,
			  const struct kmes_record *records, uint32_t count,
			  uint32_t *emitted)
{
	struct kmes_sim_client *client = to_client(src);
	struct sim_entry table[KMES_BATCH_MAX];
	struct iovec iov[IOV_MAX_EMIT];
	struct kmes_sim_exchange ex = {
		.request = { .op = SIM_EMIT, .cpu = cpu, .count = count },
		.iov = iov,
		.iov_count = 1,
		.send_fd = -1,
	};
	unsigned int i;
	int rc;

	*emitted = 0;
	iov[0] = (struct iovec){ &ex.request, sizeof(ex.request) };
	/* The simulator refuses an invalid count, after it checked the privilege. */
	if (count && count <= KMES_BATCH_MAX)
		ex.iov_count += list_pieces(iov + 1, table, client, records, count);
	for (i = 1; i < ex.iov_count; i++)
		ex.request.body_len += iov[i].iov_len;
	if (sizeof(ex.request) + ex.request.body_len > SIM_DATAGRAM_MAX) {
		ex.send_fd = body_file(iov + 1, ex.iov_count - 1, ex.request.body_len);
		if (ex.send_fd < 0)
			return ex.send_fd;
		ex.iov_count = 1;
	}
	rc = kmesp_sim_exchange(client, &ex);
	if (ex.send_fd >= 0)
		close(ex.send_fd);
	if (rc < 0)
		return rc;
	kmesp_sim_close_fds(ex.fds);
	*emitted = ex.reply.count;
	return ex.reply.error;
}

static int sim_emit(struct kmes_source *src, int cpu, const struct kmes_record *record)
{
	uint32_t emitted;

	return sim_emit_batch(src, cpu, record, 1, &emitted);
}

static int sim_counters(struct kmes_source *src, uint16_t cpu,
			struct kmes_counters *counters)
{
	struct kmes_sim_exchange ex;
	int rc = kmesp_sim_ask(to_client(src), &ex, SIM_COUNTERS, cpu, 0);

	if (rc < 0)
		return rc;
	counters->capacity = ex.reply.capacity;
	counters->generation = ex.reply.generation;
	counters->counts = ex.reply.counts;
	return 0;
}

static int sim_capacity(struct kmes_source *src, uint64_t *capacity,
			struct kmes_error *err)
{
	struct kmes_sim_exchange ex;
	int rc = kmesp_sim_ask(to_client(src), &ex, SIM_CAPACITY, 0, 0);

	if (rc < 0)
		return kmes_error_set(err, rc, "sim: cannot ask for the capacity: %s",
				      kmesp_sim_reason(rc));
	*capacity = ex.reply.capacity;
	return 0;
}

static int sim_set_capacity(struct kmes_source *src, uint64_t capacity,
			    struct kmes_error *err)
{
	struct kmes_sim_exchange ex;
	int rc = kmesp_sim_ask(to_client(src), &ex, SIM_SET_CAPACITY, 0, capacity);

	if (rc < 0)
		return kmes_error_set(err, rc, "sim: cannot set the capacity to %llu: %s",
				      (unsigned long long)capacity,
				      rc == -EPERM ? "the simulator denies it"
						   : kmesp_sim_reason(rc));
	return 0;
}

const struct kmes_source_ops kmesp_source_sim = {
	.name = "sim",
	.attach_hint = " (the simulator denies attaching to this user)",
	.emit_hint = " (needs CAP_AUDIT_WRITE)",
	.is_simulation = true,
	.open = sim_open,
	.close = sim_close,
	.slots = sim_slots,
	.alive = sim_alive,
	.attach = sim_attach,
	.ring_open = kmesp_ring_open_mapped,
	.reason = kmesp_sim_reason,
	.emit = sim_emit,
	.emit_batch = sim_emit_batch,
	.counters = sim_counters,
	.capacity = sim_capacity,
	.set_capacity = sim_set_capacity,
};
