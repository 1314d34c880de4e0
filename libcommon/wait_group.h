/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * wait_group.h - sleeping on many futexes: groups of what one system call takes; private
 * to the library.
 *
 * The first group is the caller's own. A further one has a thread that sleeps for it and
 * rings a bell, which is one more futex of the first group. All words but those of the
 * rings are private to the process.
 */
#ifndef KMES_WAIT_GROUP_H
#define KMES_WAIT_GROUP_H
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What futex_waitv(2) takes, and how many rings of that leave room for a control word. */
#define KMES_WAITV_MAX 128u
#define KMES_GROUP_RINGS (KMES_WAITV_MAX - 1)

struct kmes_wait_group {
	struct futex_waitv vec[KMES_WAITV_MAX];
	unsigned int len;
	struct timespec deadline; /* CLOCK_MONOTONIC */
	pthread_t thread;
	uint32_t *bell;	 /* rung by the thread when it wakes */
	uint32_t round;	 /* set by the caller: sleep for this round */
	uint32_t cancel; /* set by the caller: stop sleeping; in the thread's own vec */
	uint32_t done;	 /* set by the thread: out of this round */
	uint32_t stop;
};

/* Adds a futex to a group; `flags` as in futex_waitv(2). */
void kmesp_wait_group_add(struct kmes_wait_group *g, const uint32_t *word, uint32_t value,
			  uint32_t flags);

/*
 * Sleeps on the group's futexes until its deadline: 1 woken or interrupted, 0 time-out,
 * -ENOSYS when the kernel (or a container) has no futex_waitv.
 */
int kmesp_wait_group_sleep(struct kmes_wait_group *g);

/* A group's thread: start and stop it, let it sleep for a round, call it back. */
int kmesp_wait_group_start(struct kmes_wait_group *g, uint32_t *bell);
void kmesp_wait_group_stop(struct kmes_wait_group *g);
void kmesp_wait_group_begin(struct kmes_wait_group *g);
void kmesp_wait_group_end(struct kmes_wait_group *g);

#endif
