// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bare_native.c - a static program without a C library that makes the native calls and
 * reads its own events. Its exit status is 0 or the number of the failed check.
 */
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/time_types.h>
#include <linux/wait.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "kmes_abi.h"
#include "kmes_order.h"

/* How many times a sleep may start after its event before the test gives up. */
#define ROUNDS 50

/* The compiler generates calls of these two. */
void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	unsigned char *t = to;

	while (n--)
		*t++ = (unsigned char)byte;
	return to;
}

/* The result from the kernel; errors are negative. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static _Noreturn void leave(int status)
{
	for (;;)
		call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

static void check(int number, bool good)
{
	if (!good)
		leave(number);
}

static long attach(uint32_t cpu, uint64_t *capacity)
{
	return call(KMES_NR_ATTACH, cpu, (long)capacity, 0, 0, 0, 0);
}

static long emit(const char *type, uint16_t len)
{
	return call(KMES_NR_EMIT, (long)type, len, (long)"\x80", 1, 0, 0);
}

static void pin_to_first(void)
{
	unsigned long mask = 1;

	check(10,
	      call(SYS_sched_setaffinity, 0, sizeof(mask), (long)&mask, 0, 0, 0) == 0);
}

struct ring {
	uint64_t capacity, read_pos, sequence;
	struct kmes_producer_page *producer;
	struct kmes_consumer_page *consumer;
	const unsigned char *data;
};

/* Maps all of the first ring. */
static void open_ring(struct ring *r)
{
	uint64_t slots = 0;
	long fd, base;

	check(20, attach(KMES_ATTACH_QUERY_SLOTS, &slots) == 0 && slots > 0);
	check(21, attach((uint32_t)slots, &slots) == -22); /* EINVAL */
	fd = attach(0, &r->capacity);
	check(22, fd > 2);
	base = call(SYS_mmap, 0, (long)KMES_MAPPING_SIZE(r->capacity),
		    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(23, base > 0);
	r->producer = (void *)base;
	r->consumer = (void *)(base + KMES_CONSUMER_OFFSET);
	r->data = (void *)(base + KMES_DATA_OFFSET);
	for (int i = 0; i < KMES_MAGIC_SIZE; i++)
		check(24, r->producer->magic[i] == KMES_MAGIC[i]);
	check(25, r->producer->version == KMES_RING_VERSION && r->producer->cpu_id == 0);
	check(26, r->producer->capacity == r->capacity);
	r->read_pos = kmes_load_acquire(&r->producer->tail_pos);
	r->sequence = 0;
}

/* Reads all events; returns the number of those of this type. */
static unsigned int drain(struct ring *r, const char *type, uint16_t len)
{
	uint64_t end = kmes_load_acquire(&r->producer->write_pos); /* pairs with D */
	struct kmes_event_header h;
	unsigned int found = 0;

	for (; r->read_pos < end; r->read_pos += h.event_size) {
		const unsigned char *at = r->data + (r->read_pos & (r->capacity - 1));
		bool same = true;

		memcpy(&h, at, sizeof(h));
		check(30,
		      h.event_size >= h.header_size &&
			      h.header_size >= (uint32_t)KMES_HEADER_SIZE + h.type_len);
		check(31, !r->sequence || h.sequence == r->sequence + 1);
		r->sequence = h.sequence;
		for (uint16_t i = 0; i < len && same; i++)
			same = h.type_len == len && at[KMES_HEADER_SIZE + i] == type[i];
		found += same;
	}
	return found;
}

static void emit_and_read(struct ring *r)
{
	static const char type[] = { 'b', 'a', 'r', 'e' };
	struct kmes_batch_entry entries[3];
	uint32_t emitted = 77;

	drain(r, type, sizeof(type));
	check(40, emit(type, sizeof(type)) == 0);
	check(41, drain(r, type, sizeof(type)) == 1);
	for (int i = 0; i < 3; i++) {
		entries[i].event_type = (uintptr_t)type;
		entries[i].event_type_len = sizeof(type);
		entries[i].payload = (uintptr_t) "\x80\xc1";
		entries[i].payload_len = i < 2 ? 1 : 2;
	}
	/* The payload of the third entry is more than one value: EINVAL. */
	check(42,
	      call(KMES_NR_EMIT_BATCH, (long)entries, 3, (long)&emitted, 0, 0, 0) == -22);
	check(43, emitted == 2);
	check(44, drain(r, type, sizeof(type)) == 2);
	check(45, call(KMES_NR_EMIT, 8, 4, 8, 4, 0, 0) == -14); /* EFAULT */
	check(46, drain(r, type, sizeof(type)) == 0);
}

/* Sleeps as a consumer does while a child emits a little later; whether it was woken. */
static bool sleep_until_woken(struct ring *r, long pause_ms)
{
	static const char type[] = { 'w', 'a', 'k', 'e' };
	const struct __kernel_timespec pause = { pause_ms / 1000,
						 pause_ms % 1000 * 1000000 };
	const struct __kernel_timespec limit = { 60, 0 };
	long result, pid = call(SYS_fork, 0, 0, 0, 0, 0, 0);
	uint32_t word;
	int status = 1;

	check(50, pid >= 0);
	if (!pid) {
		call(SYS_nanosleep, (long)&pause, 0, 0, 0, 0, 0);
		leave(emit(type, sizeof(type)) != 0);
	}
	kmes_store_release(&r->consumer->need_wake, 1);
	kmes_fence_full();
	word = kmes_load_acquire(&r->producer->futex_counter);
	result = drain(r, type, sizeof(type))
			 ? 1
			 : call(SYS_futex, (long)&r->producer->futex_counter, FUTEX_WAIT,
				word, (long)&limit, 0, 0);
	kmes_store_relaxed(&r->consumer->need_wake, 0);
	check(52, call(SYS_wait4, pid, (long)&status, 0, 0, 0, 0) == pid && status == 0);
	/* 1: the event was already there; EAGAIN: it arrived just before the wait. */
	check(53, result == 0 || result == 1 || result == -11);
	check(54, drain(r, type, sizeof(type)) == (result != 1));
	return result == 0;
}

__attribute__((used)) static _Noreturn void begin(void)
{
	struct ring r;
	int round = 0;

	pin_to_first();
	open_ring(&r);
	emit_and_read(&r);
	while (!sleep_until_woken(&r, 50l << (round < 6 ? round : 6)))
		check(60, ++round < ROUNDS);
	leave(0);
}

/* The entry point; the stack need not be aligned for a function. */
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call begin\n");
