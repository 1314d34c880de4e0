/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * case.h - named test cases that end at the first failed check, and helpers for files and
 * processes.
 *
 * A program is a table of cases and KMES_CASES(table). `PROGRAM NAME...` runs those
 * named.
 */
#ifndef KMES_VM_CASE_H
#define KMES_VM_CASE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct vm_case {
	const char *name;
	void (*run)(void);
};

/* Prints a message and ends the process with status 1. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define check(condition)                                                                 \
	do {                                                                             \
		if (!(condition))                                                        \
			fail("%s:%d: check failed: %s (errno %d)", __FILE__, __LINE__,   \
			     #condition, errno);                                         \
	} while (0)

#define check_eq(actual, expected)                                                       \
	do {                                                                             \
		long long a_ = (long long)(actual), e_ = (long long)(expected);          \
		if (a_ != e_)                                                            \
			fail("%s:%d: %s is %lld, expected %lld (errno %d)", __FILE__,    \
			     __LINE__, #actual, a_, e_, errno);                          \
	} while (0)

/* The call fails with this error. */
#define check_errno(call, expected)                                                      \
	do {                                                                             \
		errno = 0;                                                               \
		long long r_ = (long long)(call);                                        \
		if (r_ != -1 || errno != (expected))                                     \
			fail("%s:%d: %s returned %lld, errno %d; expected errno %d",     \
			     __FILE__, __LINE__, #call, r_, errno, (expected));          \
	} while (0)

/* Runs the cases named in a NULL-terminated array; returns 0. */
int run_cases(const struct vm_case *cases, size_t count, char **names);

#define KMES_CASES(table)                                                                \
	int main(int argc, char **argv)                                                  \
	{                                                                                \
		return argc < 2 ||                                                       \
		       run_cases(table, sizeof(table) / sizeof(table[0]), argv + 1);     \
	}

#define SYSFS "/sys/kernel/kmes/"

/* Entries of a directory, "." and ".." included. */
int count_entries(const char *path);

/* Writes a string to a file; 0 or -errno. */
int file_write(const char *path, const char *text);

/* The decimal number in a file. */
uint64_t file_number(const char *path);

/* Writes a value to its file in sysfs; 0 or -errno. */
int config_set(const char *name, uint64_t value);

/* A counter of a CPU, from sysfs. */
uint64_t counter(unsigned int cpu, const char *name);

/* Moves the calling thread to this CPU for good. */
void pin(unsigned int cpu);

#define CAP(name) (1ull << CAP_##name)

/* Drops these capabilities from the effective, permitted and inheritable sets. */
void drop_capabilities(uint64_t mask);

/* Forks a child that is killed when this process ends. */
pid_t fork_bound(void);

/* The same; the child runs `become` and pauses. Returns when it has. */
pid_t fork_paused(void (*become)(void));

/* Kills and reaps a child of fork_bound() or fork_paused(). */
void end_child(pid_t pid);

int pidfd_of(pid_t pid);

/* Whether a process or thread is in this state, a letter as in /proc/PID/stat. */
bool task_is(pid_t tid, char state);

/* A number in /proc/PID/status of the parent process; `key` is, e.g., "VmHWM:". */
long parent_status(const char *key);

/* Runs a function in a child; returns its exit status, or -signal. */
int in_child(void (*run)(void));

/* Whether a store to `p` ends the process with SIGSEGV. */
bool store_faults(volatile unsigned char *p);

uint64_t now_ns(clockid_t clock);

/* Milliseconds since this time of CLOCK_MONOTONIC. */
uint64_t ms_since(uint64_t start_ns);

void sleep_ms(unsigned int ms);

#endif
