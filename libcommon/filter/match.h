/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * match.h - one condition on a field of the payload, such as `user.name=ali*`.
 *
 *	PATH                  the field exists
 *	PATH=GLOB             its text matches (glob.h); PATH!=GLOB: it does not
 *	PATH<N  <=  >  >=     it is a number for which this holds, by exact value
 *
 * PATH is keys separated by dots; a number is also the index of a list, a lone `*` any
 * one key or index. A backslash quotes an operator, a dot, a star or a backslash in a
 * key. If the path matches several fields, the condition must hold for one of them.
 */
#ifndef KMES_MATCH_H
#define KMES_MATCH_H

#include "kmes.h"

struct kmes_match;

int kmesp_match_new(struct kmes_match **out, const char *expr, struct kmes_error *err);
void kmesp_match_free(struct kmes_match *match);

/*
 * Whether it holds for the payload, of which a malformed one is searched up to the fault.
 */
bool kmesp_match_passes(struct kmes_match *match, const uint8_t *payload, uint32_t len);

#endif
