/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * match.h - one condition on a field of the payload, such as `user.name=ali*`.
 *
 *	PATH                  the field is there
 *	PATH=GLOB             its text matches (glob.h); PATH!=GLOB: it is there and does not
 *	PATH<N  <=  >  >=     it is a number and compares so, by exact value
 *
 * PATH is keys separated by dots; a number is also the index of a list, a lone `*` any one
 * key or index. A backslash takes an operator, a dot, a star or a backslash into a key.
 * Where several fields answer to the path, one that fulfils the condition is enough.
 */
#ifndef KMES_MATCH_H
#define KMES_MATCH_H

#include "kmes.h"

struct kmes_match;

int kmesp_match_new(struct kmes_match **out, const char *expr, struct kmes_error *err);
void kmesp_match_free(struct kmes_match *match);

/* Does the payload fulfil it? One that is malformed is looked at up to the fault. */
bool kmesp_match_passes(struct kmes_match *match, const uint8_t *payload, uint32_t len);

#endif
