// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source_native.c - the rings of a Peios kernel, by its three system calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"
#include "source_kernel.h"

struct native_source {
	struct kmes_source base;
	int pinned;
};

static long native_attach_call(uint32_t cpu, uint64_t *value)
{
	long r = syscall(KMES_NR_ATTACH, cpu, value);

	return r < 0 ? -errno : r;
}

static int native_open(struct kmes_source **out, const char *arg,
		       const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	struct native_source *n;
	uint64_t slots;
	long r;

	(void)arg;
	(void)stop;
	r = native_attach_call(KMES_ATTACH_QUERY_SLOTS, &slots);
	if (r == -ENOSYS)
		return kmes_error_set(err, -ENOSYS,
				      "this kernel has no KMES system calls");
	if (r < 0)
		return kmes_error_set(err, (int)r,
				      "native: cannot ask for the slot count: %s%s",
				      strerror((int)-r),
				      r == -EPERM ? kmesp_source_native.attach_hint : "");
	n = calloc(1, sizeof(*n));
	if (!n)
		return kmes_error_set(err, -ENOMEM, "out of memory");
	n->base.ops = &kmesp_source_native;
	n->base.fd = -1;
	n->pinned = -1;
	kmes_boot_id(n->base.stream_id);
	*out = &n->base;
	return 0;
}

static void native_close(struct kmes_source *src)
{
	free(src);
}

static int native_slots(struct kmes_source *src)
{
	uint64_t slots = 0;
	long r = native_attach_call(KMES_ATTACH_QUERY_SLOTS, &slots);

	(void)src;
	if (r < 0)
		return (int)r;
	return slots > 65536 ? -EPROTO : (int)slots;
}

static int native_attach(struct kmes_source *src, uint16_t cpu, struct kmes_mapping *map,
			 struct kmes_error *err)
{
	uint64_t capacity = 0;
	long fd = native_attach_call(cpu, &capacity);

	if (fd < 0)
		return kmesp_kernel_attach_error(src, cpu, (int)fd, err);
	return kmesp_kernel_map(map, (int)fd, capacity, err);
}

static int native_go_to_cpu(struct kmes_source *src, int cpu)
{
	return kmesp_kernel_pin(&((struct native_source *)src)->pinned, cpu);
}

static int native_emit(struct kmes_source *src, int cpu, const struct kmes_record *record)
{
	int rc = native_go_to_cpu(src, cpu);

	if (rc < 0)
		return rc;
	if (syscall(KMES_NR_EMIT, record->type, record->type_len, record->payload,
		    record->payload_len) < 0)
		return -errno;
	return 0;
}

static int native_emit_batch(struct kmes_source *src, int cpu,
			     const struct kmes_record *records, uint32_t count,
			     uint32_t *emitted)
{
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	int rc = native_go_to_cpu(src, cpu);

	if (rc < 0)
		return rc;
	if (count > KMES_BATCH_MAX)
		return -EINVAL;
	kmesp_kernel_entries(entries, records, count);
	if (syscall(KMES_NR_EMIT_BATCH, entries, count, emitted) < 0)
		return -errno;
	return 0;
}

/* All rings have the same capacity: take that of the first one. */
static int native_capacity(struct kmes_source *src, uint64_t *capacity,
			   struct kmes_error *err)
{
	int cpu, slots = kmes_source_slots(src, err);

	for (cpu = 0; cpu < slots; cpu++) {
		long fd = native_attach_call((uint32_t)cpu, capacity);

		if (fd >= 0) {
			close((int)fd);
			return 0;
		}
		if (fd != -EINVAL)
			return kmesp_kernel_attach_error(src, (uint16_t)cpu, (int)fd,
							 err);
	}
	return slots < 0 ? slots : kmes_error_set(err, -ENODEV, "native: no ring");
}

static int native_set_capacity(struct kmes_source *src, uint64_t capacity,
			       struct kmes_error *err)
{
	(void)src;
	(void)capacity;
	return kmes_error_set(err, -EOPNOTSUPP,
			      "native: the capacity is the registry value "
			      "Machine\\System\\KMES\\BufferCapacity: set it there");
}

const struct kmes_source_ops kmesp_source_native = {
	.name = "native",
	.attach_hint = " (needs SeSecurityPrivilege)",
	.emit_hint = " (needs SeAuditPrivilege)",
	.open = native_open,
	.close = native_close,
	.slots = native_slots,
	.attach = native_attach,
	.ring_open = kmesp_ring_open_mapped,
	.go_to_cpu = native_go_to_cpu,
	.emit = native_emit,
	.emit_batch = native_emit_batch,
	.capacity = native_capacity,
	.set_capacity = native_set_capacity,
};
