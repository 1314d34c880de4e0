/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_pack.h - writes MessagePack to a buffer: what producers need for payloads of their
 * own. Integers and lengths have their shortest encoding.
 *
 * Nothing is written past the end of the buffer, or after something that did not fit. The
 * caller checks once, at the end, whether the value is complete (kmes_pack_is_whole()).
 */
#ifndef KMES_PACK_H
#define KMES_PACK_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <stdbool.h>
#include <string.h>
#endif

struct kmes_pack {
	__u8 *buf;
	__u32 size;
	__u32 len;
	bool cut; /* something did not fit */
};

static inline struct kmes_pack kmes_pack_begin(void *buf, __u32 size)
{
	struct kmes_pack p = { buf, size, 0, false };

	return p;
}

static inline bool kmes_pack_is_whole(const struct kmes_pack *p)
{
	return !p->cut;
}

static inline void kmes_pack_bytes(struct kmes_pack *p, const void *bytes, __u32 len)
{
	if (p->cut || len > p->size - p->len) {
		p->cut = true;
		return;
	}
	if (len)
		memcpy(p->buf + p->len, bytes, len);
	p->len += len;
}

/*
 * A format byte, then a big-endian integer of `bytes` bytes. Never writes past these, not
 * even temporarily: callers that convert in place have unread input there.
 */
static inline void kmes_pack_form(struct kmes_pack *p, __u8 form, __u64 v,
				  unsigned int bytes)
{
	__u64 big = __builtin_bswap64(v << ((64 - 8 * bytes) & 63));
	__u8 *to = p->buf + p->len;

	if (p->cut || 1 + bytes > p->size - p->len) {
		p->cut = true;
		return;
	}
	p->len += 1 + bytes;
	*to++ = form;
	switch (bytes) { /* constant sizes, for the compiler */
	case 0:
		break;
	case 1:
		*to = (__u8)v;
		break;
	case 2:
		memcpy(to, &big, 2);
		break;
	case 4:
		memcpy(to, &big, 4);
		break;
	case 8:
		memcpy(to, &big, 8);
		break;
	default:
		memcpy(to, &big, bytes);
		break;
	}
}

static inline void kmes_pack_nil(struct kmes_pack *p)
{
	kmes_pack_form(p, 0xc0, 0, 0);
}

static inline void kmes_pack_bool(struct kmes_pack *p, bool v)
{
	kmes_pack_form(p, v ? 0xc3 : 0xc2, 0, 0);
}

static inline void kmes_pack_uint(struct kmes_pack *p, __u64 v)
{
	if (v < 0x80)
		kmes_pack_form(p, (__u8)v, 0, 0);
	else if (v <= 0xFF)
		kmes_pack_form(p, 0xcc, v, 1);
	else if (v <= 0xFFFF)
		kmes_pack_form(p, 0xcd, v, 2);
	else if (v <= 0xFFFFFFFF)
		kmes_pack_form(p, 0xce, v, 4);
	else
		kmes_pack_form(p, 0xcf, v, 8);
}

static inline void kmes_pack_int(struct kmes_pack *p, __s64 v)
{
	if (v >= 0)
		kmes_pack_uint(p, (__u64)v);
	else if (v >= -32)
		kmes_pack_form(p, (__u8)v, 0, 0);
	else if (v >= -0x80)
		kmes_pack_form(p, 0xd0, (__u64)v, 1);
	else if (v >= -0x8000)
		kmes_pack_form(p, 0xd1, (__u64)v, 2);
	else if (v >= -0x80000000ll)
		kmes_pack_form(p, 0xd2, (__u64)v, 4);
	else
		kmes_pack_form(p, 0xd3, (__u64)v, 8);
}

static inline void kmes_pack_str(struct kmes_pack *p, const char *s, __u32 len)
{
	if (len < 32)
		kmes_pack_form(p, (__u8)(0xa0 | len), 0, 0);
	else if (len <= 0xFF)
		kmes_pack_form(p, 0xd9, len, 1);
	else if (len <= 0xFFFF)
		kmes_pack_form(p, 0xda, len, 2);
	else
		kmes_pack_form(p, 0xdb, len, 4);
	kmes_pack_bytes(p, s, len);
}

/* A NUL-terminated string. */
static inline void kmes_pack_text(struct kmes_pack *p, const char *s)
{
	kmes_pack_str(p, s, (__u32)strlen(s));
}

static inline void kmes_pack_bin(struct kmes_pack *p, const void *bytes, __u32 len)
{
	if (len <= 0xFF)
		kmes_pack_form(p, 0xc4, len, 1);
	else if (len <= 0xFFFF)
		kmes_pack_form(p, 0xc5, len, 2);
	else
		kmes_pack_form(p, 0xc6, len, 4);
	kmes_pack_bytes(p, bytes, len);
}

/* `count` values follow. */
static inline void kmes_pack_array(struct kmes_pack *p, __u32 count)
{
	if (count < 16)
		kmes_pack_form(p, (__u8)(0x90 | count), 0, 0);
	else if (count <= 0xFFFF)
		kmes_pack_form(p, 0xdc, count, 2);
	else
		kmes_pack_form(p, 0xdd, count, 4);
}

/* `count` keys with values follow. */
static inline void kmes_pack_map(struct kmes_pack *p, __u32 count)
{
	if (count < 16)
		kmes_pack_form(p, (__u8)(0x80 | count), 0, 0);
	else if (count <= 0xFFFF)
		kmes_pack_form(p, 0xde, count, 2);
	else
		kmes_pack_form(p, 0xdf, count, 4);
}

#endif
