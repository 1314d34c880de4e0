/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * subbuf.h - the records of one sub-buffer of the kernel's trace ring buffer; private to
 * the library.
 *
 * A sub-buffer begins with the time stamp of its first record and a commit word; records
 * follow, each behind a word of 5 bits kind and 27 bits time since the record before:
 *
 *	0	record, its length in the next word, which counts itself
 *	1..28	record of so many words
 *	29	padding: a record given up, or with no time the end of the sub-buffer
 *	30	more time: the next word times 2^27
 *	31	the time itself, the lower 59 bits of it
 *
 * Only private copies are walked, and nothing is read past their end.
 */
#ifndef KMES_SUBBUF_H
#define KMES_SUBBUF_H
#include <stdbool.h>
#include <stdint.h>

/* Time stamp and commit word, as 64-bit kernels have them. */
#define KMES_SUBBUF_HEADER 16u

struct kmes_subbuf {
	const uint8_t *data; /* behind the header */
	uint32_t room;	     /* bytes of data in a sub-buffer */
	uint32_t off;	     /* of the next record */
	uint32_t end;	     /* records are there up to here */
	uint64_t ts_ns;	     /* of the record before */
};

/* What the header tells. */
struct kmes_subbuf_head {
	uint32_t commit; /* bytes of records */
	bool missed;	 /* records before this sub-buffer were overwritten */
	bool has_count;	 /* and it says how many: the eight bytes behind the records */
};

struct kmes_subbuf_record {
	const uint8_t *data;
	uint32_t len;
	uint64_t ts_ns;
};

/*
 * Begins at the first record of a copied sub-buffer of `size` bytes; `end` is 0 until
 * kmesp_subbuf_extend. -EBADMSG when the commit word cannot be true.
 */
int kmesp_subbuf_begin(struct kmes_subbuf *sb, const uint8_t *page, uint32_t size,
		       struct kmes_subbuf_head *head);

/* The count behind the records, which have been copied with it. */
uint64_t kmesp_subbuf_missed(const struct kmes_subbuf *sb,
			     const struct kmes_subbuf_head *head);

/* Records are copied up to `end`: 0, or -EBADMSG when that is not in the sub-buffer. */
int kmesp_subbuf_extend(struct kmes_subbuf *sb, uint32_t end);

/*
 * The next record: 1; 0: none up to the end; -EBADMSG: no record looks like this, and
 * what follows up to the end is given up.
 */
int kmesp_subbuf_next(struct kmes_subbuf *sb, struct kmes_subbuf_record *rec);

#endif
