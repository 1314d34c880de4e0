// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* fork_cases.c - inherited mappings: consumers that attach and then fork. */
#include "tests/vm/follow.h"
#include "tests/vm/sleep.h"

/* What a consumer maps before it forks. */
static struct vm_ring ring;

/* The child can read everything and store only to the consumer page, like its parent. */
static void look_and_store(void)
{
	unsigned char *const data = ring.base + KMES_DATA_OFFSET;
	unsigned char *const second = data + ring.capacity;
	unsigned char *const read_only[] = {
		ring.base, ring.base + KMES_CONSUMER_OFFSET - 1, data, second - 1,
		second,	   second + ring.capacity - 1,
	};

	signal(SIGSEGV, SIG_DFL);
	check(!memcmp(ring.base, "KMESRING", 8));
	check(!memcmp(data, second, ring.capacity));
	for (unsigned int i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++)
		check(store_faults(read_only[i]));
	ring.consumer->need_wake++;
}

/* Whether or not the parent has read the pages or stored to the consumer page. */
static void inherited(void)
{
	ring = ring_open(0);
	check_eq(in_child(look_and_store), 0);
	check_eq(ring.consumer->need_wake, 1);
	ring.consumer->need_wake = 2;
	look_and_store();
	for (int i = 0; i < 20; i++)
		check_eq(in_child(look_and_store), 0);
	check_eq(ring.consumer->need_wake, 23);
	/* A process can prevent it. */
	check(madvise(ring.base, KMES_MAPPING_SIZE(ring.capacity), MADV_DONTFORK) == 0);
	check_eq(in_child(look_and_store), -SIGSEGV);
	ring_close(&ring);
}

/* A child that keeps what it has inherited until it is sent a byte. */
static pid_t holder(int *hold)
{
	int fds[2];
	pid_t pid;

	check(pipe2(fds, O_CLOEXEC) == 0);
	pid = fork_bound();
	if (!pid)
		_exit(read(fds[0], fds, 1) != 1);
	close(fds[0]);
	*hold = fds[1];
	return pid;
}

/* need_wake stays set as long as the ring is mapped, also in the child only. */
static void counted(void)
{
	pid_t pids[3];
	int holds[3];

	ring = ring_open(0);
	for (int i = 0; i < 3; i++)
		pids[i] = holder(&holds[i]);
	ring.consumer->need_wake = 1;
	ring_close(&ring);
	for (int i = 0; i < 3; i++) {
		ring = ring_open(0);
		check_eq(ring.consumer->need_wake, 1);
		ring_close(&ring);
		check(write(holds[i], "x", 1) == 1);
		check_eq(end_of(pids[i]), 0);
	}
	ring = ring_open(0);
	check_eq(ring.consumer->need_wake, 0);
	ring_close(&ring);
}

/* On the futex as mapped in the child. */
static void woken(void)
{
	pid_t pid;

	ring = ring_open(1);
	pid = fork_bound();
	if (!pid)
		_exit(sleep_on(&ring, FUTEX_WAIT, 60));
	wait_asleep(pid, &ring);
	pin(1);
	check_eq(emit("fork.wake"), 0);
	check_eq(end_of(pid), 0);
	ring_close(&ring);
}

/* Where a follower stops: at this event, after this number of replacements. */
struct goal {
	uint64_t last, switches;
};

static void follow_to(struct follower *f, struct goal goal)
{
	uint64_t start = now_ns(CLOCK_MONOTONIC);

	do {
		follow(f);
		check(ms_since(start) < 60000);
	} while (f->last < goal.last || f->switches < goal.switches);
	check_eq(f->last, goal.last);
	check_eq(f->switches, goal.switches);
	check_eq(f->lost, 0);
}

/* The child continues from where its parent was at the fork. */
static pid_t follow_in_child(struct follower *f, int goals[2], int done[2])
{
	struct goal goal;
	pid_t pid;

	check(pipe2(goals, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
	pid = fork_bound();
	if (pid)
		return pid;
	close(goals[1]);
	while (read(goals[0], &goal, sizeof(goal)) == sizeof(goal)) {
		follow_to(f, goal);
		check(write(done[1], "x", 1) == 1);
	}
	_exit(0);
}

/* Three times 50 events and the module's own about two replacements. */
static void follow_in_both(struct follower *f)
{
	static const uint64_t capacities[] = { 1048576, 4194304 };
	int goals[2], done[2];
	pid_t pid = follow_in_child(f, goals, done);
	char byte;

	close(goals[0]);
	close(done[1]);
	for (uint64_t i = 0;; i++) {
		struct goal goal = { .switches = i };

		for (int n = 0; n < 50; n++)
			check_eq(emit("fork.follow"), 0);
		goal.last = counter(1, "emitted_events");
		check(write(goals[1], &goal, sizeof(goal)) == sizeof(goal));
		follow_to(f, goal);
		check_eq(read(done[0], &byte, 1), 1);
		if (i == 2)
			break;
		check_eq(config_set("buffer_capacity", capacities[i]), 0);
	}
	close(goals[1]);
	check_eq(end_of(pid), 0);
}

static struct follower follower_of_1(void)
{
	struct follower f;

	pin(1);
	f = follow_start(1);
	check_eq(emit("fork.before"), 0);
	follow(&f);
	return f;
}

static void followed(void)
{
	struct follower f = follower_of_1();

	follow_in_both(&f);
}

/* Attaches, becomes a daemon and continues; creates a file on success. */
static void daemonized(void)
{
	struct follower f = follower_of_1();
	int fd;

	check(daemon(1, 1) == 0);
	follow_in_both(&f);
	fd = creat("followed", 0600);
	check(fd >= 0);
	close(fd);
}

static const struct vm_case cases[] = {
	{ "inherited", inherited }, { "counted", counted },	  { "woken", woken },
	{ "followed", followed },   { "daemonized", daemonized },
};

KMES_CASES(cases)
