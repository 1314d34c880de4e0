// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* emit_cases.c - single events: errors and their order, limits, what is stored. */
#include <sys/resource.h>

#include "tests/vm/ring.h"

/* The faults of an emission, in the order in which they are checked. */
enum fault {
	NO_PRIVILEGE,
	NO_TOKENS,
	NO_TYPE,
	PAST_U32,
	PAST_EVENT_SIZE,
	PAST_HALF,
	BAD_POINTER,
	BAD_TYPE,
	BAD_PAYLOAD,
	FAULTS,
};

static const int errors[FAULTS] = {
	[NO_PRIVILEGE] = EPERM, [NO_TOKENS] = EAGAIN,	    [NO_TYPE] = EINVAL,
	[PAST_U32] = EINVAL,	[PAST_EVENT_SIZE] = ENOSPC, [PAST_HALF] = ENOSPC,
	[BAD_POINTER] = EFAULT, [BAD_TYPE] = EINVAL,	    [BAD_PAYLOAD] = EINVAL,
};

/*
 * Makes sure that there is no token, at 100 per second. A refusal means that there is
 * less than one; if the next call gets one, less is left than was added since the
 * refusal. Returns the time until which that is less than one.
 */
static uint64_t take_tokens(void)
{
	uint64_t refused = 0;

	for (int tries = 0; tries < 100000; tries++) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		if (emit("fill")) {
			check_eq(errno, EAGAIN);
			refused = now;
		} else if (refused) {
			return refused + 10000000;
		}
	}
	fail("the bucket never becomes empty");
}

/*
 * The result of emit_with(); if there is to be no token, it must have been called in
 * time.
 */
static int emit_in_time(unsigned int set, const char *type, const void *payload,
			uint32_t len)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint64_t until = UINT64_MAX;
		int error;

		if (set & 1u << NO_TOKENS && !(set & 1u << NO_PRIVILEGE))
			until = take_tokens();
		errno = 0;
		(void)emit_raw(set & 1u << BAD_POINTER ? (void *)8 : type,
			       set & 1u << NO_TYPE ? 0 : 2, payload, len);
		error = errno;
		if (now_ns(CLOCK_MONOTONIC) < until)
			return error;
	}
	fail("this machine is too slow for three calls in 10 ms");
}

/* Emits in a child with a set of faults; returns its errno. */
static int emit_with(unsigned int set)
{
	static unsigned char payload[40000];
	const char *type = set & 1u << BAD_TYPE ? "t\xff" : "ty";
	uint32_t len = 10;
	int status;
	pid_t pid;

	memset(payload, 0xc1, sizeof(payload));
	if (!(set & 1u << BAD_PAYLOAD)) {
		payload[0] = 0xc4;
		payload[1] = 8;
	}
	if (set & 1u << PAST_HALF)
		len = 33000; /* over half of 65536, below the event size limit */
	if (set & 1u << PAST_EVENT_SIZE)
		len = 70000;
	if (set & 1u << PAST_U32)
		len = UINT32_MAX - 77;
	pid = fork();
	if (!pid) {
		drop_capabilities(CAP(SYS_ADMIN));
		if (set & 1u << NO_TOKENS)
			(void)take_tokens();
		if (set & 1u << NO_PRIVILEGE)
			drop_capabilities(CAP(AUDIT_WRITE));
		_exit(emit_in_time(set, type, payload, len));
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Each pair of faults, and none: the error is that of the first one. */
static void order_of_errors(void)
{
	check_eq(config_set("buffer_capacity", 65536), 0);
	/* So slow that no tokens are added while a child runs. */
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_eq(emit_with(0), 0);
	for (int first = 0; first < FAULTS; first++) {
		check_eq(emit_with(1u << first), errors[first]);
		for (int second = first + 1; second < FAULTS; second++) {
			int error = emit_with(1u << first | 1u << second);

			if (error != errors[first])
				fail("faults %d and %d: errno %d, not %d", first, second,
				     error, errors[first]);
		}
	}
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void sizes_by_length_alone(void)
{
	/* All pointers are invalid, and none is followed. */
	check_errno(emit_raw((void *)8, 1, (void *)8, UINT32_MAX - 78), ENOSPC);
	check_errno(emit_raw((void *)8, 1, (void *)8, UINT32_MAX - 77), EINVAL);
	check_errno(emit_raw((void *)8, 1, (void *)8, UINT32_MAX), EINVAL);
}

static void largest_event(void)
{
	unsigned char *payload = sized_payload(65536, 'x');

	pin(0);
	check_eq(emit_raw("big", 3, sized_payload(65536 - 80, 'x'), 65536 - 80), 0);
	check_errno(emit_raw("big", 3, payload, 65536 - 79), ENOSPC);
	check_eq(config_set("max_event_size", 1024), 0);
	check_eq(emit_raw("big", 3, sized_payload(1024 - 80, 'x'), 1024 - 80), 0);
	check_errno(emit_raw("big", 3, payload, 1024 - 79), ENOSPC);
	check_eq(config_set("max_event_size", 4194304), 0);
	check_eq(emit_raw("big", 3, sized_payload(2097152 - 80, 'x'), 2097152 - 80), 0);
	check_eq(config_set("max_event_size", 65536), 0);
}

/*
 * A thread of higher priority wants the CPU each millisecond while the kernel validates
 * four million values.
 */
static void large_lets_others_run(void)
{
	const uint32_t size = 4194304 - 80, count = size - 5;
	unsigned char *payload = malloc(size);
	struct sched_param first = { .sched_priority = 1 };
	struct rusage before, after;
	pid_t other;

	check(payload);
	memset(payload, 0xc0, size);
	payload[0] = 0xdd;
	for (int i = 0; i < 4; i++)
		payload[1 + i] = (unsigned char)(count >> (24 - 8 * i));
	check_eq(config_set("buffer_capacity", 8388608), 0);
	check_eq(config_set("max_event_size", 4194304), 0);
	pin(1);
	other = fork_bound();
	if (!other) {
		check(sched_setscheduler(0, SCHED_FIFO, &first) == 0);
		for (;;)
			sleep_ms(1);
	}
	sleep_ms(100);
	getrusage(RUSAGE_SELF, &before);
	check_eq(emit_raw("big", 3, payload, size), 0);
	getrusage(RUSAGE_SELF, &after);
	end_child(other);
	printf("# it was interrupted %ld times\n", after.ru_nivcsw - before.ru_nivcsw);
	check(after.ru_nivcsw - before.ru_nivcsw > 20);
	free(payload);
	check_eq(config_set("max_event_size", 65536), 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static void half_the_ring(void)
{
	pin(0);
	check_eq(config_set("buffer_capacity", 65536), 0);
	check_eq(emit_raw("half", 4, sized_payload(32768 - 81, 'h'), 32768 - 81), 0);
	check_eq(emit_raw("half", 4, sized_payload(32768 - 81, 'h'), 32768 - 81), 0);
	check_errno(emit_raw("half", 4, sized_payload(32768 - 80, 'h'), 32768 - 80),
		    ENOSPC);
	struct vm_ring r = ring_open(0);
	struct vm_event e = ring_last(&r);
	check_eq(e.h.event_size, 32768);
	check_eq(r.producer->write_pos - r.producer->tail_pos, 65536);
	ring_close(&r);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

static int emit_nested(int depth)
{
	unsigned char payload[512];

	memset(payload, 0x91, sizeof(payload));
	payload[depth - 1] = 0x90;
	return emit_raw("deep", 4, payload, (uint32_t)depth);
}

static void payloads(void)
{
	static const struct {
		const char *bytes;
		uint32_t len;
		bool good;
	} table[] = {
		{ "\xc0", 1, true },
		{ "\x81\xa1n\x07", 4, true },
		{ "\xdf\x00\x00\x00\x00", 5, true },
		{ "\xc7\x02\x55zz", 5, true },
		{ "\xa2\xff\xfe", 3, true },
		{ "", 0, false },
		{ "\xc1", 1, false },
		{ "\xc0\xc0", 2, false },
		{ "\x81\xa1n", 3, false },
		{ "\xdf\xff\xff\xff\xff", 5, false },
		{ "\xdf\x80\x00\x00\x00", 5, false },
		{ "\xdb\xff\xff\xff\xff", 5, false },
		{ "\xcf\x00", 2, false },
	};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].good)
			check_eq(emit_raw("p", 1, table[i].bytes, table[i].len), 0);
		else
			check_errno(emit_raw("p", 1, table[i].bytes, table[i].len),
				    EINVAL);
	}
	check_eq(emit_nested(32), 0);
	check_errno(emit_nested(33), EINVAL);
	check_eq(config_set("max_nesting_depth", 256), 0);
	check_eq(emit_nested(256), 0);
	check_errno(emit_nested(257), EINVAL);
	check_eq(config_set("max_nesting_depth", 4), 0);
	check_errno(emit_nested(5), EINVAL);
	check_eq(config_set("max_nesting_depth", 32), 0);
}

static void types(void)
{
	static const char *const bad[] = {
		"\x80", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_errno(emit(bad[i]), EINVAL);
	check_eq(emit("\xe2\x82\xac \xf0\x9f\x90\xa7 \x1b[31m"), 0);
	check_eq(emit_raw("nul\0s", 5, "\x80", 1), 0);
}

static void verbatim(void)
{
	static char type[65536];
	const uint16_t type_len = 65536 - 77 - 5;
	struct vm_event e;

	pin(2);
	memset(type, 'T', sizeof(type));
	struct vm_ring r = ring_open(2);
	check_eq(emit_raw(type, type_len, "\x93\x01\xa1\x00\xc2", 5), 0);
	e = ring_last(&r);
	check_eq(e.h.event_size, 65536);
	check_eq(e.h.header_size, 77 + type_len);
	check(e.h.type_len == type_len && !memcmp(e.type, type, type_len));
	check(e.payload_len == 5 && !memcmp(e.payload, "\x93\x01\xa1\x00\xc2", 5));
	ring_close(&r);
}

static void refused_leaves_no_trace(void)
{
	const char *const names[] = { "emitted_events", "emitted_bytes", "dropped_events",
				      "overwritten_events" };
	uint64_t before[4], sequence, write_pos;
	int i;

	pin(1);
	check_eq(emit("before"), 0);
	struct vm_ring r = ring_open(1);
	sequence = ring_last(&r).h.sequence;
	write_pos = r.producer->write_pos;
	for (i = 0; i < 4; i++)
		before[i] = counter(1, names[i]);
	check_errno(emit_raw("x", 0, "\x80", 1), EINVAL);
	check_errno(emit_raw("x", 1, "\xc1", 1), EINVAL);
	check_errno(emit_raw("\xff", 1, "\x80", 1), EINVAL);
	check_errno(emit_raw("x", 1, (void *)8, 4), EFAULT);
	check_errno(emit_raw("x", 1, "\x80", 65536), ENOSPC);
	for (i = 0; i < 4; i++)
		check_eq(counter(1, names[i]), before[i]);
	check_eq(r.producer->write_pos, write_pos);
	check_eq(emit("after"), 0);
	check_eq(ring_last(&r).h.sequence, sequence + 1);
	ring_close(&r);
}

static void stamps(void)
{
	static const unsigned char zero[16];
	unsigned char guid[16];

	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		uint64_t from, to, before = counter(cpu, "emitted_events");
		struct vm_event e;

		pin(cpu);
		struct vm_ring r = ring_open(cpu);
		from = now_ns(CLOCK_REALTIME);
		check_eq(emit("stamps"), 0);
		to = now_ns(CLOCK_REALTIME);
		e = ring_last(&r);
		check(event_is(&e, "stamps"));
		check(e.h.timestamp >= from && e.h.timestamp <= to);
		check_eq(e.h.cpu_id, cpu);
		check_eq(e.h.origin_class, 0);
		check_eq(e.h.sequence, before + 1 + counter(cpu, "dropped_events"));
		check_eq(counter(cpu, "emitted_events"), before + 1);
		check(!memcmp(e.h.effective_token_guid, zero, 16));
		check(!memcmp(e.h.true_token_guid, zero, 16));
		check_eq(e.h.process_guid[7] >> 4, 8);
		check_eq(e.h.process_guid[8] >> 6, 2);
		if (cpu)
			check(!memcmp(guid, e.h.process_guid, 16));
		memcpy(guid, e.h.process_guid, 16);
		ring_close(&r);
	}
}

/* The module has just been loaded. */
static void first_sequence(void)
{
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		struct vm_ring r = ring_open(cpu);

		check_eq(r.producer->write_pos, 0);
		check_eq(r.generation, 1);
		pin(cpu);
		check_eq(emit("first"), 0);
		struct vm_event e = ring_event(&r, 0);
		check_eq(e.h.sequence, 1);
		ring_close(&r);
	}
}

static _Noreturn void emit_on(unsigned int cpu)
{
	pin(cpu);
	for (;;)
		check_eq(emit("counts"), 0);
}

/* The counters of a CPU, read while it emits, never decrease. */
static void counts_beside_emission(void)
{
	static const char *const names[] = { "emitted_events", "emitted_bytes",
					     "overwritten_events" };
	uint64_t last[3] = { 0 }, first = counter(1, names[0]);
	pid_t emitter = fork_bound();

	if (!emitter)
		emit_on(1);
	pin(0);
	for (int i = 0; i < 2000 || last[0] < first + 1000; i++) {
		uint64_t now = counter(1, names[i % 3]);

		check(now >= last[i % 3]);
		last[i % 3] = now;
	}
	end_child(emitter);
}

static const struct vm_case cases[] = {
	{ "order", order_of_errors },
	{ "sizes", sizes_by_length_alone },
	{ "largest", largest_event },
	{ "half", half_the_ring },
	{ "payloads", payloads },
	{ "types", types },
	{ "verbatim", verbatim },
	{ "no-trace", refused_leaves_no_trace },
	{ "stamps", stamps },
	{ "first", first_sequence },
	{ "yields", large_lets_others_run },
	{ "counts", counts_beside_emission },
};

KMES_CASES(cases)
