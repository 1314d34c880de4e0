// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* escape.c - untrusted strings escaped for text and JSON; bytes as hex and base64. */
#include "base/escape.h"

#include "base/bytes16.h"
#include "base/invisible.h"
#include "kmes_msgpack.h"

enum style { TEXT, TYPE, JSON };

/* Bytes of input between two checks of the remaining room. */
#define CHUNK 512
/* Output per byte of input: \u0000 for one, \udb40\udc00 for four. */
#define GROWTH 6

static inline bool is_plain(uint8_t c, enum style style)
{
	return c >= (style == TYPE ? 0x21 : 0x20) && c < 0x7f && c != '\\' &&
	       (c != '"' || style == TYPE);
}

/* Marks bytes that cannot be copied verbatim; those from 0x80 up are negative. */
static inline kmes_marks16 special_marks(kmes_bytes16 v, enum style style)
{
	kmes_marks16 marks = (kmes_marks16)v < (int8_t)(style == TYPE ? 0x21 : 0x20);

	marks |= (v == '\\') | (v == 0x7f);
	if (style != TYPE)
		marks |= v == '"';
	return marks;
}

/* Copies the plain characters at the start of s; returns their number. */
static inline uint32_t copy_plain(char *p, const uint8_t *s, uint32_t len,
				  enum style style)
{
	kmes_marks16 marks;
	uint32_t n = 0;

	if (len < 16) {
		marks = special_marks(kmesp_bytes16_copy_short(p, s, len), style);
		if (!kmesp_marks16_any(marks))
			return len;
		while (is_plain(s[n], style))
			n++;
		return n;
	}
	for (;;) {
		marks = special_marks(kmesp_bytes16_copy(p + n, s + n), style);
		if (kmesp_marks16_any(marks))
			return n + kmesp_marks16_first(marks);
		n += 16;
		if (n == len)
			return len;
		if (n > len - 16) /* the last sixteen bytes, which overlap */
			n = len - 16;
	}
}

static char *put_u4(char *p, uint32_t unit)
{
	p = kmesp_put_lit(p, "\\u");
	return kmesp_put_hex_number(p, unit, 4);
}

static char *put_hidden(char *p, uint32_t cp, enum style style)
{
	if (cp <= 0xffff)
		return put_u4(p, cp);
	if (style == JSON) { /* as a pair of surrogates */
		p = put_u4(p, 0xd7c0 + (cp >> 10));
		return put_u4(p, 0xdc00 + (cp & 0x3ff));
	}
	p = kmesp_put_lit(p, "\\U");
	return kmesp_put_hex_number(p, cp, 8);
}

static char *put_x(char *p, uint8_t byte)
{
	p = kmesp_put_lit(p, "\\x");
	return kmesp_put_hex(p, &byte, 1);
}

/* An ASCII character that needs an escape. */
static char *put_ascii_escape(char *p, uint8_t c, enum style style)
{
	switch (c) {
	case '\n':
		return kmesp_put_lit(p, "\\n");
	case '\r':
		return kmesp_put_lit(p, "\\r");
	case '\t':
		return kmesp_put_lit(p, "\\t");
	case '\\':
		return kmesp_put_lit(p, "\\\\");
	case '"':
		return kmesp_put_lit(p, "\\\"");
	default:
		return style == JSON ? put_u4(p, c) : put_x(p, c);
	}
}

/* Non-ASCII characters at s, up to the next ASCII one; returns their length in bytes. */
static inline uint32_t put_wide(char **p, const uint8_t *s, uint32_t len, uint32_t stop,
				enum style style)
{
	uint32_t n = 0;
	uint32_t cp;
	int size;

	do {
		size = kmes_utf8_decode(s + n, len - n, &cp);
		if (size > 0 && !kmesp_is_hidden(cp)) {
			*p = kmesp_put_bytes(*p, s + n, size);
		} else if (size > 0) {
			*p = put_hidden(*p, cp, style);
		} else if (style == JSON) {
			*p = kmesp_put_lit(*p, "\xef\xbf\xbd");
			size = -size;
		} else {
			*p = put_x(*p, s[n]);
			size = 1;
		}
		n += size;
	} while (n < stop && s[n] >= 0x80);
	return n;
}

static inline char *put_string(struct kmes_outbuf *out, char *p, const uint8_t *s,
			       uint32_t len, enum style style)
{
	uint32_t n = 0, stop;

	do {
		p = kmesp_out_room(out, p, GROWTH * CHUNK + KMES_TEXT_SLACK + 16);
		stop = len - n > CHUNK ? n + CHUNK : len;
		while (n < stop) {
			uint32_t plain = copy_plain(p, s + n, stop - n, style);

			p += plain;
			n += plain;
			if (n == stop)
				break;
			if (s[n] < 0x80)
				p = put_ascii_escape(p, s[n++], style);
			else
				n += put_wide(&p, s + n, len - n, stop - n, style);
		}
	} while (n < len);
	return p;
}

char *kmesp_put_escaped(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	return put_string(out, p, s, len, TEXT);
}

char *kmesp_put_type(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	return put_string(out, p, s, len, TYPE);
}

char *kmesp_put_json(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	return put_string(out, p, s, len, JSON);
}

char *kmesp_put_hex_all(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	uint32_t n;

	do {
		p = kmesp_out_room(out, p, 2 * CHUNK + KMES_TEXT_SLACK);
		n = len < CHUNK ? len : CHUNK;
		p = kmesp_put_hex(p, s, n);
		s += n;
		len -= n;
	} while (len);
	return p;
}

static char *put_base64_group(char *p, uint32_t bits, int chars)
{
	static const char digits[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (int i = 0; i < 4; i++, bits <<= 6)
		*p++ = i < chars ? digits[bits >> 18 & 63] : '=';
	return p;
}

char *kmesp_put_base64(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	for (uint32_t n = 0; len >= 3; s += 3, len -= 3, n += 3) {
		if (n % CHUNK < 3)
			p = kmesp_out_room(out, p, 2 * CHUNK + KMES_TEXT_SLACK);
		p = put_base64_group(p, s[0] << 16 | s[1] << 8 | s[2], 4);
	}
	p = kmesp_out_room(out, p, 4 + KMES_TEXT_SLACK);
	if (len == 1)
		p = put_base64_group(p, s[0] << 16, 2);
	if (len == 2)
		p = put_base64_group(p, s[0] << 16 | s[1] << 8, 3);
	return p;
}
