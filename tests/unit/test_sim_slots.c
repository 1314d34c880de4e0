// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The simulator's rings: slots, round-robin, descriptor permissions, replacement, waking.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/kmes-sim/sim.h"
#include "unit.h"

#define CAPACITY 65536

static struct sim_slots slots;

/* Slots 0, 1, hole, 3. */
static void make_slots(void)
{
	static struct kmes_cpus holes;

	kmes_cpus_add(&holes, 2);
	assert_int_equal(sim_slots_init(&slots, 4, &holes, CAPACITY), 0);
}

static void free_slots(void)
{
	sim_slots_fini(&slots);
}
EACH_TEST(make_slots, free_slots);

static void emit(uint16_t cpu, uint32_t payload_len)
{
	static const uint8_t payload[32768];
	const struct kmes_record r = { "t", payload, payload_len, 1 };
	const struct kmes_stamp stamp = { .timestamp = 1 };
	bool wake;

	assert_int_equal(kmes_ring_write(&slots.rings[cpu].writer, &r, &stamp, &wake), 0);
	if (wake)
		sim_slots_owe_wake(&slots, &slots.rings[cpu]);
}

/* [A4 A5] */
TEST(sim_slots_hole_has_no_ring)
{
	assert_ptr_equal(sim_slots_ring(&slots, 0), &slots.rings[0]);
	assert_null(sim_slots_ring(&slots, 2));
	assert_ptr_equal(sim_slots_ring(&slots, 3), &slots.rings[3]);
	assert_null(sim_slots_ring(&slots, 4));
	assert_null(sim_slots_ring(&slots, INT32_MAX));
	assert_null(sim_slots_ring(&slots, -2));
}

TEST(sim_slots_round_robin_skips_holes)
{
	static const uint16_t expected[] = { 0, 1, 3, 0, 1, 3, 0 };
	unsigned int i;

	for (i = 0; i < COUNT(expected); i++)
		assert_int_equal(sim_slots_ring(&slots, SIM_CPU_ANY)->writer.cpu_id,
				 expected[i]);
}

TEST(sim_slots_round_robin_of_holes_is_empty)
{
	static struct kmes_cpus all;
	struct sim_slots none;

	kmes_cpus_add(&all, 0);
	kmes_cpus_add(&all, 1);
	assert_int_equal(sim_slots_init(&none, 2, &all, CAPACITY), 0);
	assert_null(sim_slots_ring(&none, SIM_CPU_ANY));
	assert_int_equal(sim_slots_replace(&none, 2 * CAPACITY), 0);
	sim_slots_fini(&none);
}

/* [P2] */
TEST(sim_slots_page_describes_the_ring)
{
	const struct kmes_producer_page *page = slots.rings[3].base;

	assert_memory_equal(page->magic, "KMESRING", 8);
	assert_int_equal(page->version, 1);
	assert_int_equal(page->cpu_id, 3);
	assert_int_equal(page->capacity, CAPACITY);
	assert_int_equal(page->data_offset, 8192);
	assert_int_equal(page->generation, 1);
}

/* A client's descriptor is read-only, even if reopened. */
TEST(sim_slots_ring_descriptor_is_read_only)
{
	const int fd = slots.rings[0].fds[SIM_FD_RING];
	const int rw = PROT_READ | PROT_WRITE;
	char path[64];
	void *p;
	int again;

	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_ptr_equal(mmap(NULL, 4096, rw, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR);
	assert_true(again >= 0);
	assert_ptr_equal(mmap(NULL, 4096, rw, MAP_SHARED, again, 0), MAP_FAILED);
	assert_int_equal(write(again, "x", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(again, 0), -1);
	assert_int_equal(ftruncate(again, 1 << 20), -1);
	assert_int_equal(fcntl(again, F_ADD_SEALS, F_SEAL_WRITE), -1);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, again, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p, 4096, rw), -1);
	munmap(p, 4096);
	close(again);
	/* and it is still writable for the simulator */
	emit(0, 10);
}

/* [M5] */
TEST(sim_slots_consumer_page_is_writable_and_has_a_fixed_size)
{
	const int fd = slots.rings[0].fds[SIM_FD_CONSUMER];
	const struct kmes_ring_writer *w = &slots.rings[0].writer;
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	page[0] = 7;
	assert_int_equal(w->consumer->need_wake, 7);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 8192), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	munmap(page, 4096);
}

/* [M7] */
TEST(sim_slots_data_is_mapped_twice)
{
	const struct kmes_ring_writer *w = &slots.rings[1].writer;
	unsigned int i;

	for (i = 0; i < 700; i++)
		emit(1, 100);
	assert_memory_equal(w->data, w->data + CAPACITY, CAPACITY);
	assert_true(w->write_pos > CAPACITY);
}

/* [R9 F2] */
TEST(sim_slots_replace_keeps_events_and_counts)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		emit(3, 100);
	assert_int_equal(sim_slots_replace(&slots, 2 * CAPACITY), 0);
	assert_int_equal(slots.capacity, 2 * CAPACITY);
	assert_int_equal(slots.rings[0].writer.generation, 2);
	assert_null(slots.rings[2].base);
	assert_int_equal(slots.rings[3].writer.capacity, 2 * CAPACITY);
	assert_int_equal(kmes_ring_live(&slots.rings[3].writer), 100);
	assert_int_equal(slots.rings[3].writer.sequence, 100);
	emit(3, 100);
	assert_int_equal(slots.rings[3].writer.sequence, 101);
}

/* [R8] */
TEST(sim_slots_old_ring_stays_readable_and_names_its_successor)
{
	struct kmes_producer_page *old;

	emit(0, 10);
	old = mmap(NULL, 4096, PROT_READ, MAP_SHARED, slots.rings[0].fds[SIM_FD_RING], 0);
	assert_ptr_not_equal(old, MAP_FAILED);
	assert_int_equal(sim_slots_replace(&slots, 2 * CAPACITY), 0);
	assert_int_equal(old->generation, 2);
	assert_int_equal(old->capacity, CAPACITY);
	assert_int_equal(old->write_pos, 77 + 1 + 10);
	emit(0, 10);
	assert_int_equal(old->write_pos, 77 + 1 + 10);
	munmap(old, 4096);
}

static unsigned int open_descriptors(void)
{
	unsigned int n = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void assert_unchanged(void)
{
	assert_int_equal(slots.capacity, CAPACITY);
	assert_int_equal(slots.rings[0].writer.generation, 1);
	assert_int_equal(slots.rings[0].writer.producer->generation, 1);
	emit(0, 10);
}

/* [F3] */
TEST(sim_slots_replace_without_memory_has_no_effect)
{
	unsigned int before = open_descriptors();

	slots.fail_after = 2;
	assert_int_equal(sim_slots_replace(&slots, 2 * CAPACITY), -ENOMEM);
	assert_unchanged();
	assert_int_equal(open_descriptors(), before);
	/* only the next one was made to fail */
	assert_int_equal(sim_slots_replace(&slots, 2 * CAPACITY), 0);
	assert_int_equal(open_descriptors(), before);
}

/* [F3] */
TEST(sim_slots_replace_without_address_space_has_no_effect)
{
	struct rlimit before, tight;
	unsigned int fds = open_descriptors();
	int r;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("# sanitizers take all the address space\n");
	skip();
#endif
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	tight = before;
	tight.rlim_cur = 256 << 20;
	assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
	r = sim_slots_replace(&slots, 64 << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(r, -ENOMEM);
	assert_unchanged();
	assert_int_equal(open_descriptors(), fds);
}

struct sleeper {
	const struct kmes_producer_page *page;
	atomic_bool sleeps;
	long result;
};

/* Sleeps on its own mapping, as another process would. */
static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;
	const struct timespec bound = { 20, 0 };

	s->sleeps = true;
	s->result = syscall(SYS_futex, &s->page->futex_counter, FUTEX_WAIT, 0, &bound,
			    NULL, 0);
	return NULL;
}

static void start_sleeper(pthread_t *thread, struct sleeper *s)
{
	s->sleeps = false;
	s->page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, slots.rings[0].fds[SIM_FD_RING],
		       0);
	assert_ptr_not_equal(s->page, MAP_FAILED);
	assert_int_equal(pthread_create(thread, NULL, sleep_once, s), 0);
	while (!s->sleeps)
		usleep(1000);
	usleep(50000);
}

static void want_wake(void)
{
	assert_int_equal(pwrite(slots.rings[0].fds[SIM_FD_CONSUMER], "\x01", 1, 0), 1);
}

/* [N5 N7 P5] */
TEST(sim_slots_every_sleeper_is_woken)
{
	struct sleeper s[2];
	pthread_t threads[2];
	unsigned int i;

	emit(0, 10);
	assert_int_equal(slots.rings[0].writer.producer->futex_counter, 0);
	for (i = 0; i < 2; i++)
		start_sleeper(&threads[i], &s[i]);
	want_wake();
	emit(0, 10);
	emit(0, 10);
	assert_int_equal(slots.sleepy_count, 1);
	sim_slots_wake(&slots);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(s[i].result, 0);
		munmap((void *)s[i].page, 4096);
	}
	assert_int_equal(slots.rings[0].writer.producer->futex_counter, 2);
	assert_int_equal(slots.rings[0].writer.counts.wakes, 2);
	assert_int_equal(slots.sleepy_count, 0);
}

/* [R11] */
TEST(sim_slots_sleeper_on_a_replaced_ring_is_woken)
{
	struct sleeper s;
	pthread_t thread;

	start_sleeper(&thread, &s);
	want_wake();
	assert_int_equal(sim_slots_replace(&slots, 2 * CAPACITY), 0);
	pthread_join(thread, NULL);
	assert_int_equal(s.result, 0);
	assert_int_equal(s.page->futex_counter, 1);
	assert_int_equal(slots.rings[0].writer.producer->futex_counter, 0);
	munmap((void *)s.page, 4096);
}
