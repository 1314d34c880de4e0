// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source_dev.c - the rings of kmes.ko, by ioctls of /dev/kmes and files in sysfs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/scan.h"
#include "ring.h"
#include "source_kernel.h"

#define SYSFS "/sys/kernel/kmes/"

struct dev_source {
	struct kmes_source base;
	int dev;
	int pinned;
};

static struct dev_source *dev_of(struct kmes_source *src)
{
	return (struct dev_source *)src;
}

static int dev_open(struct kmes_source **out, const char *arg,
		    const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	const char *path = arg ? arg : "/dev/kmes";
	struct dev_source *d;
	int rc, fd = open(path, O_RDWR | O_CLOEXEC);

	(void)stop;
	if (fd < 0) {
		rc = -errno;
		return kmes_error_set(err, rc, "%s: %s%s", path, strerror(-rc),
				      rc == -ENOENT ? " (is kmes.ko loaded?)" : "");
	}
	d = calloc(1, sizeof(*d));
	if (!d) {
		close(fd);
		return kmes_error_set(err, -ENOMEM, "out of memory");
	}
	d->base.ops = &kmesp_source_dev;
	d->base.fd = -1;
	d->dev = fd;
	d->pinned = -1;
	kmesp_read_id(SYSFS "stream_id", d->base.stream_id);
	*out = &d->base;
	return 0;
}

static void dev_close(struct kmes_source *src)
{
	close(dev_of(src)->dev);
	free(src);
}

/* The attach ioctl: a descriptor, 0 for the slot query, or -errno. */
static int dev_attach_call(struct kmes_source *src, uint32_t cpu, uint64_t *value,
			   uint64_t *generation)
{
	struct kmes_ioc_attach call = {
		.cpu = cpu,
		.capacity_ptr = (uintptr_t)value,
		.generation_ptr = (uintptr_t)generation,
	};
	int rc = ioctl(dev_of(src)->dev, KMES_IOC_ATTACH, &call);

	return rc < 0 ? -errno : rc;
}

static int dev_slots(struct kmes_source *src)
{
	uint64_t slots = 0;
	int rc = dev_attach_call(src, KMES_ATTACH_QUERY_SLOTS, &slots, NULL);

	if (rc < 0)
		return rc;
	return slots > 65536 ? -EPROTO : (int)slots;
}

static int dev_attach(struct kmes_source *src, uint16_t cpu, struct kmes_mapping *map,
		      struct kmes_error *err)
{
	uint64_t capacity = 0;
	int fd = dev_attach_call(src, cpu, &capacity, &map->generation);

	if (fd < 0)
		return kmesp_kernel_attach_error(src, cpu, fd, err);
	return kmesp_kernel_map(map, fd, capacity, err);
}

static int dev_go_to_cpu(struct kmes_source *src, int cpu)
{
	return kmesp_kernel_pin(&dev_of(src)->pinned, cpu);
}

static int dev_emit(struct kmes_source *src, int cpu, const struct kmes_record *record)
{
	struct kmes_ioc_emit call = {
		.type = (uintptr_t)record->type,
		.payload = (uintptr_t)record->payload,
		.payload_len = record->payload_len,
		.type_len = record->type_len,
	};
	int rc = dev_go_to_cpu(src, cpu);

	if (rc < 0)
		return rc;
	return ioctl(dev_of(src)->dev, KMES_IOC_EMIT, &call) < 0 ? -errno : 0;
}

static int dev_emit_batch(struct kmes_source *src, int cpu,
			  const struct kmes_record *records, uint32_t count,
			  uint32_t *emitted)
{
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	struct kmes_ioc_batch call = {
		.entries = (uintptr_t)entries,
		.emitted_out = (uintptr_t)emitted,
		.count = count,
	};
	int rc = dev_go_to_cpu(src, cpu);

	if (rc < 0)
		return rc;
	if (count > KMES_BATCH_MAX)
		return -EINVAL;
	kmesp_kernel_entries(entries, records, count);
	return ioctl(dev_of(src)->dev, KMES_IOC_BATCH, &call) < 0 ? -errno : 0;
}

static int sysfs_read(const char *name, uint64_t *value)
{
	char path[128], text[32];
	const char *at = text;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), SYSFS "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	return kmesp_scan_number(&at, NULL, value) ? -EIO : 0;
}

static int dev_counters(struct kmes_source *src, uint16_t cpu, struct kmes_counters *c)
{
	const struct {
		const char *name;
		uint64_t *value;
	} files[] = {
		{ "generation", &c->generation },
		{ "capacity", &c->capacity },
		{ "emitted_events", (uint64_t *)&c->counts.emitted_events },
		{ "emitted_bytes", (uint64_t *)&c->counts.emitted_bytes },
		{ "overwritten_events", (uint64_t *)&c->counts.overwritten_events },
		{ "dropped_events", (uint64_t *)&c->counts.dropped_events },
		{ "corrupt_resyncs", (uint64_t *)&c->counts.corrupt_resyncs },
		{ "wakes", (uint64_t *)&c->counts.wakes },
	};
	unsigned int i;

	(void)src;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char name[64];
		int rc;

		snprintf(name, sizeof(name), "cpu%u/%s", cpu, files[i].name);
		rc = sysfs_read(name, files[i].value);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int dev_capacity(struct kmes_source *src, uint64_t *capacity,
			struct kmes_error *err)
{
	int rc = sysfs_read("buffer_capacity", capacity);

	(void)src;
	if (rc < 0)
		return kmes_error_set(err, rc, SYSFS "buffer_capacity: %s",
				      strerror(-rc));
	return 0;
}

static int dev_set_capacity(struct kmes_source *src, uint64_t capacity,
			    struct kmes_error *err)
{
	const char *path = SYSFS "buffer_capacity";
	char text[32];
	int len, rc = 0, fd = open(path, O_WRONLY | O_CLOEXEC);

	(void)src;
	if (fd < 0) {
		rc = -errno;
		return kmes_error_set(err, rc, "%s: %s%s", path, strerror(-rc),
				      rc == -EACCES ? " (needs root)" : "");
	}
	len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)capacity);
	if (write(fd, text, (size_t)len) < 0)
		rc = -errno;
	close(fd);
	if (rc < 0)
		return kmes_error_set(err, rc, "%s: %s%s", path, strerror(-rc),
				      rc == -EPERM ? " (needs CAP_AUDIT_CONTROL)" : "");
	return 0;
}

const struct kmes_source_ops kmesp_source_dev = {
	.name = "dev",
	.attach_hint = " (needs CAP_AUDIT_READ)",
	.emit_hint = " (needs CAP_AUDIT_WRITE)",
	.open = dev_open,
	.close = dev_close,
	.slots = dev_slots,
	.attach = dev_attach,
	.ring_open = kmesp_ring_open_mapped,
	.go_to_cpu = dev_go_to_cpu,
	.emit = dev_emit,
	.emit_batch = dev_emit_batch,
	.counters = dev_counters,
	.capacity = dev_capacity,
	.set_capacity = dev_set_capacity,
};
