/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * run.h - how the native calls of a program become calls of the module.
 *
 * The program runs as a child behind a seccomp filter that hands exactly the three
 * native calls, of it and all its descendants, to a listener; every other call passes at
 * once. Whoever made the call sleeps until it is answered here.
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

/* ---- filter.c ---- */

/*
 * Installs the filter for the calling thread and what it becomes; a listener, or -errno:
 * -EBUSY, there is a listener already; -EINVAL, this kernel is too old (before 5.19).
 */
int run_filter_install(void);

/* ---- program.c ---- */

struct run_program {
	pid_t pid;
	int listener;
	int sock; /* a byte lets it begin; its errno comes back if it cannot be run */
};

/*
 * Forks a child that waits behind the filter. 0, or the exit status after a message.
 */
int run_program_prepare(struct run_program *program, char **argv);

/* Lets it become the program: 0, or the exit status after a message. */
int run_program_start(struct run_program *program, const char *name);

/* ---- signals.c ---- */

/* Holds back what is sent to this process; a descriptor that tells of it, or -1. */
int run_signals_open(void);

/* Sends on what was sent to this process and has not reached the program. */
void run_signals_pass(int signals, pid_t pid);

/*
 * Stops this process as the program was stopped, when both are what the terminal's user
 * sees; afterwards the program goes on, too.
 */
void run_signals_stop_with(pid_t pid);

/* ---- fds.c ---- */

/* Moves descriptors to `first` and on, and closes all others behind; 0 or -1. */
int run_fds_keep_only(int *const fds[], int count, int first);

/* Puts /dev/null into these places: whoever waits for their end waits no longer; 0 or -1. */
int run_fds_to_null(int first, int last);

/*
 * Whether a message on standard error can be written at once. The program may have filled
 * that, and nobody's calls are to wait until somebody reads it.
 */
bool run_can_complain(void);

/* ---- loop.c ---- */

/* Serves until the program ends; its status as of waitpid(2). */
int run_serve_program(const struct run_program *program, int device, int signals);

/* Leaves a process behind if the program has left some that may make calls. */
void run_serve_survivors(int listener, int device);

/* ---- serve.c ---- */

/* Answers one call that waits at the listener, if it still does. */
void run_serve(int listener, int device);

/* ---- target.c ---- */

/*
 * The process that made a call: its memory, and a descriptor that names it. All of it is
 * found by a thread's id; only the listener can tell whether that is still the same
 * thread's, see call.h.
 */
struct run_target {
	pid_t tid;
	int pidfd;     /* of its process */
	bool is_first; /* the thread is the process's first one */
};

/*
 * Whether /proc names threads as the listener does: not where it is missing, or is that of
 * another pid namespace.
 */
bool run_targets_are_visible(void);

/* 0 or -errno, such as -ESRCH. */
int run_target_open(struct run_target *target, pid_t tid);
void run_target_close(struct run_target *target);

/*
 * Whether a thread has a capability by itself. The module asks the first one, which may
 * have kept what others gave up; true for the first one, as the module will tell.
 */
bool run_target_has(const struct run_target *target, int capability);

/*
 * Copies exactly `len` bytes from or to its memory: 0 or -EFAULT, as its own load or store
 * would fault. /proc/PID/mem would stay the same process's, but stores also where the
 * process may not.
 */
int run_target_read(const struct run_target *target, void *to, uint64_t from, size_t len);
int run_target_write(const struct run_target *target, uint64_t to, const void *from,
		     size_t len);

/*
 * The same from several places, one after the other; how many bytes there were before the
 * first fault.
 */
size_t run_target_gather(const struct run_target *target, void *to, size_t len,
			 const struct iovec *from, unsigned long count);

/*
 * Moves us to where the thread may run. An event belongs to the CPU that its emitter runs
 * on, and while that sleeps in its call it might be moved to any of these.
 */
void run_target_join(const struct run_target *target);

/* What a thread calls itself, for messages; "?" when it is gone. */
void run_target_name(pid_t tid, char *name, size_t size);

#endif
