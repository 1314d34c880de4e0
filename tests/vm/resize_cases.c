// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* resize_cases.c - replacement of the rings. */
#include "tests/vm/follow.h"

#define CPUS 4

/* Emits events of various sizes on one CPU until it is killed. */
static void flood(uint32_t cpu)
{
	static unsigned char payload[2 + 250] = { 0xc4 };

	pin(cpu);
	for (unsigned char n = 0;; n++) {
		uint32_t len = n % 250;

		payload[1] = (unsigned char)len;
		memset(payload + 2, n, len);
		check_eq(emit_raw("flood", 5, payload, 2 + len), 0);
		if (n % 64 == 0)
			sleep_ms(1);
	}
}

/* Each emitted event is in the ring or counted as overwritten. */
static void check_account(uint32_t cpu, const struct vm_ring *r)
{
	uint64_t live = 0;
	struct vm_event e;

	for (uint64_t pos = r->producer->tail_pos; pos < r->producer->write_pos;
	     pos += e.h.event_size) {
		e = ring_event(r, pos);
		live++;
	}
	check_eq(counter(cpu, "emitted_events"),
		 live + counter(cpu, "overwritten_events"));
	if (live)
		check_eq(counter(cpu, "emitted_events") + counter(cpu, "dropped_events"),
			 e.h.sequence);
}

/* A follower that stops after the emitters and writes what it has counted. */
static void follow_cpu(uint32_t cpu, const volatile bool *stopped)
{
	struct follower f = follow_start(cpu);
	uint64_t first = f.last, gone = counter(cpu, "overwritten_events");

	while (!*stopped) {
		follow(&f);
		sleep_ms(1);
	}
	follow_finish(&f);
	printf("# cpu%u: %llu seen, %llu lost, %llu replacements\n", cpu,
	       (unsigned long long)f.seen, (unsigned long long)f.lost,
	       (unsigned long long)f.switches);
	check_eq(counter(cpu, "emitted_events") + counter(cpu, "dropped_events"), f.last);
	check_eq(f.seen + f.lost, f.last - first);
	check(f.switches > 3 && f.seen > 100);
	/*
	 * Missed events were overwritten or did not fit: none was lost in a
	 * replacement.
	 */
	check(f.lost <= counter(cpu, "overwritten_events") - gone);
	check_account(cpu, &f.ring);
	check_eq(counter(cpu, "corrupt_resyncs"), 0);
}

static void under_emission(void)
{
	static const uint64_t sizes[] = { 65536, 262144, 4194304 };
	volatile bool *stopped = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t followers[CPUS], floods[CPUS];
	uint32_t cpu;
	int status;

	for (cpu = 0; cpu < CPUS; cpu++) {
		followers[cpu] = fork_bound();
		if (!followers[cpu]) {
			follow_cpu(cpu, stopped);
			fflush(stdout);
			_exit(0);
		}
	}
	sleep_ms(100);
	for (cpu = 0; cpu < CPUS; cpu++) {
		floods[cpu] = fork_bound();
		if (!floods[cpu])
			flood(cpu);
	}
	for (int i = 0; i < 12; i++) {
		sleep_ms(150);
		check_eq(config_set("buffer_capacity", sizes[i % 3]), 0);
	}
	for (cpu = 0; cpu < CPUS; cpu++)
		end_child(floods[cpu]);
	*stopped = true;
	for (cpu = 0; cpu < CPUS; cpu++) {
		check(waitpid(followers[cpu], &status, 0) == followers[cpu]);
		check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	check(file_number(SYSFS "longest_swap_ns") > 0);
}

/* Emits batches as large as CPU 1's ring until it is killed. */
static void flood_batches(void)
{
	unsigned char *payload = sized_payload(16000, 'b');
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t emitted;
	struct kmes_ioc_batch call = { .entries = (uintptr_t)entries,
				       .emitted_out = (uintptr_t)&emitted,
				       .count = KMES_BATCH_MAX };

	for (uint32_t i = 0; i < call.count; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "flood",
							.event_type_len = 5,
							.payload = (uintptr_t)payload,
							.payload_len = 16000 };
	pin(1);
	for (;;) {
		check_eq(ioctl(device(), KMES_IOC_BATCH, &call), 0);
		check_eq(emitted, KMES_BATCH_MAX);
	}
}

/*
 * Emission is faster than its ring can be copied: each batch overwrites all that has been
 * copied. The replacement finishes nevertheless, and the emitter continues.
 */
static void under_flood(void)
{
	static const uint64_t sizes[] = { 1048576, 4194304 };
	struct vm_ring r;
	uint64_t before;
	pid_t pid;

	pid = fork_bound();
	if (!pid)
		flood_batches();
	for (int i = 0; i < 9; i++) {
		before = counter(1, "emitted_events");
		while (counter(1, "emitted_events") < before + 2 * KMES_BATCH_MAX)
			sleep_ms(1);
		check_eq(config_set("buffer_capacity", sizes[i % 2]), 0);
	}
	end_child(pid);
	r = ring_open(1);
	check_account(1, &r);
	/* No further event would have fit into the last, smaller ring. */
	check(r.producer->write_pos - r.producer->tail_pos > r.capacity - 20000);
	check_eq(counter(1, "corrupt_resyncs"), 0);
	ring_close(&r);
	printf("# interrupts were off for %llu ns at most\n",
	       (unsigned long long)file_number(SYSFS "longest_swap_ns"));
}

static uint64_t first_sequence(const struct vm_ring *r)
{
	return ring_event(r, r->producer->tail_pos).h.sequence;
}

/* While nothing is emitted: the longest suffix is kept, from position 0. */
static void what_is_kept(void)
{
	uint64_t last, total = 0, pos, kept_from = 0, kept_bytes = 0;
	struct vm_event e;

	pin(1);
	struct vm_ring old = ring_open(1);
	for (uint32_t i = 0; i < 1500; i++) {
		unsigned char *payload = sized_payload(100 + i % 400, (unsigned char)i);

		check_eq(emit_raw("keep", 4, payload, 100 + i % 400), 0);
		free(payload);
	}
	last = ring_last(&old).h.sequence;
	for (pos = old.producer->tail_pos; pos < old.producer->write_pos;
	     pos += e.h.event_size)
		e = ring_event(&old, pos);
	total = old.producer->write_pos - old.producer->tail_pos;
	check(total > 262144);

	/*
	 * The event about the change is emitted on the CPU that made it: not on this
	 * one.
	 */
	pin(0);
	check_eq(config_set("buffer_capacity", 65536), 0);
	/* The old ring is unchanged except for its generation. */
	check(old.producer->generation > old.generation);
	check_eq(ring_last(&old).h.sequence, last);
	check_eq(old.producer->write_pos - old.producer->tail_pos, total);
	for (pos = old.producer->tail_pos; pos < old.producer->write_pos;
	     pos += e.h.event_size) {
		e = ring_event(&old, pos);
		if (!kept_from && old.producer->write_pos - pos <= 65536) {
			kept_from = e.h.sequence;
			kept_bytes = old.producer->write_pos - pos;
		}
	}
	struct vm_ring small = ring_open(1);
	check_eq(small.capacity, 65536);
	check_eq(small.generation, old.generation + 1);
	check_eq(small.producer->generation, small.generation);
	check_eq(small.producer->tail_pos, 0);
	check_eq(small.producer->write_pos, kept_bytes);
	check_eq(first_sequence(&small), kept_from);
	check_eq(ring_last(&small).h.sequence, last);
	check(!memcmp(small.view.data,
		      old.view.data + ((old.producer->write_pos - kept_bytes) &
				       (old.capacity - 1)),
		      kept_bytes));
	check_account(1, &small);

	/* Growing keeps everything, and sequences continue. */
	check_eq(config_set("buffer_capacity", 262144), 0);
	struct vm_ring large = ring_open(1);
	check_eq(large.producer->write_pos, kept_bytes);
	check(!memcmp(large.view.data, small.view.data, kept_bytes));
	pin(1);
	check_eq(emit("next"), 0);
	check_eq(ring_last(&large).h.sequence, last + 1);
	check_eq(small.producer->write_pos, kept_bytes);
	check_account(1, &large);

	check_eq(config_set("buffer_capacity", 4194304), 0);
	ring_close(&old);
	ring_close(&small);
	ring_close(&large);
}

/* Old and new descriptors refer to different rings; the old one can still be mapped. */
static void old_descriptors(void)
{
	uint64_t capacity = 0, generation = 0;
	int fd = ring_attach(0, &capacity, &generation);
	unsigned char *base;
	struct kmes_producer_page *page;

	check(fd >= 0);
	pin(0);
	check_eq(emit("old"), 0);
	check_eq(config_set("buffer_capacity", 131072), 0);
	check_eq(emit("new"), 0);
	base = mmap(NULL, KMES_MAPPING_SIZE(capacity), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	check(base != MAP_FAILED);
	page = (void *)base;
	/* Attached before, mapped after: the page does not show the birth generation. */
	check(page->generation > generation);
	check_eq(page->capacity, capacity);
	munmap(base, KMES_MAPPING_SIZE(capacity));
	close(fd);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

/* A value of /proc/meminfo. */
static uint64_t memory_kb(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	size_t len = strlen(name);
	char line[128];
	uint64_t kb = 0;

	check(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			kb = strtoull(line + len + 1, NULL, 10);
	fclose(f);
	check(kb);
	return kb;
}

/* The number of rings that the kernel has mapped. */
static unsigned int areas(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	char line[512];
	unsigned int n = 0;

	check(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "[kmes]") && strstr(line, " vmap");
	fclose(f);
	return n;
}

/* 200 replacements of four rings, each mapped by a consumer for a while: no leak. */
static void no_leak(void)
{
	uint64_t before, after, shared, mapped;

	check_eq(config_set("buffer_capacity", 131072), 0);
	sleep_ms(200);
	before = memory_kb("MemAvailable");
	shared = memory_kb("Shmem");
	mapped = areas();
	for (int i = 0; i < 100; i++) {
		struct vm_ring r = ring_open((uint32_t)i % CPUS);

		check_eq(config_set("buffer_capacity", 262144), 0);
		check_eq(config_set("buffer_capacity", 131072), 0);
		check(close(r.fd) == 0);
		check(r.producer->generation > r.generation);
		munmap(r.base, KMES_MAPPING_SIZE(r.capacity));
	}
	for (int i = 0; i < 50; i++) {
		after = memory_kb("MemAvailable");
		if (after + 8192 > before)
			break;
		sleep_ms(100);
	}
	printf("# available before and after: %llu, %llu KiB\n",
	       (unsigned long long)before, (unsigned long long)after);
	/* Leaking one ring per replacement would be 50 MB. */
	check(after + 8192 > before);
	/* Their producer pages are shared memory: 3 MB. */
	check(memory_kb("Shmem") < shared + 512);
	check(mapped >= CPUS);
	check_eq(areas(), mapped);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void same_capacity(void)
{
	uint64_t generation = counter(0, "generation"),
		 events = counter(0, "emitted_events");

	pin(0);
	check_eq(config_set("buffer_capacity", counter(0, "capacity")), 0);
	check_eq(counter(0, "generation"), generation);
	check_eq(counter(0, "emitted_events"), events);
}

/* Fills CPU 0's ring with events of 60000 bytes. */
static void fill_ring(uint64_t capacity)
{
	unsigned char *payload = sized_payload(60000, 'f');
	struct kmes_batch_entry entries[KMES_BATCH_MAX];
	uint32_t emitted;
	struct kmes_ioc_batch call = { .entries = (uintptr_t)entries,
				       .emitted_out = (uintptr_t)&emitted,
				       .count = 60 };

	for (uint32_t i = 0; i < call.count; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "fill",
							.event_type_len = 4,
							.payload = (uintptr_t)payload,
							.payload_len = 60000 };
	pin(0);
	for (uint64_t done = 0; done <= capacity; done += 60000ull * call.count)
		check_eq(ioctl(device(), KMES_IOC_BATCH, &call), 0);
	free(payload);
}

/* The time with interrupts off when a full ring is replaced while its CPU emits. */
static void measure(uint64_t capacity)
{
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		check_eq(config_set("buffer_capacity", capacity), 0);
		fill_ring(capacity);
		pid = fork_bound();
		if (!pid)
			flood(0);
		sleep_ms(50);
		check_eq(config_set("buffer_capacity", capacity / 2), 0);
		end_child(pid);
	}
	printf("# rings of %llu bytes: interrupts were off for %llu ns at most\n",
	       (unsigned long long)capacity,
	       (unsigned long long)file_number(SYSFS "longest_swap_ns"));
}

static void measure_4m(void)
{
	measure(4194304);
}

static void measure_256m(void)
{
	measure(268435456);
}

static const struct vm_case cases[] = {
	{ "under-emission", under_emission },
	{ "under-flood", under_flood },
	{ "kept", what_is_kept },
	{ "old-descriptors", old_descriptors },
	{ "no-leak", no_leak },
	{ "same", same_capacity },
	{ "measure-4m", measure_4m },
	{ "measure-256m", measure_256m },
};

KMES_CASES(cases)
