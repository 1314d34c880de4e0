/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * wait_group.h - sleeping on many futexes, in groups of as many as one futex_waitv(2)
 * accepts; private to the library.
 *
 * The caller sleeps on the first group. Each further group has a thread that sleeps on
 * it and increments the bell, which is one more futex of the first group. All futexes
 * except those of the rings are private to the process.
 */
#ifndef KMES_WAIT_GROUP_H
#define KMES_WAIT_GROUP_H
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The limit of futex_waitv(2), and of rings in a group that also has a control futex. */
#define KMES_WAITV_MAX 128u
#define KMES_GROUP_RINGS (KMES_WAITV_MAX - 1)

struct kmes_wait_group {
	struct futex_waitv vec[KMES_WAITV_MAX];
	unsigned int len;
	struct timespec deadline; /* CLOCK_MONOTONIC */
	pthread_t thread;
	uint32_t *bell;	 /* incremented by the thread when it was woken */
	uint32_t round;	 /* set by the caller: sleep for this round */
	uint32_t cancel; /* set by the caller: stop sleeping; also in vec */
	uint32_t done;	 /* set by the thread: finished this round */
	uint32_t stop;
};

/* Adds a futex to a group; `flags` as in futex_waitv(2). */
void kmesp_wait_group_add(struct kmes_wait_group *g, const uint32_t *word, uint32_t value,
			  uint32_t flags);

/*
 * Sleeps on the group's futexes until its deadline: 1: woken or interrupted, 0: timed
 * out, -ENOSYS: the kernel has no futex_waitv, or a container denies it.
 */
int kmesp_wait_group_sleep(struct kmes_wait_group *g);

/* A group's thread: start and stop it; begin a round of sleeping, and end it. */
int kmesp_wait_group_start(struct kmes_wait_group *g, uint32_t *bell);
void kmesp_wait_group_stop(struct kmes_wait_group *g);
void kmesp_wait_group_begin(struct kmes_wait_group *g);
void kmesp_wait_group_end(struct kmes_wait_group *g);

#endif
