// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* tags.c - values that JSON lacks, from {"$bin": ..} and similar objects. */
#include <errno.h>
#include <string.h>

#include "base/scan.h"
#include "emit.h"
#include "kmes_msgpack.h"
#include "print/time_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const names[] = {
	[TAG_BIN] = "$bin",   [TAG_EXT] = "$ext",   [TAG_SID] = "$sid",
	[TAG_GUID] = "$guid", [TAG_TIME] = "$time", [TAG_RAW] = "$raw",
};

/* MessagePack's extension type for points in time. */
#define EXT_TIME (-1)

enum tag tag_find(const char *key, size_t len)
{
	size_t i;

	for (i = TAG_NONE + 1; i < COUNT(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], key, len) == 0)
			return (enum tag)i;
	return TAG_NONE;
}

/* ---- base64 ---- */

static int base64_digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (kmesp_is_digit((char)c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The size of the decoded bytes, or -EINVAL if length or padding is wrong. */
static int64_t base64_size(const uint8_t *text, uint32_t len)
{
	uint32_t padding = 0;

	if (len % 4)
		return -EINVAL;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	return (int64_t)len / 4 * 3 - padding;
}

/* `to` may overlap `text`, at or before it. */
static int base64_decode(uint8_t *to, const uint8_t *text, uint32_t size)
{
	uint32_t bits = 0, have = 0;
	int digit;

	while (size) {
		digit = base64_digit(*text++);
		if (digit < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			*to++ = (uint8_t)(bits >> have);
			size--;
		}
	}
	/* the unused bits of the last digit must be 0 */
	return bits & ((1u << have) - 1) ? -EINVAL : 0;
}

/* ---- the values ---- */

/* Goes back to `start`; the bytes after it remain readable until they are overwritten. */
static void rewind_to(struct kmes_pack *out, uint32_t start)
{
	out->len = start;
}

/* The head of a value whose length has 1, 2 or 4 bytes; `form` is that of the first. */
static void put_head(struct kmes_pack *out, uint8_t form, uint32_t len)
{
	unsigned int width = len <= UINT8_MAX ? 0 : len <= UINT16_MAX ? 1 : 2;

	kmes_pack_form(out, (uint8_t)(form + width), len, 1u << width);
}

/* The head of a binary or extension value, then the decoded base64 text. */
static int put_base64(struct kmes_pack *out, uint32_t start, bool is_ext, int8_t type,
		      const struct kmes_mp_token *text)
{
	int64_t size = base64_size(text->data, text->len);
	uint32_t len = (uint32_t)size;
	uint8_t type_byte = (uint8_t)type;

	if (size < 0)
		return -EINVAL;
	rewind_to(out, start);
	if (!is_ext) {
		put_head(out, 0xc4, len);
	} else {
		if (len && len <= 16 && !(len & (len - 1)))
			kmes_pack_form(out, (uint8_t)(0xd4 + __builtin_ctz(len)), 0, 0);
		else
			put_head(out, 0xc7, len);
		kmes_pack_bytes(out, &type_byte, 1);
	}
	/* the text is longer than the bytes it encodes, and further on: there is room */
	if (base64_decode(out->buf + out->len, text->data, len) < 0)
		return -EINVAL;
	out->len += len;
	return 0;
}

static int resolve_ext(struct kmes_pack *out, uint32_t start, const uint8_t *pos)
{
	const uint8_t *end = out->buf + out->len;
	struct kmes_mp_token list, type, text;

	if (kmes_mp_next(&pos, end, &list) || list.type != KMES_MP_ARRAY ||
	    list.count != 2 || kmes_mp_next(&pos, end, &type) ||
	    kmes_mp_next(&pos, end, &text) || text.type != KMES_MP_STR)
		return -EINVAL;
	if (!(type.type == KMES_MP_UINT && type.value.u <= 127) &&
	    !(type.type == KMES_MP_INT && type.value.i >= -128))
		return -EINVAL;
	return put_base64(out, start, true, (int8_t)type.value.i, &text);
}

/* A number of 32 bits. */
static int take_u32(const char **text, const char *end, uint64_t *number)
{
	int rc = kmesp_scan_number(text, end, number);

	return rc || *number > UINT32_MAX ? -EINVAL : 0;
}

/* The authority of a SID: decimal below 2^32, else 0x and twelve hex digits. */
static int take_authority(const char **text, const char *end, uint64_t *authority)
{
	const char *p = *text;
	int i, digit;

	if (end - p < 14 || p[0] != '0' || (p[1] != 'x' && p[1] != 'X'))
		return take_u32(text, end, authority);
	*authority = 0;
	for (i = 2; i < 14; i++) {
		digit = kmesp_hex_digit(p[i]);
		if (digit < 0)
			return -EINVAL;
		*authority = *authority << 4 | (uint64_t)digit;
	}
	*text = p + 14;
	return 0;
}

#define SID_PARTS_MAX 15

/* S-1-AUTHORITY-PART-PART... */
static int resolve_sid(struct kmes_pack *out, uint32_t start, const char *text,
		       const char *end)
{
	uint8_t sid[8 + 4 * SID_PARTS_MAX] = { 1 };
	uint64_t number;
	uint32_t size = 8;
	int i;

	if (end - text < 4 || memcmp(text, "S-1-", 4) != 0)
		return -EINVAL;
	text += 4;
	if (take_authority(&text, end, &number) < 0)
		return -EINVAL;
	for (i = 0; i < 6; i++)
		sid[2 + i] = (uint8_t)(number >> (40 - 8 * i));
	while (text < end) {
		if (*text++ != '-' || sid[1] == SID_PARTS_MAX ||
		    take_u32(&text, end, &number) < 0)
			return -EINVAL;
		sid[1]++;
		for (i = 0; i < 4; i++)
			sid[size++] = (uint8_t)(number >> 8 * i);
	}
	rewind_to(out, start);
	kmes_pack_bin(out, sid, size);
	return 0;
}

/* xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, the first three fields little-endian. */
static int resolve_guid(struct kmes_pack *out, uint32_t start, const char *text,
			const char *end)
{
	static const uint8_t order[16] = { 3, 2, 1,  0,	 5,  4,	 7,  6,
					   8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t guid[16];
	int i, high, low;

	if (end - text != 36)
		return -EINVAL;
	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return -EINVAL;
		high = kmesp_hex_digit(*text++);
		low = kmesp_hex_digit(*text++);
		if (high < 0 || low < 0)
			return -EINVAL;
		guid[order[i]] = (uint8_t)(high << 4 | low);
	}
	rewind_to(out, start);
	kmes_pack_bin(out, guid, 16);
	return 0;
}

/* YYYY-MM-DDTHH:MM:SS[.f]Z, up to nine digits of f. */
static bool parse_time(const char *s, const char *end, int64_t *seconds, uint32_t *ns)
{
	struct kmes_date date;
	int hour, minute, second;

	if (!kmesp_scan_date(&s, end, false, &date) || !kmesp_scan_char(&s, end, 'T') ||
	    !kmesp_scan_digits(&s, end, 2, 0, 23, &hour) ||
	    !kmesp_scan_char(&s, end, ':') ||
	    !kmesp_scan_digits(&s, end, 2, 0, 59, &minute) ||
	    !kmesp_scan_char(&s, end, ':') ||
	    !kmesp_scan_digits(&s, end, 2, 0, 59, &second))
		return false;
	*ns = 0;
	if (kmesp_scan_char(&s, end, '.') && !kmesp_scan_billionths(&s, end, ns))
		return false;
	*seconds = kmesp_date_days(&date) * 86400 + hour * 3600 + minute * 60 + second;
	return kmesp_scan_char(&s, end, 'Z') && s == end;
}

/* A timestamp in the shortest of its three forms. */
static int resolve_time(struct kmes_pack *out, uint32_t start, const char *text,
			const char *end)
{
	int64_t seconds;
	uint32_t ns;

	if (!parse_time(text, end, &seconds, &ns))
		return -EINVAL;
	rewind_to(out, start);
	if (seconds >= 0 && seconds <= UINT32_MAX && !ns) {
		kmes_pack_form(out, 0xd6, (uint8_t)EXT_TIME, 1);
		kmes_pack_form(out, (uint8_t)(seconds >> 24), (uint64_t)seconds, 3);
	} else if (seconds >= 0 && seconds < INT64_C(1) << 34) {
		uint64_t both = (uint64_t)ns << 34 | (uint64_t)seconds;

		kmes_pack_form(out, 0xd7, (uint8_t)EXT_TIME, 1);
		kmes_pack_form(out, (uint8_t)(both >> 56), both, 7);
	} else {
		kmes_pack_form(out, 0xc7, 12 << 8 | (uint8_t)EXT_TIME, 2);
		kmes_pack_form(out, (uint8_t)(ns >> 24), ns, 3);
		kmes_pack_form(out, (uint8_t)((uint64_t)seconds >> 56), (uint64_t)seconds,
			       7);
	}
	return 0;
}

static int resolve_text(struct kmes_pack *out, uint32_t start, enum tag tag,
			const struct kmes_mp_token *text)
{
	const char *from = (const char *)text->data;
	const char *end = from + text->len;

	switch (tag) {
	case TAG_BIN:
		return put_base64(out, start, false, 0, text);
	case TAG_SID:
		return resolve_sid(out, start, from, end);
	case TAG_GUID:
		return resolve_guid(out, start, from, end);
	case TAG_TIME:
		return resolve_time(out, start, from, end);
	default:
		return -EINVAL;
	}
}

int tag_resolve(struct kmes_pack *out, uint32_t start, uint32_t value, enum tag tag,
		struct kmes_error *why)
{
	static const char *const wanted[] = {
		[TAG_BIN] = "base64",
		[TAG_EXT] = "[type, base64] with a type from -128 to 127",
		[TAG_SID] = "a SID such as S-1-5-18",
		[TAG_GUID] = "a GUID",
		[TAG_TIME] = "a time such as 2026-11-29T20:21:22.5Z",
	};
	const uint8_t *pos = out->buf + value;
	struct kmes_mp_token text;
	int rc = -EINVAL;

	if (out->cut)
		return 0; /* reported later */
	if (tag == TAG_RAW)
		return kmes_error_set(why, -EINVAL,
				      "$raw is no MessagePack and cannot be emitted");
	if (tag == TAG_EXT)
		rc = resolve_ext(out, start, pos);
	else if (!kmes_mp_next(&pos, out->buf + out->len, &text) &&
		 text.type == KMES_MP_STR)
		rc = resolve_text(out, start, tag, &text);
	return rc < 0 ? kmes_error_set(why, -EINVAL, "%s is not %s", names[tag],
				       wanted[tag])
		      : 0;
}
