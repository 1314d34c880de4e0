/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* tally.h - counts events read, printed and lost; prints the summary. */
#ifndef DUMP_TALLY_H
#define DUMP_TALLY_H

#include "kmes.h"

struct dump_tally {
	uint64_t read;
	uint64_t printed;
	uint64_t lost;
	uint64_t *lost_by_cpu; /* by CPU id */
};

/* 0 or -ENOMEM. */
int dump_tally_init(struct dump_tally *tally);
void dump_tally_fini(struct dump_tally *tally);

void dump_tally_lose(struct dump_tally *tally, const struct kmes_loss *loss);

/* Prints the summary to stderr; with a filter, also the number of events read. */
void dump_tally_print(const struct dump_tally *tally, bool has_filter);

#endif
