/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * call.h - one native call that waits for its answer.
 *
 * The calling thread sleeps in the call, so its id and memory are its own for as long as
 * the listener reports that the call waits. A fatal signal or an execve(2) of another
 * thread ends the call at any time, after which the id may be reused. So the listener is
 * asked after every read of the memory, before the data is used, and immediately before
 * every store. A window remains between that answer and the store, in which all process
 * ids would have to wrap: there is no store that takes a descriptor and faults where the
 * process itself would.
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

/* The call no longer waits; an answer would not arrive. */
#define RUN_GONE (-ESRCH)

/* An ioctl of the module on behalf of the program: its result, or -errno. */
int run_call_device(const struct run_call *c, unsigned long request, void *arg);

/* Stores to the program's memory: 0, -EFAULT or RUN_GONE. */
int run_call_store(const struct run_call *c, uint64_t to, const void *from, size_t len);

/* Duplicates a descriptor into the program; returns its number there, or -errno. */
int run_call_add_fd(const struct run_call *c, int fd);

void run_call_answer(int listener, struct seccomp_notif_resp *resp);

#endif
