/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * run.h - translates the native calls of a program to ioctls of the module.
 *
 * The program runs as a child with a seccomp filter that sends exactly the three native
 * calls, its own and those of all descendants, to a listener; every other call passes at
 * once. The calling thread sleeps until kmes-run answers.
 */
#ifndef RUN_H
#define RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Exit statuses of env(1). */
enum { RUN_FAILED = 125, RUN_CANNOT_RUN = 126, RUN_NOT_FOUND = 127 };

/* ---- seccomp.c ---- */

/*
 * Installs the filter for the calling thread and what it becomes; a listener, or -errno:
 * -EBUSY, there is a listener already; -EINVAL, this kernel is too old (before 5.19).
 */
int run_filter_install(void);

/* ---- program.c ---- */

struct run_program {
	pid_t pid;
	int listener;
	int sock; /* a byte starts the program; its errno comes back if that fails */
};

/*
 * Forks a child that installs the filter and waits. 0, or the exit status after a
 * message.
 */
int run_program_prepare(struct run_program *program, char **argv);

/* Has the child execute the program. 0, or the exit status after a message. */
int run_program_start(struct run_program *program, const char *name);

/* ---- signals.c ---- */

/* Blocks all signals to be forwarded. A signalfd, or -1. */
int run_signals_open(void);

/* Forwards pending signals that the program has not received itself. */
void run_signals_pass(int signals, pid_t pid);

/*
 * If the program has stopped and is in the foreground of a terminal, stops this process
 * as well; continues the program afterwards.
 */
void run_signals_stop_with(pid_t pid);

/* ---- fds.c ---- */

/* Moves the descriptors to `first` and up, and closes all higher ones. 0 or -1. */
int run_fds_keep_only(int *const fds[], int count, int first);

/* Replaces these descriptors by /dev/null, so that their readers see the end. 0 or -1. */
int run_fds_to_null(int first, int last);

/*
 * Can a message be written to standard error without blocking? The program may have
 * filled the pipe, and calls must not wait for its reader.
 */
bool run_can_report(void);

/* ---- loop.c ---- */

/* Serves until the program ends; its status as of waitpid(2). */
int run_serve_program(const struct run_program *program, int device, int signals);

/* Forks a background process if descendants of the program remain that may make calls. */
void run_serve_survivors(int listener, int device);

/* ---- serve.c ---- */

/* Receives and answers one call, unless it was interrupted. */
void run_serve(int listener, int device);

/* ---- target.c ---- */

/*
 * The process that made a call. It is found by a thread id; only the listener knows
 * whether the id still belongs to that thread, see call.h.
 */
struct run_target {
	pid_t tid;
	int pidfd;     /* of its process */
	bool is_first; /* the thread is the process's first one */
};

/*
 * Does /proc use the listener's thread ids? Not if it is missing or belongs to another
 * pid namespace.
 */
bool run_targets_are_visible(void);

/* 0 or -errno, such as -ESRCH. */
int run_target_open(struct run_target *target, pid_t tid);
void run_target_close(struct run_target *target);

/*
 * Does this thread have the capability? The module checks the first thread, which may
 * have a capability that another has dropped; returns true for the first one, which the
 * module checks.
 */
bool run_target_has(const struct run_target *target, int capability);

/*
 * Copies exactly `len` bytes from or to its memory. 0, or -EFAULT where its own load or
 * store would fault. /proc/PID/mem is not used: it keeps referring to the same process,
 * but ignores write protection.
 */
int run_target_read(const struct run_target *target, void *to, uint64_t from, size_t len);
int run_target_write(const struct run_target *target, uint64_t to, const void *from,
		     size_t len);

/* Gathers several ranges; returns the number of bytes before the first fault. */
size_t run_target_gather(const struct run_target *target, void *to, size_t len,
			 const struct iovec *from, unsigned long count);

/*
 * Adopts the CPU affinity of the thread. An event belongs to the CPU of its emitter,
 * which may run on any of these CPUs after its call.
 */
void run_target_join(const struct run_target *target);

/* The name of a thread for messages; "?" if it has exited. */
void run_target_name(pid_t tid, char *name, size_t size);

#endif
