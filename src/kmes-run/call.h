/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * call.h - one native call that waits to be answered.
 *
 * Its thread sleeps in the call, so its memory and its id stay what they are as long as
 * the listener says that the call waits. A death signal or an execve(2) of another thread
 * ends it at any moment, and then both may become another's. So the listener is asked
 * after every look into the memory, before anything is done with what was read, and right
 * before every store. What is left is the moment between that answer and the store, in
 * which all ids would have to come round: there is no store that goes by a descriptor and
 * faults where the process's own would.
 */
#ifndef RUN_CALL_H
#define RUN_CALL_H
#include <linux/seccomp.h>

#include "kmes_abi.h"
#include "run.h"

struct run_call {
	int listener, device;
	const struct seccomp_notif *notif;
	struct run_target target;
};

/* What is answered to a call that nobody waits for any more: nothing arrives. */
#define RUN_GONE (-ESRCH)

/* ---- serve.c ---- */

/* One of the module's calls for the program: its result, or -errno. */
int run_call_device(const struct run_call *c, unsigned long request, void *arg);

/* Stores into the program's memory: 0, -EFAULT, RUN_GONE. */
int run_call_store(const struct run_call *c, uint64_t to, const void *from, size_t len);

/* ---- emit.c: what to answer ---- */

int run_call_emit(const struct run_call *c);
int run_call_batch(const struct run_call *c);

#endif
