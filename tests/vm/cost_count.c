// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * cost_count.c - instructions per event, compared with similar interfaces.
 *
 * It runs in a guest with one CPU whose clock, and so the time stamp counter, advances by
 * one per instruction. `cost_count NAME...` prints "NAME COUNT" for each of them or,
 * without a name, for all. Events have a type of 10 bytes and a payload of 64; batches
 * are counted per event. Rounds are short, so that few are hit by a timer interrupt, and
 * the median is taken.
 */
#include <linux/futex.h>
#include <x86intrin.h>

#include "tests/vm/bpf.h"
#include "tests/vm/ring.h"

#define ROUNDS 15
#define TYPE "cost.event"
#define TYPE_LEN ((uint16_t)(sizeof(TYPE) - 1))
#define PAYLOAD 64

/* The payload follows the type directly, as a caller may lay them out. */
static struct event_text {
	char type[TYPE_LEN];
	unsigned char payload[PAYLOAD];
} text[KMES_BATCH_MAX];

/* For the calls below; each cost is counted in a separate process. */
static int fd;

/* ---- counting ---- */

static void (*volatile op)(void);

static void do_nothing(void)
{
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t median(uint64_t ticks[ROUNDS])
{
	qsort(ticks, ROUNDS, sizeof(*ticks), by_value);
	return ticks[ROUNDS / 2];
}

static uint64_t ticks_of(void (*run)(void), unsigned int times)
{
	uint64_t ticks[ROUNDS], start;

	op = run;
	for (unsigned int r = 0; r < ROUNDS; r++) {
		start = __rdtsc();
		for (unsigned int i = 0; i < times; i++)
			op();
		ticks[r] = __rdtsc() - start;
	}
	return median(ticks);
}

/* Instructions per call, without those of the loop around it. */
static uint64_t cost_of(void (*run)(void), unsigned int times)
{
	uint64_t empty = ticks_of(do_nothing, times);

	do
		run();
	while (getenv("KMES_COST_FOREVER"));
	return (ticks_of(run, times) - empty + times / 2) / times;
}

/* ---- system calls ---- */

static void do_getppid(void)
{
	getppid();
}

static uint64_t cost_getppid(void)
{
	return cost_of(do_getppid, 100);
}

static void do_emit(void)
{
	struct kmes_ioc_emit call = {
		.type = (uintptr_t)text->type,
		.type_len = TYPE_LEN,
		.payload = (uintptr_t)text->payload,
		.payload_len = PAYLOAD,
	};

	check(ioctl(fd, KMES_IOC_EMIT, &call) == 0);
}

static uint64_t cost_emit(void)
{
	fd = device();
	return cost_of(do_emit, 50);
}

/* In a full ring, overwriting the oldest events. */
static uint64_t cost_emit_over(void)
{
	check(config_set("buffer_capacity", KMES_CAPACITY_MIN) == 0);
	fd = device();
	for (unsigned int i = 0; i < KMES_CAPACITY_MIN / PAYLOAD; i++)
		do_emit();
	return cost_emit();
}

static uint64_t cost_emit_rated(void)
{
	check(config_set("max_emit_rate_per_process", KMES_RATE_MAX) == 0);
	drop_capabilities(CAP(SYS_ADMIN));
	return cost_emit();
}

static struct kmes_batch_entry entries[KMES_BATCH_MAX];
static struct kmes_ioc_batch batch;

static void do_batch(void)
{
	check(ioctl(fd, KMES_IOC_BATCH, &batch) == 0);
}

static uint64_t cost_batch_of(uint32_t count)
{
	static uint32_t emitted;

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct kmes_batch_entry){
			.event_type = (uintptr_t)text[i].type,
			.event_type_len = TYPE_LEN,
			.payload = (uintptr_t)text[i].payload,
			.payload_len = PAYLOAD,
		};
	batch.entries = (uintptr_t)entries;
	batch.emitted_out = (uintptr_t)&emitted;
	batch.count = count;
	fd = device();
	return cost_of(do_batch, count > 1 ? 4 : 50) / count;
}

static uint64_t cost_batch_1(void)
{
	return cost_batch_of(1);
}

static uint64_t cost_batch_64(void)
{
	return cost_batch_of(64);
}

static uint64_t cost_batch_256(void)
{
	return cost_batch_of(256);
}

/* ---- the kernel's own events, counted by a module ---- */

#define KERNEL_EVENTS 64

static uint64_t kernel_ticks(const char *name)
{
	uint64_t ticks[ROUNDS];
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/kmes_cost/parameters/%s", name);
	for (unsigned int r = 0; r < ROUNDS; r++)
		ticks[r] = file_number(path);
	return median(ticks);
}

static uint64_t cost_kernel(void)
{
	return (kernel_ticks("single") - kernel_ticks("empty")) / KERNEL_EVENTS;
}

static uint64_t cost_kernel_64(void)
{
	return kernel_ticks("batch") / KERNEL_EVENTS;
}

/* ---- peers ---- */

static void do_marker(void)
{
	check(write(fd, text->payload, PAYLOAD) == PAYLOAD);
}

static uint64_t cost_trace_marker(void)
{
	fd = open("/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
	check(fd >= 0);
	return cost_of(do_marker, 50);
}

#define BPF_REPEAT 100

static void do_bpf(void)
{
	bpf_run(fd, BPF_REPEAT);
}

/* The buffer is large enough for all rounds. */
static uint64_t cost_bpf_ringbuf(void)
{
	uint64_t nothing_done;

	fd = bpf_load_nothing();
	nothing_done = cost_of(do_bpf, 1);
	fd = bpf_load_event(1 << 20);
	return (cost_of(do_bpf, 1) - nothing_done) / BPF_REPEAT;
}

/*
 * ---- a wake ----
 *
 * Everything until the consumer sleeps again: the emission, the module's thread, the
 * consumer's two system calls and the context switches.
 */

static struct vm_ring ring;

/* Wakes up only for events. */
static void consume(void)
{
	for (;;) {
		uint32_t word;

		kmes_store_release(&ring.consumer->need_wake, 1);
		kmes_fence_full();
		word = kmes_load_acquire(&ring.producer->futex_counter);
		syscall(SYS_futex, &ring.producer->futex_counter, FUTEX_WAIT, word, NULL,
			NULL, 0);
		kmes_store_release(&ring.consumer->need_wake, 0);
	}
}

/* The consumer runs until it sleeps: there is no other runnable process. */
static void do_wake(void)
{
	do_emit();
	do
		sched_yield();
	while (!kmes_load_acquire(&ring.consumer->need_wake));
}

static uint64_t cost_wake(void)
{
	uint64_t before, cost;
	pid_t pid;

	fd = device();
	ring = ring_open(0);
	pid = fork_bound();
	if (!pid) {
		ring = ring_open(0);
		consume();
	}
	while (!task_is(pid, 'S') || !ring.consumer->need_wake)
		sleep_ms(1);
	before = counter(0, "wakes");
	cost = cost_of(do_wake, 10);
	check_eq(counter(0, "wakes") - before, 1 + 10 * ROUNDS);
	end_child(pid);
	return cost;
}

/* ---- under kmes-run ---- */

static void do_native(void)
{
	check(syscall(KMES_NR_EMIT, text->type, TYPE_LEN, text->payload, PAYLOAD) == 0);
}

static uint64_t cost_native_here(void)
{
	return cost_of(do_native, 10);
}

static uint64_t cost_native(void)
{
	FILE *out = popen("kmes-run cost_count native-here", "r");
	unsigned long long cost;

	check(out && fscanf(out, "native-here %llu", &cost) == 1);
	check(pclose(out) == 0);
	return cost;
}

/* ---- all ---- */

static const struct cost {
	const char *name;
	uint64_t (*count)(void);
} costs[] = {
	{ "getppid", cost_getppid },
	{ "emit", cost_emit },
	{ "emit-over", cost_emit_over },
	{ "emit-rated", cost_emit_rated },
	{ "batch-1", cost_batch_1 },
	{ "batch-64", cost_batch_64 },
	{ "batch-256", cost_batch_256 },
	{ "kernel", cost_kernel },
	{ "kernel-batch-64", cost_kernel_64 },
	{ "trace_marker", cost_trace_marker },
	{ "bpf-ringbuf", cost_bpf_ringbuf },
	{ "wake", cost_wake },
	{ "native", cost_native },
	{ "native-here", cost_native_here },
};

/* Shrunk and grown again, a ring has few events and room for many more. */
static void empty_ring(void)
{
	check(config_set("buffer_capacity", KMES_CAPACITY_MIN) == 0);
	check(config_set("buffer_capacity", KMES_CAPACITY_DEFAULT) == 0);
}

/* Each in a child, so that changes to its process do not affect the next one. */
static void count(const struct cost *c)
{
	int status;
	pid_t pid = fork_bound();

	if (!pid) {
		empty_ring();
		printf("%s %llu\n", c->name, (unsigned long long)c->count());
		exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	const struct cost *end = costs + sizeof(costs) / sizeof(costs[0]);

	for (unsigned int i = 0; i < KMES_BATCH_MAX; i++) {
		memcpy(text[i].type, TYPE, TYPE_LEN);
		text[i].payload[0] = 0xc4;
		text[i].payload[1] = PAYLOAD - 2;
	}
	for (const struct cost *c = costs; c < end; c++) {
		bool wanted = argc < 2 && c->count != cost_native_here;

		for (int i = 1; i < argc; i++)
			wanted |= !strcmp(c->name, argv[i]);
		if (wanted)
			count(c);
	}
	return 0;
}
