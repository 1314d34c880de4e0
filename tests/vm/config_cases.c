// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* config_cases.c - setting values, rejections, and the module's events about itself. */
#include <sys/time.h>

#include "tests/vm/ring.h"

static const struct {
	const char *file, *name;
	uint64_t value, other, below, above;
} values[] = {
	{ "buffer_capacity", "BufferCapacity", 4194304, 65536, 32768, 536870912 },
	{ "max_event_size", "MaxEventSize", 65536, 2000, 1023, 4194305 },
	{ "max_nesting_depth", "MaxNestingDepth", 32, 4, 3, 257 },
	{ "max_emit_rate_per_process", "MaxEmitRatePerProcess", 10000, 100, 99, 1000001 },
	{ "process_events", "ProcessEvents", 0, 1, 2, UINT64_MAX },
};

#define VALUES (sizeof(values) / sizeof(values[0]))

static uint64_t config_get(const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "%s", file);
	return file_number(path);
}

static int config_text(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "%s", file);
	return file_write(path, text);
}

static void defaults(void)
{
	for (unsigned int i = 0; i < VALUES; i++)
		check_eq(config_get(values[i].file), values[i].value);
	/* Loading emitted nothing. */
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		check_eq(counter(cpu, "emitted_events"), 0);
}

static struct vm_event own_event(struct vm_ring *r, const char *type)
{
	struct vm_event e = ring_last(r);

	check(event_is(&e, type));
	check_eq(e.h.origin_class, 1);
	return e;
}

static void applied(void)
{
	pin(0);
	for (unsigned int i = 0; i < VALUES; i++) {
		check_eq(config_set(values[i].file, values[i].other), 0);
		check_eq(config_get(values[i].file), values[i].other);
		struct vm_ring r = ring_open(0);
		struct vm_event e = own_event(&r, "kmes.config.applied");
		check(payload_is(&e, "config.name", values[i].name));
		check_eq(payload_number(&e, "config.value"), values[i].other);
		check_eq(payload_number(&e, "buffer.capacity"), counter(0, "capacity"));
		/* Setting the same value is no change and emits no event. */
		check_eq(config_set(values[i].file, values[i].other), 0);
		check_eq(ring_last(&r).h.sequence, e.h.sequence);
		ring_close(&r);
		check_eq(config_set(values[i].file, values[i].value), 0);
	}
}

static void check_rejected(unsigned int i, const char *kind)
{
	struct vm_ring r = ring_open(0);
	struct vm_event e = own_event(&r, "kmes.config.value.rejected");

	check(payload_is(&e, "config.name", values[i].name));
	check(payload_is(&e, "config.received.kind", kind));
	check_eq(payload_number(&e, "config.value"), values[i].value);
	check(payload_number(&e, "config.expected.min") <=
	      payload_number(&e, "config.expected.max"));
	check_eq(config_get(values[i].file), values[i].value);
	ring_close(&r);
}

static void rejected(void)
{
	static const char *const inputs[] = { "",	"\n",	  "x",	     "12x",
					      "-1",	"+65536", "0x10000", "65536 ",
					      " 65536", "1e6",	  "64K" };

	pin(0);
	for (unsigned int i = 0; i < VALUES; i++) {
		check_eq(config_set(values[i].file, values[i].below), -ERANGE);
		check_rejected(i, "out-of-range");
		check_eq(config_set(values[i].file, values[i].above), -ERANGE);
		check_rejected(i, "out-of-range");
		check_eq(config_text(values[i].file, "99999999999999999999"), -ERANGE);
		check_rejected(i, "out-of-range");
		for (unsigned int t = 1; t < sizeof(inputs) / sizeof(inputs[0]); t++) {
			check_eq(config_text(values[i].file, inputs[t]), -EINVAL);
			check_rejected(i, "wrong-type");
		}
	}
	/* In range, but not a power of two. */
	check_eq(config_set("buffer_capacity", 100000), -ERANGE);
	check_rejected(0, "out-of-range");
	struct vm_ring r = ring_open(0);
	struct vm_event e = ring_last(&r);
	check_eq(payload_number(&e, "config.received.value"), 100000);
	check_eq(payload_number(&e, "config.expected.min"), 65536);
	check_eq(payload_number(&e, "config.expected.max"), 268435456);
	ring_close(&r);
}

static void privilege(void)
{
	drop_capabilities(CAP(AUDIT_CONTROL));
	for (unsigned int i = 0; i < VALUES; i++) {
		check_eq(config_set(values[i].file, values[i].other), -EPERM);
		/* Before the value is parsed. */
		check_eq(config_text(values[i].file, "x"), -EPERM);
		check_eq(config_get(values[i].file), values[i].value);
	}
}

/* Loaded with one valid parameter and invalid values for the others. */
static void bad_parameters(void)
{
	uint64_t events = 0;

	check_eq(config_get("max_nesting_depth"), 7);
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct vm_ring r = ring_open(cpu);
		struct vm_event e;

		for (uint64_t pos = 0; pos < r.producer->write_pos;
		     pos += e.h.event_size) {
			e = ring_event(&r, pos);
			check(event_is(&e, "kmes.config.value.rejected"));
			events++;
		}
		ring_close(&r);
	}
	check_eq(events, 4);
	for (unsigned int i = 0; i < VALUES; i++)
		if (strcmp(values[i].file, "max_nesting_depth"))
			check_eq(config_get(values[i].file), values[i].value);
}

/* In a machine with less memory than the rings need. */
static void no_memory(void)
{
	uint64_t generations[4];
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * 4096;
	struct vm_event e;

	check(4 * 268435456ull > memory);
	pin(0);
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		generations[cpu] = counter(cpu, "generation");
	/* More than all free memory. */
	for (uint64_t capacity = 268435456; 4 * capacity > memory; capacity /= 2) {
		check_eq(config_set("buffer_capacity", capacity), -ENOMEM);
		struct vm_ring r = ring_open(0);
		e = own_event(&r, "kmes.buffer.swap.failed");
		check_eq(payload_number(&e, "buffer.capacity-requested"), capacity);
		check_eq(payload_number(&e, "buffer.capacity"), 4194304);
		check_eq(payload_number(&e, "outcome.errno"), -ENOMEM);
		ring_close(&r);
	}
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		check_eq(counter(cpu, "generation"), generations[cpu]);
	check_eq(config_get("buffer_capacity"), 4194304);
	check_eq(config_set("buffer_capacity", 1048576), 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Changes are serialized; a waiting one that a signal interrupts is restarted. */
static void restarted(void)
{
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	struct itimerval tick = { { 0, 5000 }, { 0, 5000 } }, off = { 0 };
	pid_t pid = fork_bound();

	if (!pid) {
		for (int i = 0; i < 10; i++) {
			check_eq(config_set("buffer_capacity", 16777216), 0);
			check_eq(config_set("buffer_capacity", 4194304), 0);
		}
		_exit(0);
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	for (uint64_t i = 0; !waitpid(pid, NULL, WNOHANG); i++)
		check_eq(config_set("max_nesting_depth", 33 + i % 2), 0);
	setitimer(ITIMER_REAL, &off, NULL);
	check(ticks > 0);
	check_eq(config_set("max_nesting_depth", 32), 0);
}

static const struct vm_case cases[] = {
	{ "defaults", defaults },	  { "applied", applied },
	{ "rejected", rejected },	  { "privilege", privilege },
	{ "parameters", bad_parameters }, { "no-memory", no_memory },
	{ "restarted", restarted },
};

KMES_CASES(cases)
