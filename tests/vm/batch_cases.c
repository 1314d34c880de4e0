// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* batch_cases.c - batches, and calls on behalf of another process. */
#include "tests/vm/ring.h"

static struct kmes_batch_entry entries[KMES_BATCH_MAX + 1];

static void set_entry(unsigned int i, const char *type, const void *payload, uint32_t len)
{
	/* The padding is ignored. */
	memset(&entries[i], 0x5a, sizeof(entries[i]));
	entries[i].event_type = (uintptr_t)type;
	entries[i].event_type_len = (uint16_t)strlen(type);
	entries[i].payload = (uintptr_t)payload;
	entries[i].payload_len = len;
}

static int batch(uint32_t count, void *emitted)
{
	struct kmes_ioc_batch call = {
		.entries = (uintptr_t)entries,
		.emitted_out = (uintptr_t)emitted,
		.count = count,
	};

	if (is_native())
		return (int)syscall(KMES_NR_EMIT_BATCH, entries, count, emitted);
	return ioctl(device(), KMES_IOC_BATCH, &call);
}

static void fill(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		set_entry(i, "batch", "\x80", 1);
}

static void bad_calls(void)
{
	struct kmes_ioc_batch call = { .reserved = 1, .count = 1 };
	uint32_t emitted = 77;

	fill(KMES_BATCH_MAX + 1);
	check_errno(batch(0, &emitted), EINVAL);
	check_errno(batch(KMES_BATCH_MAX + 1, &emitted), EINVAL);
	check_errno(ioctl(device(), KMES_IOC_BATCH, &call), EINVAL);
	check_eq(emitted, 77);
	check_errno(batch(1, (void *)8), EFAULT);
	call = (struct kmes_ioc_batch){ .entries = 8,
					.emitted_out = (uintptr_t)&emitted,
					.count = 2 };
	check_errno(ioctl(device(), KMES_IOC_BATCH, &call), EFAULT);
	check_eq(emitted, 0);
}

static void without_tokens(void)
{
	uint32_t emitted = 77;

	drop_capabilities(CAP(SYS_ADMIN));
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_errno(batch(257, (void *)8), EINVAL);
	check_errno(batch(101, (void *)8), EAGAIN);
	check_errno(batch(101, &emitted), EAGAIN);
	check_eq(emitted, 77);
	drop_capabilities(CAP(AUDIT_WRITE));
	check_errno(batch(257, (void *)8), EPERM);
	check_errno(batch(101, (void *)8), EPERM);
}

/* Of two faults, the first in this order counts: count, tokens, pointer, entries. */
static void order_of_errors(void)
{
	uint32_t emitted = 77;
	struct kmes_ioc_batch call = { .entries = 8, .emitted_out = 8, .count = 257 };

	fill(KMES_BATCH_MAX + 1);
	check_eq(in_child(without_tokens), 0);
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
	check_errno(ioctl(device(), KMES_IOC_BATCH, &call), EINVAL);
	/* If emitted_out cannot be written, nothing is emitted. */
	pin(3);
	uint64_t before = counter(3, "emitted_events");
	check_errno(batch(5, (void *)8), EFAULT);
	check_eq(counter(3, "emitted_events"), before);
	/* The error is that of the first invalid entry. */
	entries[1].payload = 8;
	entries[2].event_type_len = 0;
	check_errno(batch(5, &emitted), EFAULT);
	check_eq(emitted, 1);
	fill(5);
	entries[1].event_type_len = 0;
	entries[1].payload = 8;
	check_errno(batch(5, &emitted), EINVAL);
	check_eq(emitted, 1);
}

static void no_privilege(void)
{
	uint32_t emitted = 77;

	drop_capabilities(CAP(AUDIT_WRITE));
	check_errno(batch(0, &emitted), EPERM);
	check_eq(emitted, 77);
}

/* Each kind of invalid entry ends the batch before it. */
static void good_prefix(void)
{
	static const int expected[] = { EINVAL, EINVAL, EFAULT, EINVAL, ENOSPC, EINVAL };
	uint32_t emitted;

	pin(3);
	struct vm_ring r = ring_open(3);
	for (unsigned int kind = 0; kind < 6; kind++) {
		uint64_t count = counter(3, "emitted_events");
		uint64_t pos = r.producer->write_pos;

		fill(5);
		switch (kind) {
		case 0:
			entries[3].event_type_len = 0;
			break;
		case 1:
			set_entry(3, "\xff", "\x80", 1);
			break;
		case 2:
			set_entry(3, "x", (void *)8, 4);
			break;
		case 3:
			set_entry(3, "x", "\xc1", 1);
			break;
		case 4:
			set_entry(3, "x", "\xc1", 70000);
			break;
		default:
			set_entry(3, "x", "\xc1", UINT32_MAX);
		}
		entries[4].event_type = 8;
		check_errno(batch(5, &emitted), expected[kind]);
		check_eq(emitted, 3);
		check_eq(counter(3, "emitted_events"), count + 3);
		check_eq(r.producer->write_pos - pos, 3 * (77 + 5 + 1));
	}
	entries[0].event_type_len = 0;
	check_errno(batch(5, &emitted), EINVAL);
	check_eq(emitted, 0);
	ring_close(&r);
}

static void one_publication(void)
{
	uint32_t emitted, words;
	uint64_t pos, sequence = 0, time = 0, wakes;

	pin(3);
	struct vm_ring r = ring_open(3);
	pos = r.producer->write_pos;
	words = r.producer->futex_counter;
	wakes = counter(3, "wakes");
	r.consumer->need_wake = 1;
	fill(KMES_BATCH_MAX);
	check_eq(batch(KMES_BATCH_MAX, &emitted), 0);
	check_eq(emitted, KMES_BATCH_MAX);
	check_eq(r.producer->futex_counter, words + 1);
	check_eq(counter(3, "wakes"), wakes + 1);
	r.consumer->need_wake = 0;
	for (unsigned int i = 0; i < KMES_BATCH_MAX; i++) {
		struct vm_event e = ring_event(&r, pos);

		if (i) {
			check_eq(e.h.sequence, sequence + 1);
			check_eq(e.h.timestamp, time);
		}
		sequence = e.h.sequence;
		time = e.h.timestamp;
		pos += e.h.event_size;
	}
	check_eq(r.producer->write_pos, pos);
	ring_close(&r);
}

/* 256 * 60000 bytes into 4 MiB: the newest events that fit survive. */
static void larger_than_the_ring(void)
{
	const uint32_t size = 60000 + 77 + 3;
	static unsigned char *payloads[KMES_BATCH_MAX];
	uint64_t before, pos, first;
	uint32_t emitted, kept = 0;

	pin(2);
	for (unsigned int i = 0; i < KMES_BATCH_MAX; i++) {
		payloads[i] = sized_payload(60000, (unsigned char)i);
		set_entry(i, "fat", payloads[i], 60000);
	}
	struct vm_ring r = ring_open(2);
	check_eq(emit("old"), 0);
	before = counter(2, "emitted_events");
	first = ring_last(&r).h.sequence + 1;
	check_eq(batch(KMES_BATCH_MAX, &emitted), 0);
	check_eq(emitted, KMES_BATCH_MAX);
	check_eq(counter(2, "emitted_events"), before + KMES_BATCH_MAX);
	for (pos = r.producer->tail_pos; pos < r.producer->write_pos; pos += size) {
		uint32_t i = KMES_BATCH_MAX - r.capacity / size + kept++;
		struct vm_event e = ring_event(&r, pos);

		check_eq(e.h.event_size, size);
		check_eq(e.h.sequence, first + i);
		check(!memcmp(e.payload, payloads[i], 60000));
	}
	check_eq(kept, r.capacity / size);
	check_eq(counter(2, "overwritten_events"), before + KMES_BATCH_MAX - kept);
	check_eq(emit("new"), 0);
	check_eq(ring_last(&r).h.sequence, first + KMES_BATCH_MAX);
	ring_close(&r);
}

/* On behalf of another process. */

static pid_t target;
static int target_fd;

static uint64_t lacking;

static void drop_lacking(void)
{
	drop_capabilities(lacking);
}

/* A child that pauses, without these capabilities. */
static void start_target(uint64_t dropped)
{
	lacking = dropped;
	target = fork_paused(drop_lacking);
	target_fd = pidfd_of(target);
}

static void stop_target(void)
{
	end_child(target);
}

static int emit_for(int pidfd, uint32_t reserved)
{
	struct kmes_ioc_emit_for call = {
		.call = { .type = (uintptr_t) "for",
			  .type_len = 3,
			  .payload = (uintptr_t) "\x80",
			  .payload_len = 1 },
		.pidfd = pidfd,
		.reserved = reserved,
	};

	return ioctl(device(), KMES_IOC_EMIT_FOR, &call);
}

static int batch_for(uint32_t count, uint32_t *emitted)
{
	struct kmes_ioc_batch_for call = {
		.call = { .entries = (uintptr_t)entries,
			  .emitted_out = (uintptr_t)emitted,
			  .count = count },
		.pidfd = target_fd,
	};

	return ioctl(device(), KMES_IOC_BATCH_FOR, &call);
}

/* Its bucket is emptied, not ours: we are exempt. */
static void check_its_bucket(void)
{
	uint32_t emitted;
	int tries = 0;

	fill(101);
	check_eq(config_set("max_emit_rate_per_process", 100), 0);
	check_errno(batch_for(101, &emitted), EAGAIN);
	for (;;) {
		uint64_t start;
		int r;

		sleep_ms(1100);
		start = now_ns(CLOCK_MONOTONIC);
		check_eq(batch_for(100, &emitted), 0);
		errno = 0;
		r = batch_for(100, &emitted);
		/* Too slow: the bucket has been refilled. */
		if (ms_since(start) < 950) {
			check(r == -1 && errno == EAGAIN);
			break;
		}
		check(++tries < 30);
	}
	check_eq(batch(101, &emitted), 0);
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
}

static void for_another(void)
{
	struct kmes_event_header mine, its;
	struct kmes_ioc_attach_for attach = {};
	uint64_t capacity = 0;
	uint32_t emitted;

	pin(1);
	struct vm_ring r = ring_open(1);
	start_target(CAP(SYS_ADMIN));
	check_eq(emit("mine"), 0);
	mine = ring_last(&r).h;
	check_eq(emit_for(target_fd, 0), 0);
	its = ring_last(&r).h;
	check(memcmp(mine.process_guid, its.process_guid, 16));
	fill(2);
	check_eq(batch_for(2, &emitted), 0);
	check_eq(emitted, 2);
	check(!memcmp(ring_last(&r).h.process_guid, its.process_guid, 16));
	check_its_bucket();
	check_eq(emit("mine"), 0);

	attach.call.capacity_ptr = (uintptr_t)&capacity;
	attach.call.cpu = 1;
	attach.pidfd = target_fd;
	check(ioctl(device(), KMES_IOC_ATTACH_FOR, &attach) >= 0);
	check_eq(capacity, r.capacity);
	check_errno(emit_for(target_fd, 1), EINVAL);
	check_errno(emit_for(-1, 0), EBADF);
	check_errno(emit_for(device(), 0), EBADF);
	stop_target();
	check_errno(emit_for(target_fd, 0), ESRCH);
	ring_close(&r);
}

/* The target cannot do through us what it may not do itself. */
static void for_a_lesser_one(void)
{
	struct kmes_ioc_attach_for attach = {};
	uint64_t capacity = 0;
	uint32_t emitted;

	start_target(CAP(AUDIT_WRITE) | CAP(AUDIT_READ));
	check_errno(emit_for(target_fd, 0), EPERM);
	fill(1);
	check_errno(batch_for(1, &emitted), EPERM);
	attach.call.capacity_ptr = (uintptr_t)&capacity;
	attach.pidfd = target_fd;
	check_errno(ioctl(device(), KMES_IOC_ATTACH_FOR, &attach), EPERM);
	stop_target();
}

/* The caller may not act for a target with more capabilities or of another user. */
static void for_a_greater_one(void)
{
	start_target(0);
	drop_capabilities(CAP(SYS_PTRACE) | CAP(AUDIT_WRITE));
	check_errno(emit_for(target_fd, 0), EPERM);
	stop_target();
	/* One with the caller's ids is allowed, within its own capabilities. */
	start_target(CAP(AUDIT_READ));
	check_errno(emit_for(target_fd, 0), EPERM);
	stop_target();
}

static void as_somebody_else(void)
{
	check(setresuid(65534, 65534, 65534) == 0);
	check_errno(emit_for(target_fd, 0), EPERM);
}

static void for_an_equal_one(void)
{
	drop_capabilities(CAP(SYS_PTRACE));
	start_target(0);
	check_eq(emit_for(target_fd, 0), 0);
	check_eq(in_child(as_somebody_else), 0);
	stop_target();
}

static const struct vm_case cases[] = {
	{ "bad-calls", bad_calls },	    { "no-privilege", no_privilege },
	{ "good-prefix", good_prefix },	    { "one-publication", one_publication },
	{ "larger", larger_than_the_ring }, { "for-another", for_another },
	{ "for-lesser", for_a_lesser_one }, { "for-greater", for_a_greater_one },
	{ "for-equal", for_an_equal_one },  { "order", order_of_errors },
};

KMES_CASES(cases)
