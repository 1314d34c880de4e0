/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* sleep.h - consumers that sleep on a ring's futex, and waiting until they do. */
#ifndef KMES_VM_SLEEP_H
#define KMES_VM_SLEEP_H

#include <linux/futex.h>

#include "tests/vm/ring.h"

/* Sleeps on a ring as a consumer does; returns 0 when woken, else errno. */
int sleep_on(struct vm_ring *r, int op, unsigned int seconds);

/* Waits until a process has set need_wake and sleeps. */
void wait_asleep(pid_t pid, const struct vm_ring *r);

/* Waits for a child to exit; returns its status. */
int end_of(pid_t pid);

#endif
