// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * trace_record.c - converts trace records to events by the program of their format.
 *
 * Room is checked once per field, for the largest value it can have; bytes written past
 * the end of a value are overwritten by the next one.
 */
#include <stdio.h>
#include <string.h>

#include "base/pack_fast.h"
#include "kmes_pack.h"
#include "trace/trace_program.h"

/* The state of a conversion. */
struct conversion {
	const uint8_t *record;
	uint32_t len;
	const uint8_t *constant; /* the program's bytes */
	uint8_t *to;		 /* the next byte of the event */
	uint8_t *end;
};

/* ---- numbers ---- */

/* Inlined with sizes known at compile time. */
static inline __attribute__((always_inline)) uint8_t *
put_numbers(uint8_t *to, const uint8_t *at, uint32_t count, uint32_t size, bool is_signed)
{
	const uint8_t *end = at + (size_t)count * size;

	for (; at != end; at += size) {
		uint64_t v = 0;

		memcpy(&v, at, size);
		if (is_signed)
			to = kmesp_pack_int(to, (int64_t)(v << (64 - 8 * size)) >>
							(64 - 8 * size));
		else
			to = kmesp_pack_uint(to, v);
	}
	return to;
}

static inline __attribute__((always_inline)) uint8_t *
put_elements(uint8_t *to, unsigned int element, const uint8_t *at, uint32_t count)
{
	switch (element) {
	case KMES_TRACE_ELEMENT(0, 0):
		return put_numbers(to, at, count, 1, false);
	case KMES_TRACE_ELEMENT(0, 1):
		return put_numbers(to, at, count, 1, true);
	case KMES_TRACE_ELEMENT(1, 0):
		return put_numbers(to, at, count, 2, false);
	case KMES_TRACE_ELEMENT(1, 1):
		return put_numbers(to, at, count, 2, true);
	case KMES_TRACE_ELEMENT(2, 0):
		return put_numbers(to, at, count, 4, false);
	case KMES_TRACE_ELEMENT(2, 1):
		return put_numbers(to, at, count, 4, true);
	case KMES_TRACE_ELEMENT(3, 0):
		return put_numbers(to, at, count, 8, false);
	default:
		return put_numbers(to, at, count, 8, true);
	}
}

/* ---- fields ---- */

/* The constant bytes before a value of at most `most` bytes. NULL: no room. */
static inline uint8_t *put_constant(const struct conversion *c,
				    const struct kmes_trace_step *step, uint64_t most)
{
	const uint8_t *from = c->constant + step->bytes_at;
	uint32_t i = 0, len = step->bytes_len;

	if ((uint64_t)(c->end - c->to) < len + KMES_TRACE_COPY + KMES_PUT_SIZE + most)
		return NULL;
	do {
		memcpy(c->to + i, from + i, KMES_TRACE_COPY);
		i += KMES_TRACE_COPY;
	} while (i < len);
	return c->to + len;
}

static uint8_t *put_bytes(const struct conversion *c, const struct kmes_trace_step *step,
			  const uint8_t *at, uint32_t size, bool is_text)
{
	uint8_t *to = put_constant(c, step, size);

	if (!to)
		return NULL;
	if (is_text) {
		size = (uint32_t)strnlen((const char *)at, size);
		to = kmesp_pack_str(to, size);
	} else {
		to = kmesp_pack_bin(to, size);
	}
	memcpy(to, at, size);
	return to + size;
}

/* The available bytes of a field that is not completely in the record. */
static uint8_t *put_remains(const struct conversion *c,
			    const struct kmes_trace_step *step)
{
	uint32_t offset = step->offset < c->len ? step->offset : c->len;
	uint32_t left = c->len - offset;

	return put_bytes(c, step, c->record + offset,
			 left < step->size ? left : step->size, false);
}

static uint8_t *put_list(const struct conversion *c, const struct kmes_trace_step *step,
			 const uint8_t *at, uint32_t size)
{
	uint32_t count = size >> (step->element >> 1);
	/* A number grows by one byte at most. */
	uint8_t *to = put_constant(c, step, (uint64_t)size + count);

	if (!to)
		return NULL;
	return put_elements(kmesp_pack_array(to, count), step->element, at, count);
}

/* Locates a field's bytes. False: they are not in the record. */
static inline bool find_bytes(const struct conversion *c,
			      const struct kmes_trace_step *step, const uint8_t **at,
			      uint32_t *size)
{
	uint64_t offset = step->offset;
	uint32_t word;

	if (step->place == KMES_TRACE_FIXED) {
		*size = step->size;
	} else if (step->place == KMES_TRACE_REST) {
		*size = offset <= c->len ? c->len - step->offset : 0;
	} else {
		if (offset + sizeof(word) > c->len)
			return false;
		memcpy(&word, c->record + offset, sizeof(word));
		offset = step->place == KMES_TRACE_RELATIVE ? offset + 4 : 0;
		offset += word & 0xFFFF;
		*size = word >> 16;
	}
	if (offset + *size > c->len)
		return false;
	*at = c->record + offset;
	return true;
}

/* Writes the constant bytes and the value; returns their end, or NULL: no room. */
static inline uint8_t *put_field(const struct conversion *c,
				 const struct kmes_trace_step *step)
{
	const uint8_t *at;
	uint32_t size;
	uint8_t *to;

	if (!find_bytes(c, step, &at, &size))
		return put_remains(c, step);
	switch (step->shape) {
	case KMES_TRACE_NUMBER:
		to = put_constant(c, step, 0);
		return to ? put_elements(to, step->element, at, 1) : NULL;
	case KMES_TRACE_LIST:
		return put_list(c, step, at, size);
	default:
		return put_bytes(c, step, at, size, step->shape == KMES_TRACE_TEXT);
	}
}

/* ---- events ---- */

uint32_t kmesp_trace_put_head(uint8_t *to, const char *type)
{
	size_t len = strlen(type);
	struct kmes_event_header h = {
		.header_size = (uint32_t)(KMES_HEADER_SIZE + len),
		.origin_class = KMES_ORIGIN_TRACE,
		.type_len = (uint16_t)len,
	};

	memcpy(to, &h, KMES_HEADER_SIZE);
	memcpy(to + KMES_HEADER_SIZE, type, len);
	return h.header_size;
}

/* Stores the fields of the header that differ between events of a format. */
static uint32_t finish(uint8_t *to, const struct kmes_trace_stamp *stamp, uint32_t size)
{
	memcpy(to + offsetof(struct kmes_event_header, event_size), &size, sizeof(size));
	memcpy(to + offsetof(struct kmes_event_header, timestamp), &stamp->ts_ns, 8);
	memcpy(to + offsetof(struct kmes_event_header, sequence), &stamp->seq, 8);
	memcpy(to + offsetof(struct kmes_event_header, cpu_id), &stamp->cpu, 2);
	return size;
}

static uint32_t convert_raw(const struct kmes_trace_program *program, uint32_t id,
			    const struct kmes_trace_stamp *stamp, const uint8_t *record,
			    uint32_t len, uint8_t *to, uint32_t room)
{
	struct kmes_pack p = kmes_pack_begin(to, room);

	if (program) {
		kmes_pack_bytes(&p, program->bytes, program->head_len);
	} else {
		uint8_t head[KMES_HEADER_SIZE + 32];
		char type[32];

		snprintf(type, sizeof(type), "ftrace.unknown.%u", id);
		kmes_pack_bytes(&p, head, kmesp_trace_put_head(head, type));
	}
	kmes_pack_map(&p, 1);
	kmes_pack_text(&p, "raw");
	kmes_pack_bin(&p, record, len);
	return kmes_pack_is_whole(&p) ? finish(to, stamp, p.len) : 0;
}

uint32_t kmesp_trace_convert(const struct kmes_trace_formats *f,
			     const struct kmes_trace_stamp *stamp, const uint8_t *record,
			     uint32_t len, bool raw, uint8_t *to, uint32_t room)
{
	const struct kmes_trace_program *program;
	const struct kmes_trace_step *step, *last;
	struct conversion c = { record, len, NULL, to, to + room };
	uint16_t id = 0;

	if (len >= sizeof(id))
		memcpy(&id, record, sizeof(id));
	program = f->by_id[id];
	if (!program || !program->step_count || raw)
		return convert_raw(program, id, stamp, record, len, to, room);
	c.constant = program->bytes;
	last = program->steps + program->step_count;
	for (step = program->steps; step < last; step++) {
		c.to = put_field(&c, step);
		if (!c.to)
			return 0;
	}
	return finish(to, stamp, (uint32_t)(c.to - to));
}
