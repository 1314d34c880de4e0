/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * emit.c - events of the program, one by one and in batches.
 *
 * The module checks in the contract's order, so what cannot be copied out of the program
 * is passed on as an address that cannot be read here either: a fault then comes when it
 * would have come, behind everything that goes before it. Lengths that the module refuses
 * before it looks at any byte are passed on without copying.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.h"

/* No address of ours: the first page is never mapped. */
#define BAD_ADDRESS 1

/* A batch of more texts than this is worth asking how much the module would take. */
#define LARGE_BATCH (KMES_BATCH_MAX * KMES_EVENT_SIZE_DEFAULT)
#define LIMIT_FILE "/sys/kernel/kmes/max_event_size"

/* Memory for the texts of a call; touched pages alone cost anything. */
struct arena {
	uint8_t *base;
	size_t size, used;
};

static int arena_init(struct arena *a, size_t size)
{
	a->size = size ? size : 1;
	a->used = 0;
	a->base = mmap(NULL, a->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return a->base == MAP_FAILED ? -ENOMEM : 0;
}

static void arena_fini(struct arena *a)
{
	munmap(a->base, a->size);
}

/* A copy of the program's bytes, or an address that is bad here, too. */
static uint64_t copy_in(const struct run_call *c, struct arena *a, uint64_t from,
			size_t len)
{
	uint8_t *to = a->base + a->used;

	if (run_target_read(&c->target, to, from, len) < 0)
		return BAD_ADDRESS;
	a->used += len;
	return (uintptr_t)to;
}

static bool is_too_long(uint16_t type_len, uint32_t payload_len, uint32_t limit)
{
	return (uint64_t)KMES_HEADER_SIZE + type_len + payload_len > limit;
}

int run_call_emit(const struct run_call *c)
{
	const __u64 *args = c->notif->data.args;
	struct kmes_ioc_emit_for call = {
		.call.type = BAD_ADDRESS,
		.call.payload = BAD_ADDRESS,
		.call.type_len = (uint16_t)args[1],
		.call.payload_len = (uint32_t)args[3],
		.pidfd = c->target.pidfd,
	};
	struct arena a;
	int r;

	if (is_too_long(call.call.type_len, call.call.payload_len, KMES_EVENT_SIZE_MAX))
		return run_call_device(c, KMES_IOC_EMIT_FOR, &call);
	r = arena_init(&a, (size_t)call.call.type_len + call.call.payload_len);
	if (r < 0)
		return r;
	call.call.type = copy_in(c, &a, args[0], call.call.type_len);
	call.call.payload = copy_in(c, &a, args[2], call.call.payload_len);
	r = run_call_device(c, KMES_IOC_EMIT_FOR, &call);
	arena_fini(&a);
	return r;
}

/* ---- batches ---- */

struct batch {
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t count;
	uint32_t usable; /* those before the first that is too long */
	struct arena texts;
};

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

/* Finds what is usable under a limit; the size of its texts. */
static uint64_t measure(struct batch *b, uint32_t limit)
{
	uint64_t size = 0;
	uint32_t i;

	for (i = 0; i < b->count; i++) {
		const struct kmes_batch_entry *e = &b->entries[i];

		if (is_too_long(e->event_type_len, e->payload_len, limit))
			break;
		size += (uint64_t)e->event_type_len + e->payload_len;
	}
	b->usable = i;
	return size;
}

/* Copies the texts up to the first fault, behind which the module looks at none. */
static int copy_texts(const struct run_call *c, struct batch *b)
{
	uint64_t size = measure(b, KMES_EVENT_SIZE_MAX);
	bool good = true;
	uint32_t i;
	int r;

	/* Many entries may name the same large text: as many copies would be no use. */
	if (size > LARGE_BATCH)
		size = measure(b, current_limit());
	r = arena_init(&b->texts, size);
	if (r < 0)
		return r;
	for (i = 0; i < b->count; i++) {
		struct kmes_batch_entry *e = &b->entries[i];

		good = good && i < b->usable;
		e->event_type =
			good ? copy_in(c, &b->texts, e->event_type, e->event_type_len)
			     : BAD_ADDRESS;
		good = good && e->event_type != BAD_ADDRESS;
		e->payload = good ? copy_in(c, &b->texts, e->payload, e->payload_len)
				  : BAD_ADDRESS;
		good = good && e->payload != BAD_ADDRESS;
	}
	return 0;
}

/* Whether the number can be stored; what stands there stays. */
static bool is_writable(const struct run_call *c, uint64_t at)
{
	uint32_t old;

	return run_target_read(&c->target, &old, at, sizeof(old)) == 0 &&
	       run_call_store(c, at, &old, sizeof(old)) == 0;
}

int run_call_batch(const struct run_call *c)
{
	const __u64 *args = c->notif->data.args;
	struct batch b = { .count = (uint32_t)args[1] };
	/* A number that the module never stores: whether it came to storing one. */
	uint32_t emitted = UINT32_MAX;
	struct kmes_ioc_batch_for call = {
		.call.entries = BAD_ADDRESS,
		.call.emitted_out = BAD_ADDRESS,
		.call.count = b.count,
		.pidfd = c->target.pidfd,
	};
	int r, stored = 0;

	if (b.count < 1 || b.count > KMES_BATCH_MAX)
		return run_call_device(c, KMES_IOC_BATCH_FOR, &call);
	if (is_writable(c, args[2]))
		call.call.emitted_out = (uintptr_t)&emitted;
	if (run_target_read(&c->target, b.entries, args[0],
			    b.count * sizeof(b.entries[0])) == 0)
		call.call.entries = (uintptr_t)b.entries;
	r = copy_texts(c, &b);
	if (r < 0)
		return r;
	r = run_call_device(c, KMES_IOC_BATCH_FOR, &call);
	arena_fini(&b.texts);
	/* The limit was raised meanwhile: when it was looked at, this was too long. */
	if (r == -EFAULT && emitted == b.usable)
		r = -ENOSPC;
	if (emitted != UINT32_MAX)
		stored = run_call_store(c, args[2], &emitted, sizeof(emitted));
	return stored < 0 ? stored : r;
}
