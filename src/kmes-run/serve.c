/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * serve.c - one native call, made for the program by the module's on-behalf calls.
 *
 * The module checks in the contract's order, so what cannot be copied out of the program
 * is passed on as an address that cannot be read here either: a fault then comes when it
 * would have come, behind everything that goes before it. Lengths that the module refuses
 * before it looks at any byte are passed on without copying.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kmes_abi.h"
#include "run.h"

#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif

/* No address of ours: the first page is never mapped. */
#define BAD_ADDRESS 1

/* One call that is being answered. */
struct call {
	int listener, device;
	const struct seccomp_notif *notif;
	struct run_target target;
};

static int device_call(const struct call *c, unsigned long request, void *arg)
{
	int r = ioctl(c->device, request, arg);

	return r < 0 ? -errno : r;
}

/* ---- attach ---- */

/* Gives the program a copy of the descriptor, which is the call's return value. */
static void answer_descriptor(const struct call *c, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = c->notif->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
	};
	struct seccomp_notif_resp resp = { .id = c->notif->id };

	if (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0 || errno == ENOENT)
		return;
	/* Its table may be full: then the call fails as it would. */
	resp.error = -errno;
	ioctl(c->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* Returns what to answer; 1 when it was answered. */
static int serve_attach(const struct call *c)
{
	const __u64 *args = c->notif->data.args;
	uint64_t capacity = 0;
	struct kmes_ioc_attach_for call = {
		.call.cpu = (uint32_t)args[0],
		.call.capacity_ptr = (uintptr_t)&capacity,
		.pidfd = c->target.pidfd,
	};
	int r = device_call(c, KMES_IOC_ATTACH_FOR, &call);
	int written;

	if (r < 0)
		return r;
	written = run_target_write(&c->target, args[1], &capacity, sizeof(capacity));
	if (call.call.cpu == KMES_ATTACH_QUERY_SLOTS)
		return written;
	if (written == 0)
		answer_descriptor(c, r);
	close(r);
	return written == 0 ? 1 : written;
}

/* ---- emit ---- */

/* An event belongs to the ring of the CPU that its emitter runs on. */
static void go_where_it_runs(const struct call *c)
{
	unsigned long mask[1024] = { 0 };
	int cpu = run_target_cpu(&c->target);
	size_t bits = 8 * sizeof(mask[0]);

	if (cpu < 0 || (size_t)cpu >= bits * (sizeof(mask) / sizeof(mask[0])))
		return;
	mask[(size_t)cpu / bits] = 1ul << (size_t)cpu % bits;
	sched_setaffinity(0, sizeof(mask), (const cpu_set_t *)mask);
}

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
static uint64_t copy_in(const struct call *c, struct arena *a, uint64_t from, size_t len)
{
	uint8_t *to = a->base + a->used;

	if (run_target_read(&c->target, to, from, len) < 0)
		return BAD_ADDRESS;
	a->used += len;
	return (uintptr_t)to;
}

/* More than the module ever reads of one event; it refuses that by the length alone. */
static bool is_too_long(uint16_t type_len, uint32_t payload_len)
{
	return (uint64_t)type_len + payload_len > KMES_EVENT_SIZE_MAX;
}

static int serve_emit(const struct call *c)
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

	if (is_too_long(call.call.type_len, call.call.payload_len))
		return device_call(c, KMES_IOC_EMIT_FOR, &call);
	r = arena_init(&a, (size_t)call.call.type_len + call.call.payload_len);
	if (r < 0)
		return r;
	call.call.type = copy_in(c, &a, args[0], call.call.type_len);
	call.call.payload = copy_in(c, &a, args[2], call.call.payload_len);
	r = device_call(c, KMES_IOC_EMIT_FOR, &call);
	arena_fini(&a);
	return r;
}

/*
 * Copies the texts of the entries up to the first that the module cannot accept, behind
 * which it looks at none.
 */
static int copy_entries(const struct call *c, struct kmes_batch_entry *entries,
			uint32_t count, struct arena *a)
{
	uint64_t size = 0;
	uint32_t i;
	int r;

	for (i = 0; i < count; i++) {
		struct kmes_batch_entry *e = &entries[i];

		if (is_too_long(e->event_type_len, e->payload_len))
			break;
		size += (uint64_t)e->event_type_len + e->payload_len;
	}
	r = arena_init(a, size);
	if (r < 0)
		return r;
	count = i;
	for (i = 0; i < count; i++) {
		struct kmes_batch_entry *e = &entries[i];

		e->event_type = copy_in(c, a, e->event_type, e->event_type_len);
		e->payload = copy_in(c, a, e->payload, e->payload_len);
	}
	return 0;
}

static int serve_batch(const struct call *c)
{
	const __u64 *args = c->notif->data.args;
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t emitted = 0;
	struct kmes_ioc_batch_for call = {
		.call.entries = BAD_ADDRESS,
		.call.emitted_out = BAD_ADDRESS,
		.call.count = (uint32_t)args[1],
		.pidfd = c->target.pidfd,
	};
	struct arena a;
	int r;

	if (call.call.count < 1 || call.call.count > KMES_BATCH_MAX)
		return device_call(c, KMES_IOC_BATCH_FOR, &call);
	if (run_target_is_writable(&c->target, args[2], sizeof(emitted)))
		call.call.emitted_out = (uintptr_t)&emitted;
	memset(entries, 0, sizeof(entries));
	if (run_target_read(&c->target, entries, args[0],
			    call.call.count * sizeof(entries[0])) == 0)
		call.call.entries = (uintptr_t)entries;
	r = copy_entries(c, entries, call.call.count, &a);
	if (r < 0)
		return r;
	/* A number that the module never stores: whether it came to storing one. */
	emitted = UINT32_MAX;
	r = device_call(c, KMES_IOC_BATCH_FOR, &call);
	arena_fini(&a);
	if (emitted != UINT32_MAX &&
	    run_target_write(&c->target, args[2], &emitted, sizeof(emitted)) < 0)
		return -EFAULT;
	return r;
}

/* ---- all ---- */

static int serve(const struct call *c)
{
	switch (c->notif->data.nr) {
	case KMES_NR_ATTACH:
		return serve_attach(c);
	case KMES_NR_EMIT:
		go_where_it_runs(c);
		return serve_emit(c);
	case KMES_NR_EMIT_BATCH:
		go_where_it_runs(c);
		return serve_batch(c);
	}
	return -ENOSYS;
}

/* Is the call still waiting, so that its thread's id cannot have become another's? */
static bool is_waiting(const struct call *c)
{
	return ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->notif->id) == 0;
}

void run_serve(int listener, int device)
{
	struct seccomp_notif notif = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	struct call c = { .listener = listener, .device = device, .notif = &notif };
	int r;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0)
		return; /* it was killed before it could be taken up */
	if (run_target_open(&c.target, (pid_t)notif.pid) < 0)
		r = -ESRCH;
	else {
		r = is_waiting(&c) ? serve(&c) : -ESRCH;
		run_target_close(&c.target);
	}
	if (r > 0)
		return;
	resp.id = notif.id;
	resp.error = r;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}
