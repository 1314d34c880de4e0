/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* capture_stat.h - what a capture holds. */
#ifndef STAT_CAPTURE_H
#define STAT_CAPTURE_H

#include "stat.h"

struct capture_stat {
	uint64_t events, bytes, lost;
	uint64_t first_ns, last_ns; /* time stamps, valid with events */
	uint32_t slots;		    /* the most that a header tells; 0: not known */
	bool is_truncated;	    /* or damaged; a message said why */
	struct stat_types types;
};

/* Reads FILE ("-": standard input). 0 or -errno after a message. */
int capture_stat_read(struct capture_stat *cs, const char *file,
		      const struct kmes_cpus *cpus);

void capture_stat_print(struct cli_out *out, const struct capture_stat *cs);
void capture_stat_print_json(struct cli_out *out, const struct capture_stat *cs);

#endif
