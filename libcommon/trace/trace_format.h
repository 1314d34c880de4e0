/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_format.h - kernel trace records to events, by the formats that the kernel tells;
 * private to the library.
 *
 * A format is parsed once, into the steps from a record to its event. The event has the
 * type "ftrace.SYSTEM.EVENT" and a map of common_pid and the record's own fields, named as in
 * the format: numbers, strings, lists of numbers, and bytes where it is none of these or
 * not in the record.
 */
#ifndef KMES_TRACE_FORMAT_H
#define KMES_TRACE_FORMAT_H

#include "kmes.h"

struct kmes_trace_formats;

int kmesp_trace_formats_new(struct kmes_trace_formats **out);
void kmesp_trace_formats_free(struct kmes_trace_formats *f);

/*
 * Adds the format of one event from the text of its format file. Records of one whose
 * fields cannot be understood are shown as bytes; -EBADMSG when it does not even tell a
 * name and a number.
 */
int kmesp_trace_formats_add(struct kmes_trace_formats *f, const char *system,
			    const char *text, size_t len);

/* What an event has beside its record. */
struct kmes_trace_stamp {
	uint64_t ts_ns, seq;
	uint16_t cpu;
};

/*
 * Writes the event of a record to `to`: its size, or 0 when it might not fit into `room`
 * bytes; up to there bytes behind it may be overwritten. A record of an unknown format
 * has the type "ftrace.unknown.ID" and its bytes under the key "raw"; with `raw` any
 * record is shown so.
 */
uint32_t kmesp_trace_convert(const struct kmes_trace_formats *f,
			     const struct kmes_trace_stamp *stamp, const uint8_t *record,
			     uint32_t len, bool raw, uint8_t *to, uint32_t room);

#endif
