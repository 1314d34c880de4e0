// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* life_cases.c - loading and unloading while the module is in use. */
#include "tests/vm/ring.h"

static int rmmod(void)
{
	return (int)syscall(SYS_delete_module, "kmes", O_NONBLOCK);
}

static void insmod(const char *parameters)
{
	int fd = open(getenv("KMES_MODULE"), O_RDONLY | O_CLOEXEC);

	check(fd >= 0);
	check(syscall(SYS_finit_module, fd, parameters, 0) == 0);
	close(fd);
}

static void held_by_descriptors(void)
{
	int dev = open("/dev/kmes", O_RDWR | O_CLOEXEC);
	uint64_t capacity;
	struct kmes_ioc_attach call = { .capacity_ptr = (uintptr_t)&capacity };
	int ring;
	void *base;
	pid_t pid;

	check(dev >= 0);
	check_errno(rmmod(), EWOULDBLOCK);
	ring = ioctl(dev, KMES_IOC_ATTACH, &call);
	check(ring >= 0);
	close(dev);
	/* Only the ring's descriptor, then only its mapping. */
	check_errno(rmmod(), EWOULDBLOCK);
	base = mmap(NULL, KMES_MAPPING_SIZE(capacity), PROT_READ, MAP_SHARED, ring, 0);
	check(base != MAP_FAILED);
	close(ring);
	check_errno(rmmod(), EWOULDBLOCK);
	check(access("/sys/kernel/kmes/buffer_capacity", R_OK) == 0);
	check(!memcmp(base, "KMESRING", 8));
	/* Finally a child's copy of the mapping. */
	pid = fork_bound();
	if (!pid)
		pause();
	munmap(base, KMES_MAPPING_SIZE(capacity));
	check_errno(rmmod(), EWOULDBLOCK);
	end_child(pid);
	check_eq(rmmod(), 0);
	insmod("");
}

/* Every user can open the device, and so pin the module. */
static void held_by_anybody(void)
{
	int ready[2];
	pid_t pid;

	check(pipe(ready) == 0);
	pid = fork_bound();
	if (!pid) {
		check(setresuid(65534, 65534, 65534) == 0);
		device();
		check(write(ready[1], "", 1) == 1);
		pause();
	}
	check(read(ready[0], &(char){ 0 }, 1) == 1);
	check_errno(rmmod(), EWOULDBLOCK);
	end_child(pid);
	check_eq(rmmod(), 0);
	insmod("");
}

/* The number of events from all emitters. */
static uint64_t *emitted;

/*
 * Emits with whichever module is loaded, until it is killed. Pauses for longer than it
 * emits, because a slow machine would otherwise never be able to unload the module.
 */
static void emit_always(void)
{
	struct kmes_ioc_emit call = { .type = (uintptr_t) "always",
				      .type_len = 6,
				      .payload = (uintptr_t) "\x80",
				      .payload_len = 1 };

	for (;;) {
		uint64_t start = now_ns(CLOCK_MONOTONIC);
		int fd = open("/dev/kmes", O_RDWR | O_CLOEXEC);

		for (int i = 0; fd >= 0 && i < 20; i++) {
			check_eq(ioctl(fd, KMES_IOC_EMIT, &call), 0);
			__atomic_add_fetch(emitted, 1, __ATOMIC_RELAXED);
		}
		if (fd >= 0)
			close(fd);
		sleep_ms(2 + 3 * (unsigned int)ms_since(start));
	}
}

/* Starts processes, which the module reports while it is loaded. */
static void fork_always(void)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		check(waitpid(pid, NULL, 0) == pid);
		sleep_ms(1);
	}
}

/* Waits until an emitter has used the loaded module. */
static void wait_for_emission(void)
{
	uint64_t before = __atomic_load_n(emitted, __ATOMIC_RELAXED);

	for (int i = 0; i < 20000; i++) {
		if (__atomic_load_n(emitted, __ATOMIC_RELAXED) > before)
			return;
		sleep_ms(1);
	}
	fail("no emitter emits");
}

/* The debug kernel releases kobjects seconds late: a load takes up to 25 s there. */
#define LOADING_MS 300000

static void under_emission(void)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	pid_t pids[4];
	int i, tries = 0;

	emitted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	check(emitted != MAP_FAILED);
	for (i = 0; i < 4; i++) {
		pids[i] = fork_bound();
		if (!pids[i] && i < 3)
			emit_always();
		if (!pids[i])
			fork_always();
	}
	for (i = 0; i < 50 && (i < 5 || ms_since(start) < LOADING_MS); i++) {
		wait_for_emission();
		while (rmmod()) {
			check(errno == EWOULDBLOCK && ++tries < 20000);
			sleep_ms(1);
		}
		insmod("process_events=1");
	}
	for (i = 0; i < 4; i++)
		end_child(pids[i]);
	check_eq(rmmod(), 0);
	insmod("");
}

/* Each load has its own stream id. */
static void stream_ids(void)
{
	char ids[2][64] = { "", "" };

	for (int i = 0; i < 2; i++) {
		int fd = open(SYSFS "stream_id", O_RDONLY | O_CLOEXEC);

		check(fd >= 0 && read(fd, ids[i], 63) == 37);
		close(fd);
		check_eq(rmmod(), 0);
		insmod("");
	}
	check(strcmp(ids[0], ids[1]));
}

static void set_online(uint32_t cpu, bool on)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	check_eq(file_write(path, on ? "1" : "0"), 0);
}

/* CPU 3 goes offline and online: its ring stays readable and is replaced like others. */
static void cpu_comes_and_goes(void)
{
	uint64_t sequence, events;

	pin(3);
	check_eq(emit("before"), 0);
	pin(0);
	set_online(3, false);
	struct vm_ring r = ring_open(3);
	sequence = ring_last(&r).h.sequence;
	events = counter(3, "emitted_events");
	check_eq(emit("meanwhile"), 0);
	check_eq(ring_last(&r).h.sequence, sequence);
	check_eq(config_set("buffer_capacity", 131072), 0);
	check_eq(counter(3, "generation"), r.generation + 1);
	struct vm_ring next = ring_open(3);
	check_eq(ring_last(&next).h.sequence, sequence);
	check_eq(counter(3, "emitted_events"), events);
	set_online(3, true);
	pin(3);
	check_eq(emit("after"), 0);
	check_eq(ring_last(&next).h.sequence, sequence + 1);
	ring_close(&r);
	ring_close(&next);
	pin(0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void flood_on_3(void)
{
	struct kmes_ioc_emit call = { .type = (uintptr_t) "flood",
				      .type_len = 5,
				      .payload = (uintptr_t) "\x80",
				      .payload_len = 1 };

	/* The scheduler moves it when its CPU goes offline. */
	for (;;) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(3, &set);
		sched_setaffinity(0, sizeof(set), &set);
		for (int i = 0; i < 50; i++)
			check_eq(ioctl(device(), KMES_IOC_EMIT, &call), 0);
	}
}

/* Every event of every CPU is in its ring or was counted as overwritten. */
static void check_accounts(void)
{
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct vm_ring r = ring_open(cpu);
		uint64_t live = 0, pos;
		struct vm_event e;

		for (pos = r.producer->tail_pos; pos < r.producer->write_pos;
		     pos += e.h.event_size, live++)
			e = ring_event(&r, pos);
		check_eq(counter(cpu, "emitted_events"),
			 live + counter(cpu, "overwritten_events"));
		check_eq(ring_last(&r).h.sequence,
			 counter(cpu, "emitted_events") + counter(cpu, "dropped_events"));
		check_eq(counter(cpu, "corrupt_resyncs"), 0);
		ring_close(&r);
	}
}

/* Replacements while an emitting CPU goes offline and online. */
static void hotplug_and_resize(void)
{
	pid_t flood = fork_bound(), plug;

	if (!flood)
		flood_on_3();
	plug = fork_bound();
	if (!plug) {
		for (int i = 0; i < 4; i++) {
			set_online(3, false);
			sleep_ms(50);
			set_online(3, true);
			sleep_ms(50);
		}
		_exit(0);
	}
	while (waitpid(plug, NULL, WNOHANG) == 0) {
		check_eq(config_set("buffer_capacity", 131072), 0);
		check_eq(config_set("buffer_capacity", 262144), 0);
	}
	end_child(flood);
	check_accounts();
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

/* Sets the alarm that ends the suspend, late enough for the machine to have suspended. */
static void set_alarm(void)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	char text[16];

	/* That is most of it. */
	for (uint32_t cpu = 1; cpu < 4; cpu++)
		set_online(cpu, false);
	for (uint32_t cpu = 1; cpu < 4; cpu++)
		set_online(cpu, true);
	snprintf(text, sizeof(text), "+%u",
		 (unsigned int)(5 + 6 * ms_since(start) / 1000));
	check_eq(file_write("/sys/class/rtc/rtc0/wakealarm", text), 0);
}

/* All CPUs but one go offline, and emitters are frozen. */
static void suspend_and_resume(void)
{
	uint64_t sequences[4], awake, all;
	pid_t flood = fork_bound();

	if (!flood)
		flood_on_3();
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		pin(cpu);
		check_eq(emit("before"), 0);
		struct vm_ring r = ring_open(cpu);
		sequences[cpu] = ring_last(&r).h.sequence;
		ring_close(&r);
	}
	awake = now_ns(CLOCK_MONOTONIC);
	all = now_ns(CLOCK_BOOTTIME);
	set_alarm();
	check_eq(file_write("/sys/power/state", "mem"), 0);
	awake = now_ns(CLOCK_MONOTONIC) - awake;
	all = now_ns(CLOCK_BOOTTIME) - all;
	/* It did suspend. */
	check(all > awake + 100000000);
	end_child(flood);
	check_accounts();
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		pin(cpu);
		check_eq(emit("after"), 0);
		struct vm_ring r = ring_open(cpu);
		struct vm_event e = ring_last(&r);
		check(event_is(&e, "after") && e.h.sequence > sequences[cpu]);
		ring_close(&r);
	}
}

/* The machine was booted with CPU 3 offline. */
static void cpu_off_at_load(void)
{
	struct vm_ring r = ring_open(3);

	check_eq(r.producer->write_pos, 0);
	check_eq(r.generation, 1);
	set_online(3, true);
	pin(3);
	check_eq(emit("first"), 0);
	struct vm_event e = ring_event(&r, 0);
	check_eq(e.h.sequence, 1);
	check_eq(e.h.cpu_id, 3);
	ring_close(&r);
}

static const struct vm_case cases[] = {
	{ "held", held_by_descriptors },      { "held-by-anybody", held_by_anybody },
	{ "under-emission", under_emission }, { "stream-ids", stream_ids },
	{ "hotplug", cpu_comes_and_goes },    { "hotplug-resize", hotplug_and_resize },
	{ "suspend", suspend_and_resume },    { "off-at-load", cpu_off_at_load },
};

KMES_CASES(cases)
