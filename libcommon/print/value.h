/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * value.h - values of a payload in the text form.
 *
 * As in escape.h: each function makes room itself, and leaves KMES_TEXT_SLACK bytes free.
 */
#ifndef KMES_VALUE_H
#define KMES_VALUE_H
#include "base/escape.h"
#include "payload.h"

/* A scalar or an empty container; strings in quotes. */
char *kmesp_put_scalar(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok,
		       enum kmes_hint hint);

/*
 * A scalar used as a key: as above, but a string is not quoted where that is unambiguous.
 */
char *kmesp_put_key(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok,
		    bool color);

/* The value at the walk's position, with all that it contains; the walk ends after it. */
char *kmesp_put_value(struct kmes_outbuf *out, char *p, struct kmes_walk *w,
		      bool key_color);

#define KMES_SGR_RESET "\33[0m"
#define KMES_SGR_KEY "\33[36m"

#endif
