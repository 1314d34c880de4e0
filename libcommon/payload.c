// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* payload.c - validates a payload; hints from the names of keys. */
#include "payload.h"

enum kmes_mp_fault kmesp_payload_check(const uint8_t *payload, uint32_t len)
{
	struct kmes_mp_scratch scratch;

	return kmes_mp_check(payload, len, KMES_MP_DEPTH_MAX, &scratch);
}

static bool ends_in(const uint8_t *key, uint32_t len, const char *end, uint32_t end_len)
{
	return len >= end_len && !memcmp(key + len - end_len, end, end_len);
}

#define ENDS_IN(literal) ends_in(key, len, literal, sizeof(literal) - 1)
#define IS(literal) (len == sizeof(literal) - 1 && ENDS_IN(literal))

enum kmes_hint kmesp_hint_of_key(const uint8_t *key, uint32_t len)
{
	if (len < 3)
		return KMES_HINT_NONE;
	if (key[len - 1] == 'd') {
		if (ENDS_IN("sid"))
			return KMES_HINT_SID;
		if (ENDS_IN("guid"))
			return KMES_HINT_GUID;
	} else if (key[len - 1] == 's') {
		if (ENDS_IN("sids"))
			return KMES_HINT_SIDS;
		if (IS("access") || (ENDS_IN("_access") && !IS("last_access")))
			return KMES_HINT_ACCESS;
	}
	return KMES_HINT_NONE;
}
