// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sleep.c - sleeping on a ring. */
#include "tests/vm/sleep.h"

int sleep_on(struct vm_ring *r, int op, unsigned int seconds)
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

void wait_asleep(pid_t pid, const struct vm_ring *r)
{
	for (int i = 0; i < 4000; i++) {
		if (kmes_load_acquire(&r->consumer->need_wake) && task_is(pid, 'S'))
			return;
		sleep_ms(5);
	}
	fail("process %d never sleeps", pid);
}

int end_of(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}
