// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* compat_emit.c - a 32-bit program that emits single events and batches, and attaches. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kmes_abi.h"

_Static_assert(sizeof(void *) == 4, "this one is for 32 bits");

static int complain(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	static const char type[] = "compat.event";
	uint64_t capacity = 0, generation = 0;
	uint32_t emitted = 0;
	struct kmes_batch_entry entry = {
		.event_type = (uintptr_t)type,
		.event_type_len = sizeof(type) - 1,
		.payload = (uintptr_t) "\x80",
		.payload_len = 1,
	};
	struct kmes_ioc_emit emit = {
		.type = (uintptr_t)type,
		.type_len = sizeof(type) - 1,
		.payload = (uintptr_t) "\x80",
		.payload_len = 1,
	};
	struct kmes_ioc_batch batch = {
		.entries = (uintptr_t)&entry,
		.emitted_out = (uintptr_t)&emitted,
		.count = 1,
	};
	struct kmes_ioc_attach attach = {
		.capacity_ptr = (uintptr_t)&capacity,
		.generation_ptr = (uintptr_t)&generation,
	};
	int dev = open("/dev/kmes", O_RDWR);
	unsigned char *base;
	int fd;

	if (dev < 0 || ioctl(dev, KMES_IOC_EMIT, &emit))
		return complain("emit");
	if (ioctl(dev, KMES_IOC_BATCH, &batch) || emitted != 1)
		return complain("batch");
	fd = ioctl(dev, KMES_IOC_ATTACH, &attach);
	if (fd < 0 || !capacity || !generation)
		return complain("attach");
	base = mmap(NULL, KMES_MAPPING_SIZE(capacity), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (base == MAP_FAILED || memcmp(base, KMES_MAGIC, KMES_MAGIC_SIZE))
		return complain("mmap");
	return 0;
}
