/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* process.h - what distinguishes a process from a later one with the same id. */
#ifndef KMES_PROCESS_H
#define KMES_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* The start time of a process in clock ticks since boot. 0, or -ESRCH: unknown. */
int kmesp_process_start(pid_t pid, uint64_t *ticks);

#endif
