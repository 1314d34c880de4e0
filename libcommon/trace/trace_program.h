/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_program.h - the conversion of records of one format, compiled into steps; private
 * to trace_text.c and trace_format.c, which compile it, and trace_record.c, which runs
 * it.
 *
 * An event is written front to back, one step per field: bytes that are constant for the
 * format, then the field's value. The constant bytes of the first step begin with the
 * event's header and type, so that only sizes, time stamp, sequence and CPU are stored
 * afterwards.
 */
#ifndef KMES_TRACE_PROGRAM_H
#define KMES_TRACE_PROGRAM_H

#include "trace/trace_format.h"

#define KMES_TRACE_IDS 65536u

/* Constant bytes are copied in units of this size and padded for that. */
#define KMES_TRACE_COPY 32u

enum kmes_trace_shape {
	KMES_TRACE_NUMBER,
	KMES_TRACE_LIST, /* of numbers */
	KMES_TRACE_TEXT,
	KMES_TRACE_BYTES,
};

/* The location of a field's bytes. */
enum kmes_trace_place {
	KMES_TRACE_FIXED, /* size bytes at offset */
	KMES_TRACE_REST,  /* from offset to the record's end */
	/* By a 32-bit word at offset: location in the lower half, size in the upper. */
	KMES_TRACE_ABSOLUTE,
	KMES_TRACE_RELATIVE, /* the same, location relative to the end of the word */
};

/* The type of a number: twice the binary logarithm of its size, plus 1 if signed. */
#define KMES_TRACE_ELEMENT(shift, is_signed) ((shift) << 1 | (is_signed))

struct kmes_trace_step {
	uint8_t shape, place;
	uint8_t element; /* KMES_TRACE_ELEMENT, for numbers */
	uint32_t offset, size;
	uint32_t bytes_at, bytes_len; /* the constant bytes before the value */
};

struct kmes_trace_program {
	uint8_t *bytes;
	uint32_t head_len;   /* length of header and type in bytes */
	uint32_t step_count; /* 0: records become bytes */
	struct kmes_trace_step steps[];
};

struct kmes_trace_formats {
	struct kmes_trace_program *by_id[KMES_TRACE_IDS];
};

/*
 * Prepares the text of a format file for libtraceevent; the caller frees it. 0 or
 * -ENOMEM.
 */
int kmesp_trace_text(const char *text, size_t len, char **out, size_t *out_len);

/*
 * Writes the header, without sizes, time stamp, sequence and CPU, and the type. Returns
 * their length, at most KMES_HEADER_SIZE + strlen(type).
 */
uint32_t kmesp_trace_put_head(uint8_t *to, const char *type);

#endif
