// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * emit.c - events of the program, one by one and in batches.
 *
 * The module checks in the contract's order, so what cannot be copied out of the program
 * is passed on as an address that cannot be read here either: a fault then comes when it
 * would have come, after everything that is checked before. Lengths that the module
 * refuses before it looks at any byte are passed on without copying.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "call.h"

/* No address of ours: the first page is never mapped. */
#define BAD_ADDRESS 1

/* For a batch with more text than this it pays to ask how much the module would take. */
#define LARGE_BATCH (KMES_BATCH_MAX * KMES_EVENT_SIZE_DEFAULT)
#define LIMIT_FILE "/sys/kernel/kmes/max_event_size"

/* The types and payloads of a call, one after the other. */
struct texts {
	uint8_t *base;
	size_t size, used;
	size_t copied; /* up to the first fault */
	uint8_t small[4096];
};

/* Only touched pages cost anything. */
static int texts_init(struct texts *t, size_t size)
{
	t->base = t->small;
	t->size = size;
	t->used = 0;
	if (size > sizeof(t->small))
		t->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return t->base == MAP_FAILED ? -ENOMEM : 0;
}

static void texts_fini(struct texts *t)
{
	if (t->base != t->small)
		munmap(t->base, t->size);
}

/* The next text's copy; after a fault, an address that is bad here, too. */
static uint64_t texts_next(struct texts *t, size_t len)
{
	uint8_t *at = t->base + t->used;

	if (len > t->copied - t->used) {
		t->copied = t->used;
		return BAD_ADDRESS;
	}
	t->used += len;
	return (uintptr_t)at;
}

/* Copies the texts of the usable entries, and lets all entries name the copies. */
static int texts_copy(struct texts *t, const struct run_call *c,
		      struct kmes_batch_entry *entries, uint32_t count, uint32_t usable)
{
	struct iovec from[2 * KMES_BATCH_MAX];
	size_t size = 0;
	uint32_t i;
	int r;

	for (i = 0; i < usable; i++) {
		const struct kmes_batch_entry *e = &entries[i];

		from[2 * i].iov_base = (void *)(uintptr_t)e->event_type;
		from[2 * i].iov_len = e->event_type_len;
		from[2 * i + 1].iov_base = (void *)(uintptr_t)e->payload;
		from[2 * i + 1].iov_len = e->payload_len;
		size += (size_t)e->event_type_len + e->payload_len;
	}
	r = texts_init(t, size);
	if (r < 0)
		return r;
	t->copied = run_target_gather(&c->target, t->base, size, from, 2 * usable);
	for (i = 0; i < count; i++) {
		struct kmes_batch_entry *e = &entries[i];

		e->event_type = texts_next(t, e->event_type_len);
		e->payload = texts_next(t, e->payload_len);
	}
	return 0;
}

/* The entries before the first that is too long; the size of their texts. */
static uint64_t measure(const struct kmes_batch_entry *entries, uint32_t count,
			uint32_t limit, uint32_t *usable)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint64_t texts =
			(uint64_t)entries[i].event_type_len + entries[i].payload_len;

		if (KMES_HEADER_SIZE + texts > limit)
			break;
		size += texts;
	}
	*usable = i;
	return size;
}

int run_call_emit(const struct run_call *c)
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
	struct texts texts;
	uint32_t usable;
	int r;

	measure(&e, 1, KMES_EVENT_SIZE_MAX, &usable);
	r = texts_copy(&texts, c, &e, 1, usable);
	if (r < 0)
		return r;
	call.call.type = e.event_type;
	call.call.payload = e.payload;
	r = run_call_device(c, KMES_IOC_EMIT_FOR, &call);
	texts_fini(&texts);
	return r;
}

/* ---- batches ---- */

/* A number that the module never stores: whether it came to storing one. */
#define NOT_STORED UINT32_MAX

/* The most that the module takes for an event; it is never more than the default here. */
static uint32_t current_limit(void)
{
	char text[16] = "";
	int fd = open(LIMIT_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (uint32_t)strtoul(text, NULL, 10) : KMES_EVENT_SIZE_MAX;
}

/*
 * Asks the module without an array. If that is all there is to complain about, the time
 * has come to store 0, before any of the program's bytes are read: they may lie there.
 */
static int begin_batch(const struct run_call *c, struct kmes_ioc_batch_for *call,
		       uint32_t *emitted)
{
	int stored, r = run_call_device(c, KMES_IOC_BATCH_FOR, call);

	if (*emitted == NOT_STORED)
		return r;
	stored = run_call_store(c, c->notif->data.args[2], emitted, sizeof(*emitted));
	*emitted = NOT_STORED;
	if (stored < 0)
		return stored;
	return r == -EFAULT ? 0 : r;
}

int run_call_batch(const struct run_call *c)
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
	struct texts texts;
	int stored, r = begin_batch(c, &call, &emitted);

	if (r)
		return r;
	r = run_target_read(&c->target, entries, args[0], count * sizeof(entries[0]));
	if (r < 0)
		return r;
	/* Many entries may name the same large text: as many copies would be no use. */
	if (measure(entries, count, KMES_EVENT_SIZE_MAX, &usable) > LARGE_BATCH)
		measure(entries, count, current_limit(), &usable);
	r = texts_copy(&texts, c, entries, count, usable);
	if (r < 0)
		return r;
	call.call.entries = (uintptr_t)entries;
	r = run_call_device(c, KMES_IOC_BATCH_FOR, &call);
	texts_fini(&texts);
	/* The limit was raised meanwhile: when it was looked at, this was too long. */
	if (r == -EFAULT && emitted == usable)
		r = -ENOSPC;
	if (emitted == NOT_STORED)
		return r;
	stored = run_call_store(c, args[2], &emitted, sizeof(emitted));
	return stored < 0 ? stored : r;
}
