// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* subbuf.c - iterates over the records of one sub-buffer of a trace ring buffer. */
#include "trace/subbuf.h"

#include <errno.h>
#include <string.h>

#define COMMIT_MISSED (1u << 31)
#define COMMIT_STORED (1u << 30)
#define COMMIT_FLAGS (COMMIT_MISSED | COMMIT_STORED)

#define DELTA_BITS 27
#define STAMP_BITS 59

enum {
	KIND_LONG = 0,
	KIND_PADDING = 29,
	KIND_EXTEND = 30,
	KIND_STAMP = 31,
};

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

int kmesp_subbuf_begin(struct kmes_subbuf *sb, const uint8_t *page, uint32_t size,
		       struct kmes_subbuf_head *head)
{
	/* The upper half of the commit field is sign extension. */
	uint32_t commit = get_u32(page + 8);

	memcpy(&sb->ts_ns, page, sizeof(sb->ts_ns));
	sb->data = page + KMES_SUBBUF_HEADER;
	sb->room = size - KMES_SUBBUF_HEADER;
	sb->off = 0;
	sb->end = 0;
	head->commit = commit & ~COMMIT_FLAGS;
	head->missed = commit & COMMIT_MISSED;
	head->has_count = false;
	if (head->commit > sb->room)
		return -EBADMSG;
	head->has_count = head->missed && commit & COMMIT_STORED &&
			  sb->room - head->commit >= sizeof(uint64_t);
	return 0;
}

uint64_t kmesp_subbuf_missed(const struct kmes_subbuf *sb,
			     const struct kmes_subbuf_head *head)
{
	uint64_t count;

	memcpy(&count, sb->data + head->commit, sizeof(count));
	return count;
}

int kmesp_subbuf_extend(struct kmes_subbuf *sb, uint32_t end)
{
	if (end > sb->room || end < sb->off)
		return -EBADMSG;
	sb->end = end;
	return 0;
}

/* The upper bits of an absolute time stamp come from the previous one. */
static uint64_t whole_stamp(uint64_t low, uint64_t before_ns)
{
	uint64_t ts_ns = low | (before_ns >> STAMP_BITS << STAMP_BITS);

	return ts_ns < before_ns && before_ns >> STAMP_BITS ? ts_ns + (1ull << STAMP_BITS)
							    : ts_ns;
}

static int give_up(struct kmes_subbuf *sb)
{
	sb->off = sb->end;
	return -EBADMSG;
}

/* A record of `len` bytes that begins `skip` bytes after the type word. */
static int take(struct kmes_subbuf *sb, struct kmes_subbuf_record *rec, uint32_t skip,
		uint32_t len)
{
	if (len > sb->end - sb->off - 4 - skip)
		return give_up(sb);
	rec->data = sb->data + sb->off + 4 + skip;
	rec->len = len;
	rec->ts_ns = sb->ts_ns;
	sb->off += 4 + skip + len;
	return 1;
}

int kmesp_subbuf_next(struct kmes_subbuf *sb, struct kmes_subbuf_record *rec)
{
	while (sb->off < sb->end) {
		uint32_t left = sb->end - sb->off, head, kind, delta, word;

		if (left < 4)
			return give_up(sb);
		head = get_u32(sb->data + sb->off);
		kind = head & 31;
		delta = head >> 5;
		if (kind > KIND_LONG && kind < KIND_PADDING) {
			sb->ts_ns += delta;
			return take(sb, rec, 0, kind * 4);
		}
		if (kind == KIND_PADDING && !delta) {
			sb->off = sb->end;
			return 0;
		}
		if (left < 8)
			return give_up(sb);
		word = get_u32(sb->data + sb->off + 4);
		switch (kind) {
		case KIND_LONG:
			/*
			 * The length includes its own word; records are multiples of a
			 * word.
			 */
			if (word < 4 || word & 3)
				return give_up(sb);
			sb->ts_ns += delta;
			return take(sb, rec, 4, word - 4);
		case KIND_PADDING:
			/* A delta of 1 marks a discarded record without a time. */
			if (delta != 1)
				sb->ts_ns += delta;
			if (word & 3 || word > left - 4)
				return give_up(sb);
			sb->off += 4 + word;
			break;
		case KIND_EXTEND:
			sb->ts_ns += ((uint64_t)word << DELTA_BITS) + delta;
			sb->off += 8;
			break;
		case KIND_STAMP:
			sb->ts_ns = whole_stamp(((uint64_t)word << DELTA_BITS) + delta,
						sb->ts_ns);
			sb->off += 8;
			break;
		}
	}
	return 0;
}
