/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* origin.h - the names of origin classes. */
#ifndef KMES_ORIGIN_H
#define KMES_ORIGIN_H
#include <stdint.h>

struct kmes_origin_room {
	char text[12]; /* c255, and what kmesp_put_u64() stores after a number */
};

/* "userspace", or "c77" for a class without a name, which is stored in `room`. */
const char *kmesp_origin_name(uint8_t origin, struct kmes_origin_room *room);

/* The same with the names of the text form: "USR", or "c77". */
const char *kmesp_origin_short_name(uint8_t origin, struct kmes_origin_room *room);

/* The class of any of these names, in upper or lower case, or of a number; or -EINVAL. */
int kmesp_origin_parse(const char *text);

#endif
