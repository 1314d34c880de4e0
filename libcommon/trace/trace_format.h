/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_format.h - converts kernel trace records to events by the kernel's format files.
 *
 * A format is parsed once and compiled into steps. The event has the type
 * "ftrace.SYSTEM.EVENT" and a map of common_pid and the record's fields under their names
 * in the format: numbers, strings, lists of numbers, or bytes for anything else and for
 * fields that are not in the record.
 */
#ifndef KMES_TRACE_FORMAT_H
#define KMES_TRACE_FORMAT_H

#include "kmes.h"

struct kmes_trace_formats;

int kmesp_trace_formats_new(struct kmes_trace_formats **out);
void kmesp_trace_formats_free(struct kmes_trace_formats *f);

/*
 * Adds the format of one event from the text of its format file. Records whose fields
 * cannot be parsed are converted to bytes. -EBADMSG: the text has no name or no id.
 */
int kmesp_trace_formats_add(struct kmes_trace_formats *f, const char *system,
			    const char *text, size_t len);

/* The parts of an event that are not in its record. */
struct kmes_trace_stamp {
	uint64_t ts_ns, seq;
	uint16_t cpu;
};

/*
 * Writes the event of a record to `to` and returns its size, or 0 if it might not fit
 * into `room` bytes, all of which may be overwritten. A record of an unknown format gets
 * the type "ftrace.unknown.ID" and its bytes under the key "raw"; with `raw`, any record
 * does.
 */
uint32_t kmesp_trace_convert(const struct kmes_trace_formats *f,
			     const struct kmes_trace_stamp *stamp, const uint8_t *record,
			     uint32_t len, bool raw, uint8_t *to, uint32_t room);

#endif
