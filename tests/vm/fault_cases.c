// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * fault_cases.c - the module's calls while each of their allocations fails in turn.
 *
 * Writing N to /proc/thread-self/fail-nth makes the Nth allocation of this thread fail;
 * the file then reads as 0. So a call is made with N = 1, 2, ... until none has failed.
 * The test file makes the kernel count only allocations below a module's function.
 */
#include "tests/vm/ring.h"

static int nth_fd = -1;
static unsigned int nth;
static bool came;

/* From now on, the nth allocation fails. */
static void arm(void)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	check(pwrite(nth_fd, text, (size_t)len, 0) == len);
}

/* Ends that; true if an nth one failed. Takes and returns the call's result. */
static int disarm(int r)
{
	int error = r < 0 ? errno : 0;
	char text[16] = "";

	check(pread(nth_fd, text, sizeof(text) - 1, 0) > 0);
	check(pwrite(nth_fd, "0", 1, 0) == 1);
	came = !strtol(text, NULL, 10);
	return -error;
}

/*
 * Makes a call with each of its allocations failing in turn. It returns 0 or -errno; the
 * only allowed error is ENOMEM. Returns the number of failures.
 */
static unsigned int with_each_fault(int (*call)(void), unsigned int limit)
{
	unsigned int refused = 0;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	check(nth_fd >= 0);
	nth = 0;
	do {
		int r;

		check(++nth < limit);
		r = call();
		if (r && r != -ENOMEM)
			fail("with fault %u: errno %d", nth, -r);
		if (r && !came)
			fail("refused without a fault");
		refused += r != 0;
	} while (came);
	close(nth_fd);
	printf("# %u allocations, %u refusals\n", nth - 1, refused);
	return refused;
}

static int attach_and_map(void)
{
	uint64_t capacity = 0;
	int fd, error;
	void *base;

	arm();
	fd = ring_attach(1, &capacity, NULL);
	error = disarm(fd);
	if (fd < 0)
		return error;
	base = mmap(NULL, KMES_MAPPING_SIZE(capacity), PROT_READ, MAP_SHARED, fd, 0);
	check(base != MAP_FAILED && !memcmp(base, "KMESRING", 8));
	munmap(base, KMES_MAPPING_SIZE(capacity));
	close(fd);
	return 0;
}

static void attach(void)
{
	device();
	check(with_each_fault(attach_and_map, 200) > 0);
}

static unsigned char *payload;

static int emit_one(void)
{
	arm();
	return disarm(emit_raw("fault", 5, payload, 60000));
}

static void emission(void)
{
	uint64_t before;

	payload = sized_payload(60000, 'f');
	device();
	pin(1);
	/* Not exempt, so that a bucket is created. */
	drop_capabilities(CAP(SYS_ADMIN));
	before = counter(1, "emitted_events");
	check(with_each_fault(emit_one, 100) > 0);
	check(counter(1, "emitted_events") > before);
}

static struct kmes_batch_entry entries[64];

static int emit_many(void)
{
	uint64_t before = counter(1, "emitted_events");
	uint32_t emitted = 77;
	struct kmes_ioc_batch call = { .entries = (uintptr_t)entries,
				       .emitted_out = (uintptr_t)&emitted,
				       .count = 64 };
	int r;

	arm();
	r = disarm(ioctl(device(), KMES_IOC_BATCH, &call));
	check_eq(counter(1, "emitted_events"), before + emitted);
	check(r || emitted == 64);
	return r;
}

static void batch(void)
{
	payload = sized_payload(60000, 'b');
	for (int i = 0; i < 64; i++) {
		entries[i].event_type = (uintptr_t) "fault";
		entries[i].event_type_len = 5;
		entries[i].payload = (uintptr_t)payload;
		entries[i].payload_len = 60000;
	}
	device();
	pin(1);
	check(with_each_fault(emit_many, 400) > 0);
}

/* Writes a value to a file that is already open. */
static int set(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	check(fd >= 0);
	arm();
	r = disarm((int)write(fd, text, strlen(text)));
	close(fd);
	return r;
}

static int replace(void)
{
	static bool larger;
	int r;

	larger = !larger;
	r = set(SYSFS "buffer_capacity", larger ? "131072" : "65536");
	/* All rings have the same size and generation, whatever the result. */
	for (uint32_t cpu = 1; cpu < 4; cpu++) {
		check_eq(counter(cpu, "capacity"), counter(0, "capacity"));
		check_eq(counter(cpu, "generation"), counter(0, "generation"));
	}
	check_eq(file_number(SYSFS "buffer_capacity"), counter(0, "capacity"));
	return r;
}

static void resize(void)
{
	check_eq(config_set("buffer_capacity", 65536), 0);
	check(with_each_fault(replace, 2000) > 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static int turn_on_and_off(void)
{
	int r = set(SYSFS "process_events", "1");

	check_eq(config_set("process_events", 0), 0);
	return r;
}

static void process_events(void)
{
	check_eq(config_set("process_events", 0), 0);
	(void)with_each_fault(turn_on_and_off, 500);
	check_eq(config_set("process_events", 0), 0);
}

static int load(void)
{
	int fd = open(getenv("KMES_MODULE"), O_RDONLY | O_CLOEXEC);
	int r;

	check(fd >= 0);
	arm();
	r = disarm((int)syscall(SYS_finit_module, fd,
				"buffer_capacity=65536 process_events=1", 0));
	close(fd);
	if (!r)
		check(syscall(SYS_delete_module, "kmes", O_NONBLOCK) == 0);
	return r;
}

static void loading(void)
{
	check(with_each_fault(load, 1000) > 0);
}

static const struct vm_case cases[] = {
	{ "attach", attach }, { "emit", emission }, { "batch", batch },
	{ "resize", resize }, { "load", loading },  { "process-events", process_events },
};

KMES_CASES(cases)
