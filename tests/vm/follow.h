/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* follow.h - a consumer of one CPU's rings that accounts for every event. */
#ifndef KMES_VM_FOLLOW_H
#define KMES_VM_FOLLOW_H

#include "tests/vm/ring.h"

struct follower {
	struct vm_ring ring;
	uint32_t cpu;
	uint64_t pos;
	uint64_t last;	    /* sequence of the last event */
	uint64_t last_here; /* and of the last one read from this ring; 0: none */
	bool lapped;	    /* since then */
	uint64_t seen, lost;
	uint64_t switches; /* to a new ring */
	unsigned char *buf;
};

/* Follows a CPU's ring from its newest event on. */
struct follower follow_start(uint32_t cpu);

/* Reads what there is and, if the ring has been replaced, goes on to the new one. */
void follow(struct follower *f);

/* Reads until the current ring is empty; there are no emitters any more. */
void follow_finish(struct follower *f);

#endif
