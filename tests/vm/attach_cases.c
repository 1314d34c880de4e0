// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* attach_cases.c - attaching, and the operations on a ring's descriptor. */
#include <poll.h>
#include <sys/epoll.h>

#include "tests/vm/ring.h"

static uint64_t slots(void)
{
	uint64_t count = 0;

	check_eq(ring_attach(KMES_ATTACH_QUERY_SLOTS, &count, NULL), 0);
	return count;
}

static void without_privilege(void)
{
	uint64_t value = 77;

	drop_capabilities(CAP(AUDIT_READ));
	check_errno(ring_attach(0, &value, NULL), EPERM);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, &value, NULL), EPERM);
	/* Before any other check. */
	check_errno(ring_attach(0xFFFFFFFE, NULL, NULL), EPERM);
	check_eq(value, 77);
}

static void root_of_a_namespace(void)
{
	struct kmes_ioc_batch batch = { .count = 1 };
	uint64_t value = 77;

	check(unshare(CLONE_NEWUSER) == 0);
	check_errno(ring_attach(0, &value, NULL), EPERM);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, &value, NULL), EPERM);
	check_errno(emit("x"), EPERM);
	check_errno(ioctl(device(), KMES_IOC_BATCH, &batch), EPERM);
	check_eq(value, 77);
}

static void slot_query(void)
{
	int before;

	device();
	before = count_entries("/proc/self/fd");
	check_eq(slots(), sysconf(_SC_NPROCESSORS_CONF));
	check_eq(count_entries("/proc/self/fd"), before);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, NULL, NULL), EFAULT);
}

static void bad_index(void)
{
	uint64_t value = 77;
	struct kmes_ioc_attach call = { .reserved = 1,
					.capacity_ptr = (uintptr_t)&value };

	check_errno(ring_attach((uint32_t)slots(), &value, NULL), EINVAL);
	check_errno(ring_attach(0xFFFFFFFE, &value, NULL), EINVAL);
	check_errno(ring_attach(65536, &value, NULL), EINVAL);
	check_errno(ioctl(device(), KMES_IOC_ATTACH, &call), EINVAL);
	check_errno(ioctl(device(), KMES_IOC_ATTACH, 1), EFAULT);
	check_errno(ioctl(device(), _IO(KMES_IOC_MAGIC, 99), 0), ENOTTY);
	check_eq(value, 77);
}

static void bad_pointer(void)
{
	uint64_t value;
	int before, i;

	device();
	before = count_entries("/proc/self/fd");
	for (i = 0; i < 200; i++) {
		check_errno(ring_attach(0, (void *)8, &value), EFAULT);
		check_errno(ring_attach(0, &value, (void *)8), EFAULT);
	}
	check_eq(count_entries("/proc/self/fd"), before);
}

static void every_slot(void)
{
	uint64_t count = slots();

	for (uint32_t cpu = 0; cpu < count; cpu++) {
		struct vm_ring r = ring_open(cpu);
		unsigned char *zero = calloc(1, KMES_PAGE_SIZE);

		check(!memcmp(r.producer->magic, "KMESRING", 8));
		check_eq(r.producer->version, 1);
		check_eq(r.producer->cpu_id, cpu);
		check_eq(r.producer->capacity, r.capacity);
		check_eq(r.producer->data_offset, 8192);
		check_eq(r.producer->generation, r.generation);
		check_eq(r.producer->reserved0, 0);
		check(!memcmp(r.producer->reserved1, zero, 24));
		check(!memcmp(r.producer->reserved2, zero, 48));
		check(!memcmp(r.producer->reserved3, zero, 60));
		check(!memcmp(r.producer->unused, zero, sizeof(r.producer->unused)));
		check(!memcmp(r.consumer, zero, KMES_PAGE_SIZE));
		free(zero);
		ring_close(&r);
	}
}

static void two_descriptors(void)
{
	struct vm_ring a = ring_open(0), b = ring_open(0);
	uint64_t before = a.producer->write_pos;

	check(a.fd != b.fd);
	pin(0);
	check_eq(emit("two"), 0);
	check(a.producer->write_pos > before);
	check_eq(a.producer->write_pos, b.producer->write_pos);
	a.consumer->need_wake = 3;
	check_eq(b.consumer->need_wake, 3);
	ring_close(&a);
	check_eq(b.consumer->need_wake, 3);
	struct vm_event e = ring_last(&b);
	check(event_is(&e, "two"));
	ring_close(&b);
}

static void name(void)
{
	struct vm_ring r = ring_open(0);
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", r.fd);
	check(readlink(path, target, sizeof(target) - 1) > 0);
	check(strstr(target, "[kmes-cpu0]"));
	check_eq(fcntl(r.fd, F_GETFD), FD_CLOEXEC);
	check_eq(fcntl(r.fd, F_GETFL) & O_ACCMODE, O_RDWR);
}

static void two_operations(void)
{
	struct vm_ring r = ring_open(0);
	struct pollfd p = { .fd = r.fd, .events = POLLIN | POLLOUT };
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	char byte = 0;

	check_errno(read(r.fd, &byte, 1), EINVAL);
	check_errno(write(r.fd, &byte, 1), EINVAL);
	check_errno(ioctl(r.fd, KMES_IOC_ATTACH, &byte), ENOTTY);
	check_errno(ioctl(r.fd, _IO('x', 1), 0), ENOTTY);
	check_errno(epoll_ctl(ep, EPOLL_CTL_ADD, r.fd, &event), EPERM);
	check_eq(poll(&p, 1, 0), 1);
	check(ftruncate(r.fd, 0) < 0);
	check(fallocate(r.fd, 0, 0, 4096) < 0);
}

static const struct vm_case cases[] = {
	{ "without-privilege", without_privilege },
	{ "namespace-root", root_of_a_namespace },
	{ "slot-query", slot_query },
	{ "bad-index", bad_index },
	{ "bad-pointer", bad_pointer },
	{ "every-slot", every_slot },
	{ "two-descriptors", two_descriptors },
	{ "name", name },
	{ "two-operations", two_operations },
};

KMES_CASES(cases)
