/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * subbuf.h - the records of one sub-buffer of the kernel's trace ring buffer.
 *
 * A sub-buffer begins with the time stamp of its first record and a commit field. Each
 * record begins with a word: 5 bits type, 27 bits time since the previous record.
 *
 *	0	record with its length in the next word, which is included in it
 *	1..28	record of that many words
 *	29	padding: a discarded record; with a delta of 0, end of the sub-buffer
 *	30	time extend: the next word times 2^27 is added to the delta
 *	31	absolute time stamp, its lower 59 bits
 *
 * Only private copies are parsed, and nothing is read past their end.
 */
#ifndef KMES_SUBBUF_H
#define KMES_SUBBUF_H
#include <stdbool.h>
#include <stdint.h>

/* Time stamp and commit field of 64-bit kernels. */
#define KMES_SUBBUF_HEADER 16u

struct kmes_subbuf {
	const uint8_t *data; /* after the header */
	uint32_t room;	     /* bytes of data in a sub-buffer */
	uint32_t off;	     /* of the next record */
	uint32_t end;	     /* records are available up to here */
	uint64_t ts_ns;	     /* of the previous record */
};

/* The decoded header. */
struct kmes_subbuf_head {
	uint32_t commit; /* bytes of records */
	bool missed;	 /* records before this sub-buffer were overwritten */
	bool has_count;	 /* their number is in the eight bytes after the records */
};

struct kmes_subbuf_record {
	const uint8_t *data;
	uint32_t len;
	uint64_t ts_ns;
};

/*
 * Begins at the first record of a copied sub-buffer of `size` bytes; `end` is 0 until
 * kmesp_subbuf_extend. -EBADMSG: the commit field exceeds the sub-buffer.
 */
int kmesp_subbuf_begin(struct kmes_subbuf *sb, const uint8_t *page, uint32_t size,
		       struct kmes_subbuf_head *head);

/* The number of missed records; the bytes after the records must have been copied. */
uint64_t kmesp_subbuf_missed(const struct kmes_subbuf *sb,
			     const struct kmes_subbuf_head *head);

/* Records were copied up to `end`. 0, or -EBADMSG: not within the sub-buffer. */
int kmesp_subbuf_extend(struct kmes_subbuf *sb, uint32_t end);

/*
 * The next record: 1; 0: none up to the end; -EBADMSG: malformed; the rest up to the end
 * is skipped.
 */
int kmesp_subbuf_next(struct kmes_subbuf *sb, struct kmes_subbuf_record *rec);

#endif
