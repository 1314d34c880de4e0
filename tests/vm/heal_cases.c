// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * heal_cases.c - a client that follows exactly the published steps: it has no second
 * attach and does not bound its sleep.
 */
#include <linux/futex.h>

#include "tests/vm/ring.h"

#define CPU 1

/* Where the client can be stopped, the nth time it gets there. */
enum place { BEFORE_MAP, BEFORE_LOOK };

struct client {
	int fd;
	unsigned char *base;
	uint64_t capacity, read_pos, last_seq, generation;
	bool found;
};

static struct {
	enum place place;
	int times;
} stop_at;

/* The event that the client waits for; the rings have those of earlier cases. */
static const char *wanted;

static void pass(enum place place)
{
	if (stop_at.place == place && --stop_at.times == 0)
		raise(SIGSTOP);
}

static struct kmes_producer_page *page_of(const struct client *c)
{
	return (void *)c->base;
}

/* Attach and map, then load the generation. */
static void client_attach(struct client *c)
{
	c->fd = ring_attach(CPU, &c->capacity, NULL);
	check(c->fd >= 0);
	pass(BEFORE_MAP);
	c->base = mmap(NULL, KMES_MAPPING_SIZE(c->capacity), PROT_READ | PROT_WRITE,
		       MAP_SHARED, c->fd, 0);
	check(c->base != MAP_FAILED);
	pass(BEFORE_LOOK);
	check(!memcmp(page_of(c)->magic, KMES_MAGIC, KMES_MAGIC_SIZE));
	check_eq(page_of(c)->version, KMES_RING_VERSION);
	c->generation = kmes_load_acquire(&page_of(c)->generation);
	c->read_pos = kmes_load_acquire(&page_of(c)->tail_pos);
}

static void client_process(struct client *c, const unsigned char *at)
{
	struct kmes_event_header h;

	memcpy(&h, at, sizeof(h));
	c->read_pos += h.event_size;
	if (h.sequence <= c->last_seq)
		return;
	c->last_seq = h.sequence;
	c->found |= h.type_len == strlen(wanted) &&
		    !memcmp(at + KMES_HEADER_SIZE, wanted, h.type_len);
}

/* The writer is never a lap ahead here, so events are read in place. */
static void client_drain(struct client *c)
{
	while (kmes_load_acquire(&page_of(c)->write_pos) != c->read_pos) {
		check(kmes_load_acquire(&page_of(c)->tail_pos) <= c->read_pos);
		client_process(c, c->base + KMES_DATA_OFFSET +
					  (c->read_pos & (c->capacity - 1)));
	}
}

static void client_wait(struct client *c)
{
	uint8_t *need_wake = c->base + KMES_CONSUMER_OFFSET;
	uint32_t *word = &page_of(c)->futex_counter, seen;

	kmes_store_release(need_wake, 1);
	kmes_fence_full();
	seen = kmes_load_acquire(word);
	if (kmes_load_acquire(&page_of(c)->write_pos) == c->read_pos)
		syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
	kmes_store_relaxed(need_wake, 0);
}

static void client_follow(struct client *c)
{
	struct client old = *c;

	client_drain(&old);
	c->last_seq = old.last_seq;
	c->found |= old.found;
	client_attach(c);
	munmap(old.base, KMES_MAPPING_SIZE(old.capacity));
	close(old.fd);
}

/* Returns when it has processed the event that it waits for. */
static void client_run(void)
{
	struct client c = { .fd = -1 };

	client_attach(&c);
	for (;;) {
		client_drain(&c);
		if (c.found)
			_exit(0);
		if (kmes_load_acquire(&page_of(&c)->generation) != c.generation)
			client_follow(&c);
		else
			client_wait(&c);
	}
}

static pid_t client_start(enum place place, int times)
{
	pid_t pid;

	stop_at.place = place;
	stop_at.times = times;
	pid = fork_bound();
	if (!pid)
		client_run();
	return pid;
}

static void swap(void)
{
	check_eq(config_set("buffer_capacity",
			    counter(CPU, "capacity") == 65536 ? 131072 : 65536),
		 0);
}

static void wait_until_stopped(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, WUNTRACED) == pid);
	check(WIFSTOPPED(status));
}

/* Replaces both rings while the client is stopped; then it has to find the event. */
static void swap_twice_and_go_on(pid_t pid, unsigned int ms)
{
	uint64_t start;
	int status;

	wait_until_stopped(pid);
	swap();
	swap();
	sleep_ms(ms);
	kill(pid, SIGCONT);
	sleep_ms(100);
	pin(CPU);
	check_eq(emit(wanted), 0);
	/* Steps are 1, 3, 7, 15 and 31 s after the replacement. */
	start = now_ns(CLOCK_MONOTONIC);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (ms_since(start) > 40000) {
			end_child(pid);
			fail("the client still waits on a dead ring");
		}
		sleep_ms(20);
	}
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	printf("# found after %llu ms\n", (unsigned long long)ms_since(start));
}

static void stopped_before_map(void)
{
	wanted = "wanted.map";
	swap_twice_and_go_on(client_start(BEFORE_MAP, 1), 0);
}

static void stopped_before_look(void)
{
	wanted = "wanted.look";
	swap_twice_and_go_on(client_start(BEFORE_LOOK, 1), 3000);
}

/* The first replacement is detected; later ones are between attach and load. */
static void stopped_while_following(void)
{
	struct vm_ring r = ring_open(CPU);
	pid_t pid;

	wanted = "wanted.follow";
	pid = client_start(BEFORE_LOOK, 2);
	while (!kmes_load_acquire(&r.consumer->need_wake))
		sleep_ms(1);
	swap();
	ring_close(&r);
	swap_twice_and_go_on(pid, 0);
}

/* Waits until the page shows this generation; returns ms since `start`. */
static uint64_t wait_for(const struct vm_ring *r, uint64_t generation, uint64_t start)
{
	while (kmes_load_acquire(&r->producer->generation) < generation) {
		check(ms_since(start) < 60000);
		sleep_ms(5);
	}
	return ms_since(start);
}

static void steps(void)
{
	static const unsigned int due_ms[] = { 1000, 3000, 7000 };
	struct vm_ring r = ring_open(CPU);
	uint64_t start = now_ns(CLOCK_MONOTONIC);
	uint32_t wakes;

	swap();
	check(r.producer->generation > r.generation);
	for (int i = 0; i < 3; i++) {
		wakes = r.producer->futex_counter;
		/* The first time, there is no sleeper. */
		r.consumer->need_wake = i != 0;
		/* Never too early. */
		check(wait_for(&r, r.generation + 2 + i, start) >= due_ms[i] - 40);
		while (i && kmes_load_acquire(&r.producer->futex_counter) == wakes)
			sleep_ms(1);
		check_eq(r.producer->futex_counter - wakes, i != 0);
	}
	ring_close(&r);
}

static void unmapped(void)
{
	for (int i = 0; i < 4; i++) {
		struct vm_ring r = ring_open(CPU), again = ring_open(CPU);

		swap();
		ring_close(&again);
		/*
		 * The last mapping goes away before the first step, at about that time,
		 * and after it.
		 */
		sleep_ms(500u * (unsigned int)i);
		ring_close(&r);
	}
}

static const struct vm_case cases[] = {
	{ "stopped-before-map", stopped_before_map },
	{ "stopped-before-look", stopped_before_look },
	{ "stopped-while-following", stopped_while_following },
	{ "steps", steps },
	{ "unmapped", unmapped },
};

KMES_CASES(cases)
