/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* sample.h - sample events, and what a format prints for them. */
#ifndef KMES_TESTS_SAMPLE_H
#define KMES_TESTS_SAMPLE_H

#include "print/format.h"

/*
 * An event on CPU 0 with sequence 17, timestamp 2026-11-29T20:21:22.123456789Z, from user
 * space, of type "t", null GUIDs. The payload is not copied.
 */
struct kmes_event sample_event(const void *payload, size_t len);

/* A binary value that is S-1-5-18. */
#define SAMPLE_SYSTEM_SID "\xc4\x0c\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00"

#define SAMPLE_NS 1795983682123456789ull
extern const uint8_t sample_null_guid[16];

/*
 * What the format prints for it, terminated; valid until the next call. The payload is
 * copied to an allocation of its size, so that sanitizers see any overrun.
 */
const char *sample_format(struct kmes_formatter *f, const struct kmes_event *event);

/* A formatter with these options. */
struct kmes_formatter sample_formatter(const struct kmes_format *format,
				       struct kmes_format_options options);

/* Options for lines that begin with the CPU. */
#define SAMPLE_NO_TIME                                                                   \
	(struct kmes_format_options)                                                     \
	{                                                                                \
		.time = KMES_TIME_NONE                                                   \
	}

/* What a format prints for the event with this payload. */
const char *sample_print(const struct kmes_format *format, const void *payload,
			 size_t len, struct kmes_format_options options);

/* The length of the above; it must not contain NUL. */
size_t sample_length(void);

#endif
