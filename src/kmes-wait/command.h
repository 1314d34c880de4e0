/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* command.h - the COMMAND that runs during the wait. */
#ifndef WAIT_COMMAND_H
#define WAIT_COMMAND_H
#include <stdbool.h>
#include <sys/types.h>

struct wait_command {
	pid_t pid; /* 0: none */
	bool has_ended;
	int status; /* of waitpid(2), once it has ended */
};

/*
 * Starts it with the signal dispositions that this program was started with. 0, or after
 * a message the exit status for the failure (126, 127 or 1).
 */
int wait_command_start(struct wait_command *command, char **argv);

/* Whether it has ended; makes a system call only after SIGCHLD. */
bool wait_command_has_ended(struct wait_command *command);

/* Whether it has ended with a status other than 0. */
bool wait_command_has_failed(const struct wait_command *command);

/* Forwards a signal while it runs. */
void wait_command_signal(const struct wait_command *command, int sig);

#endif
