/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * escape.h - pieces of text of any length, and values in the text form.
 *
 * Each function sees for room itself and leaves at least KMES_TEXT_SLACK bytes free.
 */
#ifndef KMES_ESCAPE_H
#define KMES_ESCAPE_H
#include "base/outbuf.h"
#include "payload.h"

#define KMES_TEXT_SLACK 512

/*
 * What a stranger wrote, so that it can neither end a line, nor a field, nor command a
 * terminal: control characters, bytes that are no UTF-8, and code points that cannot be
 * seen (or that turn text around) are written as escapes.
 *
 *	kmesp_put_escaped	the inside of a quoted string in the text form
 *	kmesp_put_type	an event's type: the same with \x20 for a space and a bare quote
 *	kmesp_put_json	the inside of a JSON string; U+FFFD for what is no UTF-8
 */
char *kmesp_put_escaped(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);
char *kmesp_put_type(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);
char *kmesp_put_json(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);

char *kmesp_put_hex_all(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);
char *kmesp_put_base64(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);

/* A scalar or an empty container; strings in quotes. */
char *kmesp_put_scalar(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok,
		       enum kmes_hint hint);

/* A scalar that is a key: like any other, but strings without quotes where that is clear. */
char *kmesp_put_key(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok,
		    bool color);

/*
 * The whole value that the walk begins with; it ends behind it. `key_color`: keys in
 * colour.
 */
char *kmesp_put_value(struct kmes_outbuf *out, char *p, struct kmes_walk *w,
		      bool key_color);

/* Colours. */
#define KMES_SGR_RESET "\33[0m"
#define KMES_SGR_KEY "\33[36m"

#endif
