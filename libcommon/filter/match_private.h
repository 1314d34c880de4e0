/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* match_private.h - a parsed condition, for the walk over payloads. */
#ifndef KMES_MATCH_PRIVATE_H
#define KMES_MATCH_PRIVATE_H
#include "base/glob.h"
#include "filter/match.h"
#include "filter/number.h"
#include "payload.h"
#include "print/value.h"

enum match_op {
	OP_PRESENT,
	OP_EQUAL,
	OP_UNEQUAL,
	OP_LESS,
	OP_LESS_EQUAL,
	OP_GREATER,
	OP_GREATER_EQUAL,
};

/* One key of the path. */
struct step {
	const char *key;
	uint32_t len;
	uint32_t index; /* of a list; UINT32_MAX: the key is not an index */
	bool any;	/* a lone star */
};

struct kmes_match {
	enum match_op op;
	struct kmes_glob *glob;
	struct kmes_number number;
	struct kmes_outbuf text; /* of the current value */
	uint32_t count;		 /* of steps, at least 1 */
	char *keys;		 /* storage of the steps' keys */
	struct step steps[KMES_MP_DEPTH_MAX];
};

#endif
