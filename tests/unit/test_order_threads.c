// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ordered accesses themselves, between two threads. ThreadSanitizer checks what x86
 * cannot get wrong.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kmes_order.h"
#include "unit.h"

#define ROUNDS 6000
#define TRIES 100 /* per round */

static struct {
	_Alignas(64) uint32_t round[2]; /* each thread's progress */
} shared;

static struct
try {
	_Alignas(64) uint64_t pos;
	_Alignas(64) uint8_t flag;
	bool writer_saw, reader_saw;
}
tries[TRIES];

/* The machine may be busy: no long spinning. */
static void wait_for(const uint32_t *at, uint32_t round)
{
	for (uint32_t spins = 0; kmes_load_acquire(at) < round; spins++) {
		if (spins > 200)
			sched_yield();
	}
}

static void meet(int me, uint32_t round)
{
	kmes_store_release(&shared.round[me], round);
	wait_for(&shared.round[!me], round);
}

/* The writer's half: publish, fence, check for a sleeper. */
static void *publish_and_look(void *arg)
{
	(void)arg;
	for (uint32_t round = 1; round <= 2 * ROUNDS; round += 2) {
		meet(1, round);
		for (int i = 0; i < TRIES; i++) {
			kmes_store_release(&tries[i].pos, 1);
			kmes_fence_full();
			tries[i].writer_saw = kmes_load_relaxed(&tries[i].flag);
		}
		meet(1, round + 1);
	}
	return NULL;
}

/* At least one of the two sees the other. [O4] [N1] */
TEST(order_threads_full_fence_lets_one_of_two_see_the_other)
{
	uint32_t both_missed = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, publish_and_look, NULL), 0);
	for (uint32_t round = 1; round <= 2 * ROUNDS; round += 2) {
		memset(tries, 0, sizeof(tries));
		meet(0, round);
		for (int i = 0; i < TRIES; i++) {
			kmes_store_relaxed(&tries[i].flag, 1);
			kmes_fence_full();
			tries[i].reader_saw = kmes_load_acquire(&tries[i].pos);
		}
		meet(0, round + 1);
		for (int i = 0; i < TRIES; i++) {
			both_missed += !tries[i].reader_saw && !tries[i].writer_saw;
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(both_missed, 0);
}

static uint8_t message[200];
static uint64_t plain;

static void *send_messages(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= 2000; i++) {
		uint8_t bytes[200];

		memset(bytes, (int)i, sizeof(bytes));
		kmes_copy_shared(message, bytes, sizeof(bytes));
		plain = i * 3ull;
		kmes_store_release(&shared.round[1], i);
		wait_for(&shared.round[0], i);
	}
	return NULL;
}

/* What was stored before a release is visible after the acquire. [O2] [O6] */
TEST(order_threads_release_and_acquire_publish_earlier_stores)
{
	pthread_t thread;

	memset(&shared, 0, sizeof(shared));
	assert_int_equal(pthread_create(&thread, NULL, send_messages, NULL), 0);
	for (uint32_t i = 1; i <= 2000; i++) {
		uint8_t bytes[200];

		wait_for(&shared.round[1], i);
		kmes_copy_shared(bytes, message, sizeof(bytes));
		assert_int_equal(bytes[0], (uint8_t)i);
		assert_int_equal(bytes[199], (uint8_t)i);
		assert_int_equal(plain, i * 3ull);
		kmes_store_release(&shared.round[0], i);
	}
	pthread_join(thread, NULL);
}

/* [O1] */
TEST(order_threads_copy_copies_each_byte_and_no_other)
{
	uint8_t from[80], to[80];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i + 1);
	for (size_t src = 0; src < 9; src++) {
		for (size_t dst = 1; dst < 9; dst++) {
			for (size_t n = 0; n < 64; n++) {
				memset(to, 0xa5, sizeof(to));
				kmes_copy_shared(to + dst, from + src, n);
				assert_int_equal(to[dst - 1], 0xa5);
				assert_memory_equal(to + dst, from + src, n);
				assert_int_equal(to[dst + n], 0xa5);
			}
		}
	}
}

/* [O3] [O5] */
TEST(order_threads_accesses_work_on_every_width_of_the_page)
{
	uint8_t byte = 0;
	uint32_t word = 0;
	uint64_t wide = 0;

	kmes_store_relaxed(&byte, 0xfe);
	kmes_store_release(&word, 0xfedcba98);
	kmes_store_release(&wide, 0xfedcba9876543210);
	kmes_fence_acquire();
	kmes_fence_release();
	assert_int_equal(kmes_load_relaxed(&byte), 0xfe);
	assert_int_equal(kmes_load_acquire(&word), 0xfedcba98);
	assert_int_equal(kmes_load_acquire(&wide), 0xfedcba9876543210);
	assert_int_equal(kmes_load_relaxed(&wide), 0xfedcba9876543210);
}
