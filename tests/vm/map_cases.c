// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* map_cases.c - the mapping: its shape, its protection, its lifetime. */
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "tests/vm/ring.h"

/* Page 0, two pages of the data and two of its second copy. */
static unsigned char *const *read_only_places(const struct vm_ring *r)
{
	static unsigned char *places[6];

	places[0] = r->base;
	places[1] = r->base + 128;
	places[2] = r->base + KMES_DATA_OFFSET;
	places[3] = r->base + KMES_DATA_OFFSET + r->capacity - 1;
	places[4] = r->base + KMES_DATA_OFFSET + r->capacity;
	places[5] = r->base + KMES_DATA_OFFSET + 2 * r->capacity - 1;
	return places;
}

static void one_shape(void)
{
	struct vm_ring r = ring_open(0);
	size_t len = KMES_MAPPING_SIZE(r.capacity);
	const size_t wrong[] = {
		4096, 8192, len - 4096, len + 4096, 8192 + r.capacity, 2 * r.capacity
	};
	const int rw = PROT_READ | PROT_WRITE;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check_errno((intptr_t)mmap(NULL, wrong[i], rw, MAP_SHARED, r.fd, 0),
			    EINVAL);
	check_errno((intptr_t)mmap(NULL, len, rw, MAP_SHARED, r.fd, 4096), EINVAL);
	check_errno((intptr_t)mmap(NULL, len - 4096, rw, MAP_SHARED, r.fd, 4096), EINVAL);
	check_errno((intptr_t)mmap(NULL, len, rw, MAP_PRIVATE, r.fd, 0), EINVAL);
	check_errno((intptr_t)mmap(NULL, len, PROT_READ, MAP_PRIVATE, r.fd, 0), EINVAL);
	errno = 0;
	check(mmap(NULL, len, rw | PROT_EXEC, MAP_SHARED, r.fd, 0) == MAP_FAILED);
	check(errno == EINVAL || errno == EPERM);
	check(mprotect(r.base, len, rw | PROT_EXEC) < 0);
	ring_close(&r);
}

static void read_only(void)
{
	struct vm_ring r = ring_open(0);
	size_t len = KMES_MAPPING_SIZE(r.capacity);
	unsigned char *const *p = read_only_places(&r);
	int i;

	for (i = 0; i < 6; i++)
		check(store_faults(p[i]));
	check(!store_faults(r.base + KMES_CONSUMER_OFFSET));
	check_eq(r.consumer->need_wake, 1);
	check(mprotect(r.base, len, PROT_READ) == 0);
	check(store_faults(r.base + KMES_CONSUMER_OFFSET));
	check(mprotect(r.base, len, PROT_READ | PROT_WRITE) == 0);
	for (i = 0; i < 6; i++) {
		check(p[i][0] < 0xff); /* is mapped for reading now */
		check(store_faults(p[i]));
	}
	check(!store_faults(r.base + KMES_CONSUMER_OFFSET));
	ring_close(&r);
}

/* The kernel stores only where the process could. */
static void read_only_for_the_kernel(void)
{
	struct vm_ring r = ring_open(0);
	unsigned char *const *p = read_only_places(&r);
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	unsigned char byte = 0xee;

	check(mem >= 0 && zero >= 0);
	for (int i = 0; i < 6; i++) {
		struct iovec from = { &byte, 1 }, to = { p[i], 1 };
		unsigned char before = p[i][0];

		check(pwrite(mem, &byte, 1, (off_t)(uintptr_t)p[i]) < 0);
		check_errno(process_vm_writev(getpid(), &from, 1, &to, 1, 0), EFAULT);
		check_errno(read(zero, p[i], 1), EFAULT);
		check_eq(p[i][0], before);
	}
	check_eq(pread(mem, &byte, 1, (off_t)(uintptr_t)p[0]), 1);
	check_eq(byte, 'K');
	ring_close(&r);
}

static void read_only_for_a_tracer(void)
{
	struct vm_ring r = ring_open(0);
	unsigned char *const *p = read_only_places(&r);
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
		raise(SIGSTOP);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	for (int i = 0; i < 5; i++)
		check(ptrace(PTRACE_POKEDATA, pid, p[i], 1l) < 0);
	check(ptrace(PTRACE_POKEDATA, pid, &r.consumer->need_wake, 1l) == 0);
	check_eq(r.consumer->need_wake, 1);
	check(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	ring_close(&r);
}

static void data_twice(void)
{
	struct vm_ring r = ring_open(1);
	unsigned char *payload = sized_payload(20000, 'w');
	struct vm_event e;
	uint64_t laps = 3 * r.capacity / 20000;

	pin(1);
	while (laps--)
		check_eq(emit_raw("wrap", 4, payload, 20000), 0);
	check(!memcmp(r.view.data, r.view.data + r.capacity, r.capacity));
	/* Each event is contiguous, also the one that crosses the end. */
	for (uint64_t pos = r.producer->tail_pos; pos < r.producer->write_pos;
	     pos += e.h.event_size) {
		e = ring_event(&r, pos);
		check(event_is(&e, "wrap") && e.payload_len == 20000);
		check(!memcmp(e.payload, payload, 20000));
	}
	ring_close(&r);
}

/* Size in kB and flags of the mapping at `base`, from /proc/self/smaps. */
static long smaps(const void *base, char flags[512])
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool inside = false;
	long rss = -1;

	check(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start == (uintptr_t)base;
		else if (inside && !strncmp(line, "Rss:", 4))
			rss = strtol(line + 4, NULL, 10);
		else if (inside && !strncmp(line, "VmFlags:", 8))
			snprintf(flags, 512, "%s", line + 8);
	}
	fclose(f);
	return rss;
}

static void touched_pages_only(void)
{
	struct vm_ring r = ring_open(0);
	size_t len = KMES_MAPPING_SIZE(r.capacity);
	char flags[512] = "";
	void *all;

	check_eq(smaps(r.base, flags), 0);
	check(r.view.data[4096] < 0xff);
	check_eq(smaps(r.base, flags), 4);
	check(strstr(flags, " dd") && strstr(flags, " de") && !strstr(flags, " dc"));
	all = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r.fd, 0);
	check(all != MAP_FAILED);
	check_eq(smaps(all, flags), len / 1024);
	check(store_faults(all));
	munmap(all, len);
	ring_close(&r);
}

/*
 * With huge pages for shared memory, to which the producer pages belong: also where a
 * huge page could be mapped, each page of the mapping is the right one.
 */
static void huge_pages(void)
{
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct vm_ring r = ring_open(cpu);
		size_t len = KMES_MAPPING_SIZE(r.capacity);
		unsigned char *at = mmap((void *)(1ul << 42), len, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_FIXED, r.fd, 0);
		unsigned char zero[16] = { 0 };
		char flags[512] = "";

		check(at != MAP_FAILED);
		pin(cpu);
		check(!memcmp(at, "KMESRING", 8));
		check_eq(smaps(at, flags), 4);
		check_eq(((struct kmes_producer_page *)at)->cpu_id, cpu);
		check(!memcmp(at + KMES_CONSUMER_OFFSET, zero, sizeof(zero)));
		check(store_faults(at) && store_faults(at + KMES_DATA_OFFSET));
		check(!store_faults(at + KMES_CONSUMER_OFFSET));
		check_eq(r.consumer->need_wake, 1);
		check_eq(emit("huge"), 0);
		check(!memcmp(at, r.base, KMES_PAGE_SIZE));
		check(!memcmp(at + KMES_DATA_OFFSET, r.view.data, 2 * r.capacity));
		munmap(at, len);
		ring_close(&r);
	}
}

/* Pages of the mapping at `base` that are on a node, from /proc/self/numa_maps. */
static uint64_t pages_of_node(const void *base, unsigned int node)
{
	FILE *f = fopen("/proc/self/numa_maps", "re");
	char line[512], word[16];
	uint64_t pages = 0;

	check(f);
	snprintf(word, sizeof(word), " N%u=", node);
	while (fgets(line, sizeof(line), f)) {
		char *at = strstr(line, word);

		if (strtoull(line, NULL, 16) == (uintptr_t)base && at)
			pages = strtoull(at + strlen(word), NULL, 10);
	}
	fclose(f);
	return pages;
}

/* CPUs 0 and 1 are on node 0, the others on node 1. */
static void nodes(void)
{
	for (uint64_t capacity = 4194304; capacity >= 1048576; capacity /= 4) {
		check_eq(config_set("buffer_capacity", capacity), 0);
		for (uint32_t cpu = 0; cpu < 4; cpu++) {
			struct vm_ring r = ring_open(cpu);
			size_t len = KMES_MAPPING_SIZE(capacity);
			void *all = mmap(NULL, len, PROT_READ, MAP_SHARED | MAP_POPULATE,
					 r.fd, 0);

			check(all != MAP_FAILED);
			check_eq(pages_of_node(all, cpu / 2), len / 4096);
			check_eq(pages_of_node(all, !(cpu / 2)), 0);
			munmap(all, len);
			ring_close(&r);
		}
	}
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

/* No advice removes anything from the mapping, or from that of the waking thread. */
static void advice(void)
{
	struct vm_ring r = ring_open(1);
	const size_t len = KMES_MAPPING_SIZE(r.capacity);
	struct vm_event e;
	uint32_t word;

	pin(1);
	for (int advice = 0; advice < 30; advice++) {
		check_eq(emit("advised"), 0);
		/* Many are refused, which is fine. */
		(void)madvise(r.base, len, advice);
		(void)madvise(r.base, 4096, advice);
		(void)madvise(r.base + KMES_DATA_OFFSET, len - KMES_DATA_OFFSET, advice);
		check(!memcmp(r.producer->magic, "KMESRING", 8));
		e = ring_last(&r);
		check(event_is(&e, "advised"));
		check(store_faults(r.base) && store_faults(r.base + KMES_DATA_OFFSET));
		word = r.producer->futex_counter;
		r.consumer->need_wake = 1;
		check_eq(emit("loud"), 0);
		check_eq(r.producer->futex_counter, word + 1);
		check_eq(r.consumer->need_wake, 1);
		r.consumer->need_wake = 0;
	}
	/* mlock() may be refused, too. */
	if (mlock(r.base, len) == 0)
		check(munlock(r.base, len) == 0);
	ring_close(&r);
}

static void in_one_piece(void)
{
	struct vm_ring r = ring_open(0);
	size_t len = KMES_MAPPING_SIZE(r.capacity);

	for (int i = 0; i < 50; i++) {
		check_errno(munmap(r.base, 4096), EINVAL);
		check_errno(munmap(r.base + 8192, r.capacity), EINVAL);
		check_errno(mprotect(r.base, 4096, PROT_READ), EINVAL);
		check((void *)mremap(r.base, len, len * 2, MREMAP_MAYMOVE) == MAP_FAILED);
		check((void *)mremap(r.base, len, len - 4096, 0) == MAP_FAILED);
		check((void *)mremap(r.base, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
				     r.base + (1ul << 32)) == MAP_FAILED);
	}
	check(!memcmp(r.base, "KMESRING", 8));
	ring_close(&r);
}

/* Consumers that end in every way; unloading after this file needs a correct count. */
static void sudden_ends(void)
{
	struct vm_ring r;

	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			r = ring_open((uint32_t)i % 4);
			r.consumer->need_wake = 1;
			if (!fork())
				_exit(0);
			if (i % 3 == 0)
				raise(SIGKILL);
			if (i % 3 == 1)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		check(waitpid(pid, &status, 0) == pid);
	}
	sleep_ms(300);
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		r = ring_open(cpu);
		check_eq(r.consumer->need_wake, 0);
		ring_close(&r);
	}
}

/* A mapping can outlive its descriptor, and a descriptor its mapping. */
static void either_order(void)
{
	for (int i = 0; i < 20; i++) {
		struct vm_ring r = ring_open(0);

		check(close(r.fd) == 0);
		check(!memcmp(r.base, "KMESRING", 8));
		check(munmap(r.base, KMES_MAPPING_SIZE(r.capacity)) == 0);
		r = ring_open(0);
		ring_close(&r);
	}
}

static const struct vm_case cases[] = {
	{ "one-shape", one_shape },
	{ "read-only", read_only },
	{ "kernel-stores", read_only_for_the_kernel },
	{ "tracer-stores", read_only_for_a_tracer },
	{ "data-twice", data_twice },
	{ "touched-pages", touched_pages_only },
	{ "huge-pages", huge_pages },
	{ "nodes", nodes },
	{ "advice", advice },
	{ "one-piece", in_one_piece },
	{ "sudden-ends", sudden_ends },
	{ "either-order", either_order },
};

KMES_CASES(cases)
