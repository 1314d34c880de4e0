// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * strict.c - strict JSON checks that yajl does not make: malformed UTF-8, control
 * characters as whitespace, lone surrogates.
 */
#include <errno.h>
#include <string.h>

#include "base/scan.h"
#include "emit.h"
#include "kmes_msgpack.h"

/* The value of the four hex digits after \u, or -1. */
static int32_t escape_unit(const char *p, const char *end)
{
	int32_t unit = 0;
	int i;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		int digit = kmesp_hex_digit(p[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Whether each escaped surrogate is part of a pair. */
static bool surrogates_are_paired(const char *p, const char *end)
{
	int32_t unit;

	while ((p = memchr(p, '\\', (size_t)(end - p)))) {
		if (end - p < 2)
			break;
		p += 2;
		unit = p[-1] == 'u' ? escape_unit(p, end) : -1;
		if (unit < 0xd800 || unit > 0xdfff)
			continue; /* yajl reports malformed escapes */
		p += 4;
		if (unit > 0xdbff || end - p < 6 || p[0] != '\\' || p[1] != 'u')
			return false;
		unit = escape_unit(p + 2, end);
		if (unit < 0xdc00 || unit > 0xdfff)
			return false;
		p += 6;
	}
	return true;
}

/* Whether one of eight bytes is below 0x20; those above 0x7f do not matter. */
static bool has_low_byte(uint64_t word)
{
	return (word - 0x2020202020202020u) & ~word & 0x8080808080808080u;
}

/* Control characters other than JSON's whitespace. */
static bool has_control(const char *text, size_t len)
{
	uint64_t word;
	size_t i = 0;

	while (i < len) {
		unsigned char c = (unsigned char)text[i];

		if (len - i >= sizeof(word)) {
			memcpy(&word, text + i, sizeof(word));
			if (!has_low_byte(word)) {
				i += sizeof(word);
				continue;
			}
		}
		if (c < 0x20 && c != '\t' && c != '\r' && c != '\n')
			return true;
		i++;
	}
	return false;
}

int strict_check(const char *text, size_t len, struct kmes_error *why)
{
	if (!kmes_utf8_valid(text, (uint32_t)len))
		return kmes_error_set(why, -EINVAL, "not JSON: not UTF-8");
	if (has_control(text, len))
		return kmes_error_set(why, -EINVAL, "not JSON: control character");
	if (!surrogates_are_paired(text, text + len))
		return kmes_error_set(why, -EINVAL, "not JSON: lone surrogate");
	return 0;
}
