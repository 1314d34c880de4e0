/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* sid_guid.h - values with a meaning of their own: SIDs, GUIDs, access masks, times. */
#ifndef KMES_SID_GUID_H
#define KMES_SID_GUID_H

#include "payload.h"

enum kmes_special {
	KMES_PLAIN,
	KMES_SID,
	KMES_GUID,
	KMES_MASK,
	KMES_TIME,
};

struct kmes_moment {
	int64_t second;
	uint32_t ns;
};

/* What a scalar is, by its type and its key; `moment` is set for a KMES_TIME. */
enum kmes_special kmesp_special_of(const struct kmes_mp_token *tok, enum kmes_hint hint,
				   struct kmes_moment *moment);

/* The longest output of the functions below. */
#define KMES_SID_TEXT_MAX 192
#define KMES_GUID_TEXT 36
#define KMES_MASK_TEXT_MAX 512

/* S-1-5-18, from a well-formed binary SID. */
char *kmesp_put_sid(char *p, const uint8_t *sid);

/* 6f9619ff-8b86-d011-b42d-00c04fc964ff, from 16 bytes in Microsoft's order. */
char *kmesp_put_guid(char *p, const uint8_t *guid);

/* The same form from 16 bytes in memory order. */
char *kmesp_put_uuid(char *p, const uint8_t *uuid);

bool kmesp_guid_is_null(const uint8_t *guid);

/* 0x00120089(FILE_READ_DATA|FILE_READ_EA|...) */
char *kmesp_put_mask(char *p, uint32_t mask);

#endif
