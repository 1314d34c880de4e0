/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_instance.h - a private instance of the kernel's tracing: its directory in
 * tracefs, the files in it, and stale instances of processes that have exited.
 *
 * A buffer can have one consumer only, so each source has an instance, named for its
 * process: "kmes-PID-STARTTIME", the start time in clock ticks since boot.
 */
#ifndef KMES_TRACE_INSTANCE_H
#define KMES_TRACE_INSTANCE_H

#include "kmes.h"

#define KMES_TRACE_PATH 256

/* Finds where tracefs is mounted; `root` has KMES_TRACE_PATH bytes. 0 or -errno. */
int kmesp_trace_root(char *root, struct kmes_error *err);

/* Reads a complete file, terminated; the caller frees it. 0 or -errno. */
int kmesp_trace_read(const char *folder, const char *name, char **text, size_t *len);

/* Writes a string to a file. 0 or -errno. */
int kmesp_trace_write(const char *folder, const char *name, const char *text);

/* One more than the highest CPU with a buffer, or -errno. */
int kmesp_trace_cpus(const char *folder);

/* Removes instances of processes that have exited, unless they are open elsewhere. */
void kmesp_trace_sweep(const char *root);

/*
 * Creates this process's instance; `path` has KMES_TRACE_PATH bytes. A descriptor or
 * -errno. While the descriptor is open the instance cannot be removed as stale by a
 * process that does not see ours, as from another pid namespace.
 */
int kmesp_trace_instance_make(const char *root, char *path, struct kmes_error *err);

/*
 * Closes the descriptor and removes the instance; nothing else of it is mapped or open.
 */
int kmesp_trace_instance_remove(const char *path, int fd);

#endif
