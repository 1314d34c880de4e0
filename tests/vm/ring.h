/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * ring.h - the module's calls, rings and events as the test programs see them, without
 * the library.
 */
#ifndef KMES_VM_RING_H
#define KMES_VM_RING_H

#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kmes_abi.h"
#include "kmes_msgpack.h"
#include "kmes_order.h"
#include "kmes_view.h"
#include "tests/vm/case.h"

/* The descriptor of /dev/kmes, opened once per process. */
int device(void);

/* Whether to make the native system calls, as under kmes-run, instead of the ioctls. */
bool is_native(void);

/* The attach call: a descriptor, or -1 with errno. */
int ring_attach(uint32_t cpu, void *capacity, void *generation);

/* The sum of emitted_events of all CPUs. */
uint64_t emitted_by_all(void);

struct vm_ring {
	int fd;
	uint64_t capacity, generation;
	unsigned char *base;
	struct kmes_producer_page *producer;
	struct kmes_consumer_page *consumer;
	struct kmes_ring_view view;
};

/* Attaches to a CPU's ring and maps it. */
struct vm_ring ring_open(uint32_t cpu);
void ring_close(struct vm_ring *r);

struct vm_event {
	struct kmes_event_header h;
	const char *type;
	const unsigned char *payload;
	uint32_t payload_len;
};

/* The event at a position of a ring that is not being written. */
struct vm_event ring_event(const struct vm_ring *r, uint64_t pos);

/* The newest event of a ring, which must not be empty. */
struct vm_event ring_last(const struct vm_ring *r);

bool event_is(const struct vm_event *e, const char *type);

/* The emit call: 0, or -1 with errno. */
int emit_raw(const void *type, uint16_t type_len, const void *payload,
	     uint32_t payload_len);

/* Emits an event whose payload is an empty map. */
int emit(const char *type);

/* A payload of `size` bytes, over 5: a binary value filled with `fill`, from malloc(). */
unsigned char *sized_payload(uint32_t size, unsigned char fill);

/* The value at a dotted path in an event's payload, which must have it. */
struct kmes_mp_token payload_get(const struct vm_event *e, const char *path);

/* Whether the value at this path is this string. */
bool payload_is(const struct vm_event *e, const char *path, const char *text);

/* The integer at this path. */
int64_t payload_number(const struct vm_event *e, const char *path);

#endif
