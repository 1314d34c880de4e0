// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* wait_group.c - a group of futexes for one futex_waitv(2), and its thread. */
#include "wait_group.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmes_order.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static void word_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void word_wait(uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void kmesp_wait_group_add(struct kmes_wait_group *g, const uint32_t *word, uint32_t value,
			  uint32_t flags)
{
	struct futex_waitv *w = &g->vec[g->len++];

	w->uaddr = (uintptr_t)word;
	w->val = value;
	w->flags = flags | FUTEX_32;
	w->__reserved = 0;
}

int kmesp_wait_group_sleep(struct kmes_wait_group *g)
{
	long r = syscall(SYS_futex_waitv, g->vec, g->len, 0, &g->deadline,
			 CLOCK_MONOTONIC);

	if (r >= 0 || errno == EAGAIN || errno == EINTR)
		return 1;
	if (errno == ENOSYS || errno == EPERM)
		return -ENOSYS;
	return 0;
}

/*
 * Sleeps one round at a time. The caller stores round and cancel with release before it
 * wakes the thread, which loads them with acquire; for done and the bell, the thread
 * stores and the caller loads.
 */
static void *group_main(void *arg)
{
	struct kmes_wait_group *g = arg;
	uint32_t last = 0;

	for (;;) {
		uint32_t round = kmes_load_acquire(&g->round);

		if (kmes_load_acquire(&g->stop))
			return NULL;
		if (round == last) {
			word_wait(&g->round, round);
			continue;
		}
		last = round;
		if (kmesp_wait_group_sleep(g) == 1) {
			/* not ring memory */
			__atomic_fetch_add(g->bell, 1, __ATOMIC_RELEASE);
			word_wake(g->bell);
		}
		kmes_store_release(&g->done, round);
		word_wake(&g->done);
	}
}

int kmesp_wait_group_start(struct kmes_wait_group *g, uint32_t *bell)
{
	sigset_t all, old;
	int rc;

	g->bell = bell;
	/* Signals go to the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&g->thread, NULL, group_main, g);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

void kmesp_wait_group_stop(struct kmes_wait_group *g)
{
	kmes_store_release(&g->stop, 1);
	kmes_store_release(&g->round, g->round + 1);
	word_wake(&g->round);
	pthread_join(g->thread, NULL);
}

void kmesp_wait_group_begin(struct kmes_wait_group *g)
{
	kmesp_wait_group_add(g, &g->cancel, kmes_load_relaxed(&g->cancel),
			     FUTEX_PRIVATE_FLAG);
	kmes_store_release(&g->round, g->round + 1);
	word_wake(&g->round);
}

void kmesp_wait_group_end(struct kmes_wait_group *g)
{
	uint32_t done;

	kmes_store_release(&g->cancel, g->round);
	word_wake(&g->cancel);
	while ((done = kmes_load_acquire(&g->done)) != g->round)
		word_wait(&g->done, done);
}
