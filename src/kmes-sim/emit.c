// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* emit.c - writes events into the rings: those of clients after checks, and our own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim.h"

void sim_stamp_take(const struct sim *sim, struct kmes_stamp *stamp, uint8_t origin,
		    const uint8_t process_guid[16])
{
	memset(stamp, 0, sizeof(*stamp));
	stamp->timestamp =
		kmesp_clock_ns(CLOCK_REALTIME) + (uint64_t)sim->clock_offset_ns;
	stamp->origin_class = origin;
	if (sim->fixed_stamp_ns)
		stamp->timestamp = sim->fixed_stamp_ns;
	memcpy(stamp->process_guid, process_guid, sizeof(stamp->process_guid));
}

/* The valid prefix of a batch. */
struct batch {
	struct kmes_record records[KMES_BATCH_MAX];
	void *staged[KMES_BATCH_MAX]; /* our copies; NULL: not needed */
	uint32_t count;
	uint32_t oldest;      /* the first whose copy is still needed */
	uint64_t newest_size; /* of the events from `oldest` on */
};

static uint32_t event_size(const struct kmes_record *r)
{
	return kmes_record_size(r->type_len, r->payload_len);
}

static void batch_forget(struct batch *batch, uint32_t end)
{
	for (; batch->oldest < end; batch->oldest++) {
		batch->newest_size -= event_size(&batch->records[batch->oldest]);
		free(batch->staged[batch->oldest]);
	}
}

/* Reads `len` bytes at `pos`. -EFAULT beyond the end, as a kernel for a bad pointer. */
static int body_read(const struct sim_body *body, uint64_t pos, void *buf, uint64_t len)
{
	uint8_t *out = buf;

	if (pos > body->len || len > body->len - pos)
		return -EFAULT;
	if (body->bytes) {
		if (len)
			memcpy(buf, body->bytes + pos, len);
		return 0;
	}
	while (len) {
		ssize_t n = pread(body->fd, out, len, (off_t)pos);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EFAULT;
		out += n;
		pos += n;
		len -= n;
	}
	return 0;
}

/* Provides the bytes of an event where its sender cannot change them: copies a memfd. */
static int batch_stage(struct batch *batch, const struct sim_body *body, uint64_t pos)
{
	struct kmes_record *r = &batch->records[batch->count];
	uint64_t len = (uint64_t)r->type_len + r->payload_len;
	const uint8_t *bytes;
	int error;

	batch->staged[batch->count] = NULL;
	if (pos > body->len || len > body->len - pos)
		return -EFAULT;
	if (body->bytes) {
		bytes = body->bytes + pos;
	} else {
		void *copy = malloc(len);

		if (!copy)
			return -ENOMEM;
		error = body_read(body, pos, copy, len);
		if (error) {
			free(copy);
			return error;
		}
		batch->staged[batch->count] = copy;
		bytes = copy;
	}
	r->type = bytes;
	r->payload = bytes + r->type_len;
	return 0;
}

/*
 * Adds one event to the batch. Copies that newer events of the same batch would overwrite
 * are freed at once, so that a batch needs no more memory than the ring.
 */
static int batch_add(struct sim *sim, struct batch *batch, uint64_t capacity,
		     const struct sim_body *body, uint64_t pos)
{
	struct kmes_record *r = &batch->records[batch->count];
	int error = kmes_emit_check_lengths(&sim->options->limits, capacity, r->type_len,
					    r->payload_len);

	if (!error)
		error = batch_stage(batch, body, pos);
	if (error)
		return error;
	error = kmes_emit_check_content(&sim->options->limits, r, &sim->scratch);
	if (error) {
		free(batch->staged[batch->count]);
		return error;
	}
	batch->newest_size += event_size(r);
	batch->count++;
	while (batch->newest_size > capacity)
		batch_forget(batch, batch->oldest + 1);
	return 0;
}

/* Stages the entries up to the first invalid one; returns its error. */
static int batch_fill(struct sim *sim, struct batch *batch, uint64_t capacity,
		      const struct sim_body *body, uint32_t count)
{
	struct sim_entry table[KMES_BATCH_MAX];
	uint64_t pos = count * sizeof(*table);
	uint32_t i;
	int error = body_read(body, 0, table, pos);

	batch->count = 0;
	batch->oldest = 0;
	batch->newest_size = 0;
	for (i = 0; !error && i < count; i++) {
		batch->records[i].type_len = table[i].type_len;
		batch->records[i].payload_len = table[i].payload_len;
		error = batch_add(sim, batch, capacity, body, pos);
		pos += (uint64_t)table[i].type_len + table[i].payload_len;
	}
	return error;
}

/* Writes the valid prefix with one time stamp and one publication. */
static void batch_write(struct sim *sim, struct sim_ring *ring, const struct batch *batch,
			const uint8_t process_guid[16])
{
	struct kmes_stamp stamp;
	bool wake;

	sim_stamp_take(sim, &stamp, KMES_ORIGIN_USERSPACE, process_guid);
	kmes_ring_write_batch(&ring->writer, batch->records, batch->count, &stamp, &wake);
	if (wake)
		sim_slots_owe_wake(&sim->slots, ring);
}

int sim_emit_client(struct sim *sim, struct sim_client *client,
		    const struct sim_request *request, const struct sim_body *body,
		    uint32_t *emitted)
{
	struct sim_peer *peer = client->peer;
	const uint32_t rate = sim->options->max_emit_rate;
	const uint32_t count = request->count;
	struct sim_ring *ring;
	struct batch batch;
	int error;

	*emitted = 0;
	if (!client->has_privileges || sim->options->deny_emit)
		return -EPERM;
	if (!count || count > KMES_BATCH_MAX)
		return -EINVAL;
	ring = sim_slots_ring(&sim->slots, request->cpu);
	if (!ring)
		return -EINVAL;
	if (!sim->options->exempt && !kmes_rate_reserve(&peer->bucket, rate, count,
							kmesp_clock_ns(CLOCK_MONOTONIC)))
		return -EAGAIN;

	error = batch_fill(sim, &batch, ring->writer.capacity, body, count);
	if (batch.count)
		batch_write(sim, ring, &batch, peer->guid);
	*emitted = batch.count;
	batch_forget(&batch, batch.count);
	if (!sim->options->exempt)
		kmes_rate_refund(&peer->bucket, rate, count - *emitted);
	return error;
}

void sim_emit_trusted(struct sim *sim, struct sim_ring *ring, uint8_t origin,
		      const uint8_t process_guid[16], const char *type,
		      const struct kmes_pack *payload)
{
	const size_t type_len = strlen(type);
	struct kmes_record r = {
		.type = type,
		.type_len = (uint16_t)type_len,
		.payload = payload->buf,
		.payload_len = payload->len,
	};
	struct kmes_stamp stamp;
	bool wake = false;

	sim_stamp_take(sim, &stamp, origin, process_guid);
	if (kmes_emit_check_trusted(ring->writer.capacity, type_len, payload->len) ||
	    kmes_ring_write(&ring->writer, &r, &stamp, &wake))
		kmes_ring_drop(&ring->writer);
	if (wake)
		sim_slots_owe_wake(&sim->slots, ring);
}
