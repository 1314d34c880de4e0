/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * kmes_msgpack.h - a MessagePack parser without recursion, and UTF-8 validation.
 *
 * A value is parsed token by token: kmes_mp_next() decodes one header and steps over the
 * bytes of a string, binary or extension; the elements of a container are left to later
 * calls. The caller keeps the number of remaining values for each open container.
 * kmes_mp_validate() keeps them in its caller's memory, because kernel stacks are small.
 *
 * Nothing is read at or past the end, and declared sizes are not trusted: a length must
 * not exceed the remaining bytes, and neither must a count, as each element takes at
 * least one byte. So an accepted count never exceeds the size of the buffer.
 *
 * Depth: a scalar at the top has depth 0. A container at the top has depth 1, even if
 * it is empty, and each container in another is one deeper.
 *
 * For kernel and user space; no floating point, no allocation. In the kernel,
 * kmes_mp_check() calls cond_resched(), so it must be called where sleeping is allowed.
 */
#ifndef KMES_MSGPACK_H
#define KMES_MSGPACK_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/sched.h>
#define kmes_mp_yield() cond_resched()
#else
#include <errno.h>
#define kmes_mp_yield() ((void)0)
#endif

#define KMES_MP_DEPTH_MAX 256

/* Call kmes_mp_yield() after this many bytes. */
#define KMES_MP_STRIDE 65536

enum kmes_mp_type {
	KMES_MP_NIL,
	KMES_MP_BOOL,	 /* value.u is 0 or 1 */
	KMES_MP_UINT,	 /* value.u; also a signed format with a value >= 0 */
	KMES_MP_INT,	 /* value.i, negative */
	KMES_MP_FLOAT32, /* value.u holds the 32 bits */
	KMES_MP_FLOAT64, /* value.u holds the 64 bits */
	KMES_MP_STR,	 /* data, len; need not be UTF-8 */
	KMES_MP_BIN,	 /* data, len */
	KMES_MP_ARRAY,	 /* count values follow */
	KMES_MP_MAP,	 /* count keys with values follow */
	KMES_MP_EXT,	 /* ext_type, data, len */
};

struct kmes_mp_token {
	enum kmes_mp_type type;
	__s8 ext_type;
	__u32 len;
	__u32 count;
	union {
		__u64 u;
		__s64 i;
	} value;
	const __u8 *data; /* points into the parsed buffer */
};

/* Why bytes are not exactly one valid value. */
enum kmes_mp_fault {
	KMES_MP_OK,
	KMES_MP_EMPTY,
	KMES_MP_TRUNCATED,
	KMES_MP_RESERVED,
	KMES_MP_LENGTH,
	KMES_MP_COUNT,
	KMES_MP_DEEP,
	KMES_MP_TRAILING,
};

/* The number of remaining values for each open container. */
struct kmes_mp_scratch {
	__u32 left[KMES_MP_DEPTH_MAX];
};

/* Read a big-endian integer of 1, 2, 4 or 8 bytes. */
static inline __u64 kmes_mp_number(const __u8 *p, unsigned int size)
{
	__u16 v16;
	__u32 v32;
	__u64 v64;

	switch (size) {
	case 1:
		return *p;
	case 2:
		__builtin_memcpy(&v16, p, sizeof(v16));
		return __builtin_bswap16(v16);
	case 4:
		__builtin_memcpy(&v32, p, sizeof(v32));
		return __builtin_bswap32(v32);
	default:
		__builtin_memcpy(&v64, p, sizeof(v64));
		return __builtin_bswap64(v64);
	}
}

/* Step over len bytes of data. */
static inline enum kmes_mp_fault kmes_mp_take(const __u8 **pos, const __u8 *end,
					      struct kmes_mp_token *tok,
					      enum kmes_mp_type type, __u32 len)
{
	if (len > (__u64)(end - *pos))
		return KMES_MP_LENGTH;
	tok->type = type;
	tok->len = len;
	tok->data = *pos;
	*pos += len;
	return KMES_MP_OK;
}

/* Open a container: each value needs a byte, and a map has two values per key. */
static inline enum kmes_mp_fault kmes_mp_open(const __u8 **pos, const __u8 *end,
					      struct kmes_mp_token *tok,
					      enum kmes_mp_type type, __u32 count)
{
	__u64 values = type == KMES_MP_MAP ? 2 * (__u64)count : count;

	if (values > (__u64)(end - *pos))
		return KMES_MP_COUNT;
	tok->type = type;
	tok->count = count;
	return KMES_MP_OK;
}

/* A signed format: a value that is not negative is returned as unsigned. */
static inline enum kmes_mp_fault kmes_mp_signed(struct kmes_mp_token *tok, __s64 v)
{
	tok->type = v < 0 ? KMES_MP_INT : KMES_MP_UINT;
	tok->value.i = v;
	return KMES_MP_OK;
}

static inline enum kmes_mp_fault kmes_mp_unsigned(struct kmes_mp_token *tok,
						  enum kmes_mp_type type, __u64 v)
{
	tok->type = type;
	tok->value.u = v;
	return KMES_MP_OK;
}

/* An extension: a byte for its type, then its data. */
static inline enum kmes_mp_fault kmes_mp_ext(const __u8 **pos, const __u8 *end,
					     struct kmes_mp_token *tok, __u32 len)
{
	if (*pos == end)
		return KMES_MP_TRUNCATED;
	tok->ext_type = (__s8)(*(*pos)++);
	return kmes_mp_take(pos, end, tok, KMES_MP_EXT, len);
}

/* The formats 0xc0 to 0xdf; *pos is after that byte. */
static inline enum kmes_mp_fault kmes_mp_long_form(const __u8 **pos, const __u8 *end,
						   struct kmes_mp_token *tok, __u8 form)
{
	/* The size of the integer or float after each format byte. */
	static const __u8 number_size[32] = {
		0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8,
		1, 2, 4, 8, 0, 0, 0, 0, 0, 1, 2, 4, 2, 4, 2, 4,
	};
	unsigned int size = number_size[form & 31];
	__u64 v = 0;

	if (size) {
		if (size > (__u64)(end - *pos))
			return KMES_MP_TRUNCATED;
		v = kmes_mp_number(*pos, size);
		*pos += size;
	}
	switch (form) {
	case 0xc0:
		return kmes_mp_unsigned(tok, KMES_MP_NIL, 0);
	case 0xc1:
		return KMES_MP_RESERVED;
	case 0xc2:
	case 0xc3:
		return kmes_mp_unsigned(tok, KMES_MP_BOOL, form & 1);
	case 0xc4:
	case 0xc5:
	case 0xc6:
		return kmes_mp_take(pos, end, tok, KMES_MP_BIN, v);
	case 0xc7:
	case 0xc8:
	case 0xc9:
		return kmes_mp_ext(pos, end, tok, v);
	case 0xca:
		return kmes_mp_unsigned(tok, KMES_MP_FLOAT32, v);
	case 0xcb:
		return kmes_mp_unsigned(tok, KMES_MP_FLOAT64, v);
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf:
		return kmes_mp_unsigned(tok, KMES_MP_UINT, v);
	case 0xd0:
		return kmes_mp_signed(tok, (__s8)v);
	case 0xd1:
		return kmes_mp_signed(tok, (__s16)v);
	case 0xd2:
		return kmes_mp_signed(tok, (__s32)v);
	case 0xd3:
		return kmes_mp_signed(tok, (__s64)v);
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8:
		return kmes_mp_ext(pos, end, tok, 1u << (form - 0xd4));
	case 0xd9:
	case 0xda:
	case 0xdb:
		return kmes_mp_take(pos, end, tok, KMES_MP_STR, v);
	case 0xdc:
	case 0xdd:
		return kmes_mp_open(pos, end, tok, KMES_MP_ARRAY, v);
	default:
		return kmes_mp_open(pos, end, tok, KMES_MP_MAP, v);
	}
}

/*
 * Decode the token at *pos and move *pos past it. After a fault, the token and *pos
 * (which is never past end) are meaningless.
 */
static inline enum kmes_mp_fault kmes_mp_step(const __u8 **pos, const __u8 *end,
					      struct kmes_mp_token *tok)
{
	__u8 form;

	if (*pos == end)
		return KMES_MP_TRUNCATED;
	form = *(*pos)++;
	if (form < 0x80)
		return kmes_mp_unsigned(tok, KMES_MP_UINT, form);
	if (form >= 0xe0)
		return kmes_mp_signed(tok, (__s8)form);
	if (form >= 0xc0)
		return kmes_mp_long_form(pos, end, tok, form);
	if (form >= 0xa0)
		return kmes_mp_take(pos, end, tok, KMES_MP_STR, form & 31);
	if (form >= 0x90)
		return kmes_mp_open(pos, end, tok, KMES_MP_ARRAY, form & 15);
	return kmes_mp_open(pos, end, tok, KMES_MP_MAP, form & 15);
}

/* The same, 0 or -EINVAL. */
static inline int kmes_mp_next(const __u8 **pos, const __u8 *end,
			       struct kmes_mp_token *tok)
{
	return kmes_mp_step(pos, end, tok) ? -EINVAL : 0;
}

/* The number of values in a container; cannot overflow, as each has at least a byte. */
static inline __u32 kmes_mp_values(const struct kmes_mp_token *tok)
{
	return tok->type == KMES_MP_MAP ? 2 * tok->count : tok->count;
}

/*
 * The size of each scalar whose first byte determines it, 0 for every other first byte.
 */
static const __u8 kmes_mp_plain_size[256] = {
	[0x00 ... 0x7f] = 1, [0xa0] = 1,  [0xa1] = 2,  [0xa2] = 3,  [0xa3] = 4,
	[0xa4] = 5,	     [0xa5] = 6,  [0xa6] = 7,  [0xa7] = 8,  [0xa8] = 9,
	[0xa9] = 10,	     [0xaa] = 11, [0xab] = 12, [0xac] = 13, [0xad] = 14,
	[0xae] = 15,	     [0xaf] = 16, [0xb0] = 17, [0xb1] = 18, [0xb2] = 19,
	[0xb3] = 20,	     [0xb4] = 21, [0xb5] = 22, [0xb6] = 23, [0xb7] = 24,
	[0xb8] = 25,	     [0xb9] = 26, [0xba] = 27, [0xbb] = 28, [0xbc] = 29,
	[0xbd] = 30,	     [0xbe] = 31, [0xbf] = 32, [0xc0] = 1,  [0xc2 ... 0xc3] = 1,
	[0xca] = 5,	     [0xcb] = 9,  [0xcc] = 2,  [0xcd] = 3,  [0xce] = 5,
	[0xcf] = 9,	     [0xd0] = 2,  [0xd1] = 3,  [0xd2] = 5,  [0xd3] = 9,
	[0xe0 ... 0xff] = 1,
};

/* Step over up to `count` such scalars; returns how many there were. */
static inline __u32 kmes_mp_skip_plain(const __u8 **pos, const __u8 *end, __u32 count)
{
	const __u8 *p = *pos;
	__u32 n;

	for (n = 0; n < count && p < end; n++) {
		__u32 size = kmes_mp_plain_size[*p];

		if (!size || size > (__u64)(end - p))
			break;
		p += size;
	}
	*pos = p;
	return n;
}

/*
 * Whether the len bytes are exactly one valid value, nested at most max_depth deep (which
 * is at most KMES_MP_DEPTH_MAX); KMES_MP_OK if so. Takes time linear in len. The scratch
 * memory need not be initialized and is meaningless afterwards.
 */
static inline enum kmes_mp_fault kmes_mp_check(const void *buf, __u32 len,
					       __u32 max_depth,
					       struct kmes_mp_scratch *scratch)
{
	const __u8 *pos = buf;
	const __u8 *end = pos + len;
	const __u8 *yielded = pos;
	struct kmes_mp_token tok;
	enum kmes_mp_fault fault;
	__u32 depth = 0;
	__u32 left = 1; /* remaining values at this level */

	if (!len)
		return KMES_MP_EMPTY;
	if (max_depth > KMES_MP_DEPTH_MAX)
		max_depth = KMES_MP_DEPTH_MAX;
	for (;;) {
		if (pos - yielded > KMES_MP_STRIDE) {
			kmes_mp_yield();
			yielded = pos;
		}
		left -= kmes_mp_skip_plain(&pos, end,
					   left < KMES_MP_STRIDE ? left : KMES_MP_STRIDE);
		while (!left) {
			if (!depth)
				return pos == end ? KMES_MP_OK : KMES_MP_TRAILING;
			left = scratch->left[--depth];
		}
		fault = kmes_mp_step(&pos, end, &tok);
		if (fault)
			return fault;
		left--;
		if (tok.type == KMES_MP_ARRAY || tok.type == KMES_MP_MAP) {
			if (depth == max_depth)
				return KMES_MP_DEEP;
			scratch->left[depth++] = left;
			left = kmes_mp_values(&tok);
		}
	}
}

/* The same, 0 or -EINVAL. */
static inline int kmes_mp_validate(const void *buf, __u32 len, __u32 max_depth,
				   struct kmes_mp_scratch *scratch)
{
	return kmes_mp_check(buf, len, max_depth, scratch) ? -EINVAL : 0;
}

/* The number of leading ASCII bytes; checks eight at a time. */
static inline __u32 kmes_ascii_run(const __u8 *s, __u32 len)
{
	__u32 n = 0;
	__u64 word;

	while (len - n >= 8) {
		__builtin_memcpy(&word, s + n, sizeof(word));
		if (word & 0x8080808080808080ull)
			break;
		n += 8;
	}
	while (n < len && s[n] < 0x80)
		n++;
	return n;
}

/*
 * Decode the code point at s, which has len bytes, at least 1. Returns its length, 1 to
 * 4. For invalid bytes (surrogates, overlong encodings, values over U+10FFFF, truncated
 * sequences) returns -N, where N (1 to 3) is the length of the longest valid prefix of
 * a code point there, or 1: the bytes that one U+FFFD should replace.
 */
static inline int kmes_utf8_decode(const __u8 *s, __u32 len, __u32 *cp)
{
	__u8 low = 0x80, high = 0xbf; /* bounds of the second byte */
	__u32 v = s[0];
	int n, size;

	if (v < 0x80) {
		*cp = v;
		return 1;
	}
	if (v < 0xc2 || v > 0xf4)
		return -1;
	size = v < 0xe0 ? 2 : v < 0xf0 ? 3 : 4;
	if (v == 0xe0)
		low = 0xa0;
	else if (v == 0xed)
		high = 0x9f;
	else if (v == 0xf0)
		low = 0x90;
	else if (v == 0xf4)
		high = 0x8f;
	v &= 0x7f >> size;
	for (n = 1; n < size; n++) {
		if ((__u32)n == len || s[n] < low || s[n] > high)
			return -n;
		v = v << 6 | (s[n] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*cp = v;
	return size;
}

/*
 * Whether all of it is valid UTF-8. NUL is a character like others; an empty string is
 * valid.
 */
static inline int kmes_utf8_valid(const void *s, __u32 len)
{
	const __u8 *p = s;
	__u32 n = 0;
	__u32 cp;
	int size;

	for (;;) {
		n += kmes_ascii_run(p + n, len - n);
		if (n == len)
			return 1;
		size = kmes_utf8_decode(p + n, len - n, &cp);
		if (size < 0)
			return 0;
		n += size;
	}
}

#endif
