// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ring.c - attaching, emitting and looking into rings without the library. */
#include "tests/vm/ring.h"

int device(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/kmes", O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	return fd;
}

bool is_native(void)
{
	return getenv("KMES_NATIVE") != NULL;
}

int ring_attach(uint32_t cpu, void *capacity, void *generation)
{
	struct kmes_ioc_attach call = {
		.cpu = cpu,
		.capacity_ptr = (uintptr_t)capacity,
		.generation_ptr = (uintptr_t)generation,
	};

	if (is_native())
		return (int)syscall(KMES_NR_ATTACH, cpu, capacity);
	return ioctl(device(), KMES_IOC_ATTACH, &call);
}

uint64_t emitted_by_all(void)
{
	uint64_t sum = 0, slots = 0;

	check(ring_attach(KMES_ATTACH_QUERY_SLOTS, &slots, NULL) == 0);
	for (unsigned int cpu = 0; cpu < slots; cpu++)
		sum += counter(cpu, "emitted_events");
	return sum;
}

struct vm_ring ring_open(uint32_t cpu)
{
	struct vm_ring r;

	r.fd = ring_attach(cpu, &r.capacity, &r.generation);
	check(r.fd >= 0);
	r.base = mmap(NULL, KMES_MAPPING_SIZE(r.capacity), PROT_READ | PROT_WRITE,
		      MAP_SHARED, r.fd, 0);
	check(r.base != MAP_FAILED);
	r.producer = (void *)r.base;
	r.consumer = (void *)(r.base + KMES_CONSUMER_OFFSET);
	r.view.producer = r.producer;
	r.view.data = r.base + KMES_DATA_OFFSET;
	r.view.capacity = r.capacity;
	if (is_native())
		r.generation = r.producer->generation;
	return r;
}

void ring_close(struct vm_ring *r)
{
	check(munmap(r->base, KMES_MAPPING_SIZE(r->capacity)) == 0);
	check(close(r->fd) == 0);
}

struct vm_event ring_event(const struct vm_ring *r, uint64_t pos)
{
	const unsigned char *at = r->view.data + (pos & (r->capacity - 1));
	struct vm_event e;

	memcpy(&e.h, at, sizeof(e.h));
	check(e.h.header_size >= (uint32_t)KMES_HEADER_SIZE + e.h.type_len);
	check(e.h.event_size >= e.h.header_size && e.h.event_size <= r->capacity / 2);
	e.type = (const char *)at + KMES_HEADER_SIZE;
	e.payload = at + e.h.header_size;
	e.payload_len = e.h.event_size - e.h.header_size;
	return e;
}

bool event_is(const struct vm_event *e, const char *type)
{
	return e->h.type_len == strlen(type) && !memcmp(e->type, type, e->h.type_len);
}

struct vm_event ring_last(const struct vm_ring *r)
{
	uint64_t pos = r->producer->tail_pos;
	struct vm_event e;

	check(pos < r->producer->write_pos);
	for (;;) {
		e = ring_event(r, pos);
		pos += e.h.event_size;
		if (pos == r->producer->write_pos)
			return e;
	}
}

int emit_raw(const void *type, uint16_t type_len, const void *payload,
	     uint32_t payload_len)
{
	struct kmes_ioc_emit call = {
		.type = (uintptr_t)type,
		.type_len = type_len,
		.payload = (uintptr_t)payload,
		.payload_len = payload_len,
	};

	if (is_native())
		return (int)syscall(KMES_NR_EMIT, type, type_len, payload, payload_len);
	return ioctl(device(), KMES_IOC_EMIT, &call);
}

int emit(const char *type)
{
	return emit_raw(type, (uint16_t)strlen(type), "\x80", 1);
}

unsigned char *sized_payload(uint32_t size, unsigned char fill)
{
	unsigned char *p = malloc(size);
	uint32_t len = size - 5;

	check(p && size > 5);
	p[0] = 0xc6;
	for (int i = 0; i < 4; i++)
		p[1 + i] = (unsigned char)(len >> (24 - 8 * i));
	memset(p + 5, fill, len);
	return p;
}

/* Steps over one value with everything in it. */
static void payload_skip(const uint8_t **pos, const uint8_t *end)
{
	struct kmes_mp_token t;
	uint64_t left = 1;

	while (left--) {
		check(kmes_mp_next(pos, end, &t) == 0);
		if (t.type == KMES_MP_MAP || t.type == KMES_MP_ARRAY)
			left += kmes_mp_values(&t);
	}
}

struct kmes_mp_token payload_get(const struct vm_event *e, const char *path)
{
	const uint8_t *pos = e->payload, *end = pos + e->payload_len;
	struct kmes_mp_token v, key;

	for (;;) {
		size_t len = strcspn(path, ".");
		uint32_t i;

		check(kmes_mp_next(&pos, end, &v) == 0 && v.type == KMES_MP_MAP);
		for (i = 0; i < v.count; i++) {
			check(kmes_mp_next(&pos, end, &key) == 0);
			if (key.len == len && !memcmp(key.data, path, len))
				break;
			payload_skip(&pos, end);
		}
		if (i == v.count)
			fail("no %s in the payload", path);
		if (!path[len])
			break;
		path += len + 1;
	}
	check(kmes_mp_next(&pos, end, &v) == 0);
	return v;
}

bool payload_is(const struct vm_event *e, const char *path, const char *text)
{
	struct kmes_mp_token t = payload_get(e, path);

	return t.type == KMES_MP_STR && t.len == strlen(text) &&
	       !memcmp(t.data, text, t.len);
}

int64_t payload_number(const struct vm_event *e, const char *path)
{
	struct kmes_mp_token t = payload_get(e, path);

	check(t.type == KMES_MP_UINT || t.type == KMES_MP_INT);
	return t.value.i;
}
