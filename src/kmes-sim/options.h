/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* options.h - the command line of kmes-sim, and the start as a daemon. */
#ifndef KMES_SIM_OPTIONS_H
#define KMES_SIM_OPTIONS_H

#include "sim.h"

/* Parses the command line; exits 2 on a usage error, 0 after --help. */
void sim_options_parse(struct sim_options *options, int argc, char **argv);

/*
 * Continues in a child that is detached from the terminal. The parent exits with 0 when
 * the child is ready, else with its status. Returns the argument of sim_daemon_ready().
 */
int sim_daemon_start(void);

/*
 * Releases the waiting parent, standard input and standard error; does nothing for -1.
 * False: the parent was killed meanwhile, so the daemon must not continue.
 */
bool sim_daemon_ready(int ready_fd);

/* --test: sends the action to the simulator at `socket`. The exit status. */
int sim_poke(const char *socket, const char *action);

#endif
