// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * emit.c - emits events for the program, one by one and in batches.
 *
 * The module checks arguments in a defined order (doc/protocol.md). Bytes that cannot be
 * copied out of the program are therefore passed on as an invalid address, so that EFAULT
 * is returned exactly where the native call would return it. Lengths that the module
 * refuses without reading a byte are passed on without a copy.
 */
#include "emit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/scan.h"

/* Never a valid address: the first page is not mapped. */
#define BAD_ADDRESS 1

/* Above this size of a batch it pays to read the module's current limit. */
#define LARGE_BATCH (KMES_BATCH_MAX * KMES_EVENT_SIZE_DEFAULT)
#define LIMIT_FILE "/sys/kernel/kmes/max_event_size"

/* The types and payloads of a call, concatenated. */
struct payloads {
	uint8_t *base;
	size_t size, used;
	size_t copied; /* up to the first fault */
	uint8_t small[4096];
};

/* Pages cost memory only once they are touched. */
static int payloads_init(struct payloads *t, size_t size)
{
	t->base = t->small;
	t->size = size;
	t->used = 0;
	if (size > sizeof(t->small))
		t->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return t->base == MAP_FAILED ? -ENOMEM : 0;
}

static void payloads_fini(struct payloads *t)
{
	if (t->base != t->small)
		munmap(t->base, t->size);
}

/* The address of the next copy; after a fault, an invalid one. */
static uint64_t payloads_next(struct payloads *t, size_t len)
{
	uint8_t *at = t->base + t->used;

	if (len > t->copied - t->used) {
		t->copied = t->used;
		return BAD_ADDRESS;
	}
	t->used += len;
	return (uintptr_t)at;
}

/* Copies types and payloads of the usable entries; all entries then point to copies. */
static int payloads_copy(struct payloads *t, const struct run_call *c,
			 struct kmes_batch_entry *entries, uint32_t count,
			 uint32_t usable)
{
	struct iovec from[2 * KMES_BATCH_MAX];
	size_t size = 0;
	uint32_t i;
	int rc;

	for (i = 0; i < usable; i++) {
		const struct kmes_batch_entry *e = &entries[i];

		from[2 * i].iov_base = (void *)(uintptr_t)e->event_type;
		from[2 * i].iov_len = e->event_type_len;
		from[2 * i + 1].iov_base = (void *)(uintptr_t)e->payload;
		from[2 * i + 1].iov_len = e->payload_len;
		size += (size_t)e->event_type_len + e->payload_len;
	}
	rc = payloads_init(t, size);
	if (rc < 0)
		return rc;
	t->copied = run_target_gather(&c->target, t->base, size, from, 2 * usable);
	for (i = 0; i < count; i++) {
		struct kmes_batch_entry *e = &entries[i];

		e->event_type = payloads_next(t, e->event_type_len);
		e->payload = payloads_next(t, e->payload_len);
	}
	return 0;
}

/* Finds the entries before the first that is too long; returns their size in bytes. */
static uint64_t measure(const struct kmes_batch_entry *entries, uint32_t count,
			uint32_t limit, uint32_t *usable)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint64_t len =
			(uint64_t)entries[i].event_type_len + entries[i].payload_len;

		if (KMES_HEADER_SIZE + len > limit)
			break;
		size += len;
	}
	*usable = i;
	return size;
}

int run_emit(const struct run_call *c)
{
	const __u64 *args = c->notif->data.args;
	struct kmes_batch_entry e = {
		.event_type = args[0],
		.event_type_len = (uint16_t)args[1],
		.payload = args[2],
		.payload_len = (uint32_t)args[3],
	};
	struct kmes_ioc_emit_for call = {
		.call.type_len = e.event_type_len,
		.call.payload_len = e.payload_len,
		.pidfd = c->target.pidfd,
	};
	struct payloads payloads;
	uint32_t usable;
	int rc;

	measure(&e, 1, KMES_EVENT_SIZE_MAX, &usable);
	rc = payloads_copy(&payloads, c, &e, 1, usable);
	if (rc < 0)
		return rc;
	call.call.type = e.event_type;
	call.call.payload = e.payload;
	rc = run_call_device(c, KMES_IOC_EMIT_FOR, &call);
	payloads_fini(&payloads);
	return rc;
}

/* ---- batches ---- */

/* Never stored by the module: shows whether it has stored a count. */
#define NOT_STORED UINT32_MAX

/* The module's current limit on the size of an event. */
static uint32_t current_limit(void)
{
	char text[16] = "";
	int fd = open(LIMIT_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (uint32_t)kmesp_leading_number(text) : KMES_EVENT_SIZE_MAX;
}

/*
 * Calls the module with an invalid array first. If EFAULT is the only error, the native
 * call would now store 0, before it reads the array, which may contain that very place.
 */
static int begin_batch(const struct run_call *c, struct kmes_ioc_batch_for *call,
		       uint32_t *emitted)
{
	int stored, rc = run_call_device(c, KMES_IOC_BATCH_FOR, call);

	if (*emitted == NOT_STORED)
		return rc;
	stored = run_call_store(c, c->notif->data.args[2], emitted, sizeof(*emitted));
	*emitted = NOT_STORED;
	if (stored < 0)
		return stored;
	return rc == -EFAULT ? 0 : rc;
}

int run_emit_batch(const struct run_call *c)
{
	const __u64 *args = c->notif->data.args;
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t emitted = NOT_STORED, count = (uint32_t)args[1], usable;
	struct kmes_ioc_batch_for call = {
		.call.entries = BAD_ADDRESS,
		.call.emitted_out = (uintptr_t)&emitted,
		.call.count = count,
		.pidfd = c->target.pidfd,
	};
	struct payloads payloads;
	int stored, rc = begin_batch(c, &call, &emitted);

	if (rc)
		return rc;
	rc = run_target_read(&c->target, entries, args[0], count * sizeof(entries[0]));
	if (rc < 0)
		return rc;
	/*
	 * Many entries may share one large payload: do not copy it for entries over the
	 * limit.
	 */
	if (measure(entries, count, KMES_EVENT_SIZE_MAX, &usable) > LARGE_BATCH)
		measure(entries, count, current_limit(), &usable);
	rc = payloads_copy(&payloads, c, entries, count, usable);
	if (rc < 0)
		return rc;
	call.call.entries = (uintptr_t)entries;
	rc = run_call_device(c, KMES_IOC_BATCH_FOR, &call);
	payloads_fini(&payloads);
	/* The limit was raised meanwhile; this entry exceeded the one that was read. */
	if (rc == -EFAULT && emitted == usable)
		rc = -ENOSPC;
	if (emitted == NOT_STORED)
		return rc;
	stored = run_call_store(c, args[2], &emitted, sizeof(emitted));
	return stored < 0 ? stored : rc;
}
