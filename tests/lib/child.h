/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * child.h - parts of a unit test that exit, or catch signals, in a child process.
 *
 * Its stderr is a socket that preserves the boundaries of writes.
 */
#ifndef KMES_TESTS_CHILD_H
#define KMES_TESTS_CHILD_H

#include <sys/types.h>

#define CHILD_MESSAGES 4

/* A child's status and messages. */
struct child_result {
	int status; /* of waitpid */
	int messages;
	char message[CHILD_MESSAGES][8192];
};

/*
 * Runs the body in a child, which exits with 0 if the body returns; `*err` is its stderr.
 */
pid_t child_start(void (*body)(void *arg), void *arg, int *err);

/* Waits for the end of the child. */
void child_end(pid_t pid, int err, struct child_result *result);

/* Both. */
struct child_result child_run(void (*body)(void *arg), void *arg);

/* The child has exited, with this status. */
void child_assert_exit(const struct child_result *result, int status);

/* For a body: starts as a tool named kmes-test, without options. */
void child_begin_tool(void);

#endif
