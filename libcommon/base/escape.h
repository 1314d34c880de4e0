/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * escape.h - untrusted strings escaped for text and JSON; bytes as hex and base64.
 *
 * Any length is taken: each function makes room itself, and leaves at least
 * KMES_TEXT_SLACK bytes free.
 */
#ifndef KMES_ESCAPE_H
#define KMES_ESCAPE_H
#include "base/outbuf.h"

#define KMES_TEXT_SLACK 512

/*
 * Untrusted bytes, escaped so that they can neither end a line or a field nor control a
 * terminal: escapes replace control characters, malformed UTF-8, and code points that are
 * invisible or change the direction of text.
 *
 *	kmesp_put_escaped	the inside of a quoted string in the text form
 *	kmesp_put_type		an event's type: as above, but \x20 for a space, and no
 *				escape for quotes
 *	kmesp_put_json		the inside of a JSON string; U+FFFD for malformed UTF-8
 */
char *kmesp_put_escaped(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);
char *kmesp_put_type(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);
char *kmesp_put_json(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);

/* Two lower-case hex digits per byte; base64 with padding. */
char *kmesp_put_hex_all(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);
char *kmesp_put_base64(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len);

#endif
