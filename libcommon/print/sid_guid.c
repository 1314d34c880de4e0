// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sid_guid.c - SIDs, GUIDs, access masks and MessagePack's timestamps. */
#include "print/sid_guid.h"

#include "base/clock.h"
#include "base/outbuf.h"
#include "print/time_text.h"

#define EXT_TIMESTAMP (-1)

#define SID_REVISION 1
#define SID_HEAD 8 /* revision, count of parts, six bytes of authority */
#define SID_PARTS_MAX 15

static bool is_sid(const uint8_t *s, uint32_t len)
{
	return len >= SID_HEAD && s[0] == SID_REVISION && s[1] <= SID_PARTS_MAX &&
	       len == SID_HEAD + 4 * (uint32_t)s[1];
}

/* The three forms of the extension; nanoseconds must be less than a second. */
static bool is_timestamp(const struct kmes_mp_token *tok, struct kmes_moment *moment)
{
	uint64_t v;

	if (tok->ext_type != EXT_TIMESTAMP)
		return false;
	switch (tok->len) {
	case 4:
		moment->second = kmes_mp_number(tok->data, 4);
		moment->ns = 0;
		break;
	case 8:
		v = kmes_mp_number(tok->data, 8);
		moment->second = v & 0x3ffffffff;
		moment->ns = v >> 34;
		break;
	case 12:
		moment->second = (int64_t)kmes_mp_number(tok->data + 4, 8);
		moment->ns = kmes_mp_number(tok->data, 4);
		break;
	default:
		return false;
	}
	return moment->ns < KMES_NS_PER_S && moment->second >= KMES_ISO_SECOND_MIN &&
	       moment->second <= KMES_ISO_SECOND_MAX;
}

enum kmes_special kmesp_special_of(const struct kmes_mp_token *tok, enum kmes_hint hint,
				   struct kmes_moment *moment)
{
	switch (tok->type) {
	case KMES_MP_UINT:
		if (hint == KMES_HINT_ACCESS && tok->value.u <= UINT32_MAX)
			return KMES_MASK;
		return KMES_PLAIN;
	case KMES_MP_BIN:
		if (hint == KMES_HINT_SID && is_sid(tok->data, tok->len))
			return KMES_SID;
		if (hint == KMES_HINT_GUID && tok->len == 16)
			return KMES_GUID;
		return KMES_PLAIN;
	case KMES_MP_EXT:
		return is_timestamp(tok, moment) ? KMES_TIME : KMES_PLAIN;
	default:
		return KMES_PLAIN;
	}
}

/* An authority that exceeds 32 bits is printed in hex. */
char *kmesp_put_sid(char *p, const uint8_t *sid)
{
	uint32_t high = kmes_mp_number(sid + 2, 2);
	uint32_t low = kmes_mp_number(sid + 4, 4);
	uint32_t part;

	p = kmesp_put_lit(p, "S-1-");
	if (high) {
		p = kmesp_put_lit(p, "0x");
		p = kmesp_put_hex(p, sid + 2, 6);
	} else {
		p = kmesp_put_u64(p, low);
	}
	for (unsigned int i = 0; i < sid[1]; i++) {
		memcpy(&part, sid + SID_HEAD + 4 * i, sizeof(part));
		p = kmesp_put_char(p, '-');
		p = kmesp_put_u64(p, part);
	}
	return p;
}

/* 16 bytes in memory order, with the dashes of a UUID. */
static char *put_words(char *p, const uint32_t *words)
{
	char digits[24];

	p = kmesp_put_hex_4(p, words[0]);
	kmesp_put_hex_4(kmesp_put_hex_4(kmesp_put_hex_4(digits, words[1]), words[2]),
			words[3]);
	p = kmesp_put_char(p, '-');
	p = kmesp_put_bytes(p, digits, 4);
	p = kmesp_put_char(p, '-');
	p = kmesp_put_bytes(p, digits + 4, 4);
	p = kmesp_put_char(p, '-');
	p = kmesp_put_bytes(p, digits + 8, 4);
	p = kmesp_put_char(p, '-');
	return kmesp_put_bytes(p, digits + 12, 12);
}

/* The first three fields are numbers, the others bytes. */
char *kmesp_put_guid(char *p, const uint8_t *guid)
{
	uint32_t words[4];

	memcpy(words, guid, sizeof(words));
	words[0] = __builtin_bswap32(words[0]);
	words[1] = __builtin_bswap32(words[1] << 16 | words[1] >> 16);
	return put_words(p, words);
}

char *kmesp_put_uuid(char *p, const uint8_t *uuid)
{
	uint32_t words[4];

	memcpy(words, uuid, sizeof(words));
	return put_words(p, words);
}

bool kmesp_guid_is_null(const uint8_t *guid)
{
	uint64_t halves[2];

	memcpy(halves, guid, sizeof(halves));
	return !(halves[0] | halves[1]);
}

/* Windows' names of the bits; in the low half those for files. */
static const char *const access_names[32] = {
	[0] = "FILE_READ_DATA",
	[1] = "FILE_WRITE_DATA",
	[2] = "FILE_APPEND_DATA",
	[3] = "FILE_READ_EA",
	[4] = "FILE_WRITE_EA",
	[5] = "FILE_EXECUTE",
	[6] = "FILE_DELETE_CHILD",
	[7] = "FILE_READ_ATTRIBUTES",
	[8] = "FILE_WRITE_ATTRIBUTES",
	[16] = "DELETE",
	[17] = "READ_CONTROL",
	[18] = "WRITE_DAC",
	[19] = "WRITE_OWNER",
	[20] = "SYNCHRONIZE",
	[24] = "ACCESS_SYSTEM_SECURITY",
	[25] = "MAXIMUM_ALLOWED",
	[28] = "GENERIC_ALL",
	[29] = "GENERIC_EXECUTE",
	[30] = "GENERIC_WRITE",
	[31] = "GENERIC_READ",
};

/* Parentheses even if no bit is set: without them the text would be that of a binary. */
char *kmesp_put_mask(char *p, uint32_t mask)
{
	uint32_t unknown = 0;
	const char *between = "";

	p = kmesp_put_lit(p, "0x");
	p = kmesp_put_hex_number(p, mask, 8);
	p = kmesp_put_char(p, '(');
	for (int bit = 0; bit < 32; bit++) {
		if (!(mask >> bit & 1))
			continue;
		if (!access_names[bit]) {
			unknown |= 1u << bit;
			continue;
		}
		p = kmesp_put_bytes(p, between, strlen(between));
		p = kmesp_put_bytes(p, access_names[bit], strlen(access_names[bit]));
		between = "|";
	}
	if (unknown) {
		p = kmesp_put_bytes(p, between, strlen(between));
		p = kmesp_put_lit(p, "0x");
		p = kmesp_put_hex_number(p, unknown, 8);
	}
	return kmesp_put_char(p, ')');
}
