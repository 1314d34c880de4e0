/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_instance.h - an instance of the kernel's tracing of our own: its folder under
 * tracefs, the files in it, and what dead processes left behind; private to the library.
 *
 * A buffer can have one consumer only, so each source has an instance, whose name tells
 * the process: "kmes-PID-STARTTIME", the start time in the kernel's ticks since boot.
 */
#ifndef KMES_TRACE_INSTANCE_H
#define KMES_TRACE_INSTANCE_H

#include "kmes.h"

#define KMES_TRACE_PATH 256

/* Finds where tracefs is mounted; `root` has KMES_TRACE_PATH bytes. 0 or -errno. */
int kmesp_trace_root(char *root, struct kmes_error *err);

/* A file's whole text, terminated, to be freed. 0 or -errno. */
int kmesp_trace_read(const char *folder, const char *name, char **text, size_t *len);

/* Writes one text into a file. 0 or -errno. */
int kmesp_trace_write(const char *folder, const char *name, const char *text);

/* One more than the highest CPU that has a buffer in a folder, or -errno. */
int kmesp_trace_cpus(const char *folder);

/*
 * Removes the instances of processes that are no more; those of running ones, and those
 * that somebody has open, stay.
 */
void kmesp_trace_sweep(const char *root);

/*
 * Makes this process's instance; `path` has KMES_TRACE_PATH bytes. A descriptor or -errno:
 * while it is open nobody takes the instance for a left-over, who may not see our process
 * from where he is.
 */
int kmesp_trace_instance_make(const char *root, char *path, struct kmes_error *err);

/* Closes the descriptor and removes the instance, of which nothing else is mapped or open. */
int kmesp_trace_instance_remove(const char *path, int fd);

#endif
