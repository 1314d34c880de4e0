/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_program.h - what is done to a record of one format, worked out once; private to
 * trace_text.c and trace_format.c, which make it, and trace_record.c, which follows it.
 *
 * An event is written from front to end, a step a field: bytes that are the same in all
 * events of the format, then the field's value. The first step's bytes begin with the
 * event's header and type, so that only its stamps have to be put in afterwards.
 */
#ifndef KMES_TRACE_PROGRAM_H
#define KMES_TRACE_PROGRAM_H

#include "trace/trace_format.h"

#define KMES_TRACE_IDS 65536u

/* Constant bytes are copied so many at a time: there are as many more behind them. */
#define KMES_TRACE_COPY 32u

enum kmes_trace_shape {
	KMES_TRACE_NUMBER,
	KMES_TRACE_LIST, /* of numbers */
	KMES_TRACE_TEXT,
	KMES_TRACE_BYTES,
};

/* Where a field's bytes are. */
enum kmes_trace_place {
	KMES_TRACE_FIXED, /* size bytes at offset */
	KMES_TRACE_REST,  /* from offset to the record's end */
	/* A word at offset says: at lower half, upper half bytes of them; */
	KMES_TRACE_ABSOLUTE,
	KMES_TRACE_RELATIVE, /* the same, counted from behind that word. */
};

/* How a number is to be read: the power of two that its size is, twice, and 1 if signed. */
#define KMES_TRACE_ELEMENT(shift, is_signed) ((shift) << 1 | (is_signed))

struct kmes_trace_step {
	uint8_t shape, place;
	uint8_t element; /* KMES_TRACE_ELEMENT, of numbers */
	uint32_t offset, size;
	uint32_t bytes_at, bytes_len; /* the constant bytes in front of the value */
};

struct kmes_trace_program {
	uint8_t *bytes;
	uint32_t head_len;   /* of them are header and type */
	uint32_t step_count; /* 0: records are shown as bytes */
	struct kmes_trace_step steps[];
};

struct kmes_trace_formats {
	struct kmes_trace_program *by_id[KMES_TRACE_IDS];
};

/* A format's text for libtraceevent's parser, to be freed. 0 or -ENOMEM. */
int kmesp_trace_text(const char *text, size_t len, char **out, size_t *out_len);

/*
 * Puts header and type of events of a type; lengths, stamps and CPU left out. Returns
 * their length, at most KMES_HEADER_SIZE + strlen(type).
 */
uint32_t kmesp_trace_put_head(uint8_t *to, const char *type);

#endif
