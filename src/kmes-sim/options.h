/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* options.h - what can be said on the command line of kmes-sim, and the daemon's start. */
#ifndef KMES_SIM_OPTIONS_H
#define KMES_SIM_OPTIONS_H

#include "sim.h"

/* Fills `options` from the command line; exits 2 on a wrong one, 0 after a help text. */
void sim_options_parse(struct sim_options *options, int argc, char **argv);

/*
 * Goes on in a child, detached from the terminal. The parent waits and exits: 0 when the
 * child is ready, else with the child's status. Returns what sim_daemon_ready takes.
 */
int sim_daemon_start(void);

/*
 * Lets the waiting parent go, and standard input and error too. Nothing at -1. False: the
 * parent was ended meanwhile, and nobody knows of us.
 */
bool sim_daemon_ready(int ready_fd);

/* --test: makes the simulator at `socket` do what `action` says; an exit status. */
int sim_poke(const char *socket, const char *action);

#endif
