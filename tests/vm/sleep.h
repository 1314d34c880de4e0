/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* sleep.h - consumers that sleep on a ring's futex word, and whoever waits for them. */
#ifndef KMES_VM_SLEEP_H
#define KMES_VM_SLEEP_H

#include "tests/vm/case.h"

/* Sleeps on a ring as a consumer does; 0 when woken, else the errno. */
static inline int sleep_on(struct vm_ring *r, int op, unsigned int seconds)
{
	struct timespec limit = { seconds, 0 };
	uint32_t word;

	kmes_store_release(&r->consumer->need_wake, 1);
	kmes_fence_full();
	word = kmes_load_acquire(&r->producer->futex_counter);
	return syscall(SYS_futex, &r->producer->futex_counter, op, word, &limit, NULL, 0)
		       ? errno
		       : 0;
}

/* Waits until a process sleeps on a ring; it sets need_wake last before that. */
static inline void wait_asleep(pid_t pid, const struct vm_ring *r)
{
	for (int i = 0; i < 4000; i++) {
		if (kmes_load_acquire(&r->consumer->need_wake) && task_is(pid, 'S'))
			return;
		sleep_ms(5);
	}
	fail("process %d never sleeps", pid);
}

/* Waits for the end of a process that exits; its status. */
static inline int end_of(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
