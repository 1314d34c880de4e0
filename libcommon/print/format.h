/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * format.h - events and losses as text for people and programs.
 *
 * A format is a table of functions; its users do not depend on which one it is. The
 * functions write to a struct kmes_outbuf (outbuf.h), make no system calls, do not
 * allocate, ignore the locale, and escape whatever in an event could end a line or
 * control a terminal. An event may have up to 4 GiB and any depth.
 */
#ifndef KMES_FORMAT_H
#define KMES_FORMAT_H
#include "base/outbuf.h"
#include "kmes.h"
#include "print/time_text.h"

struct kmes_formatter;

struct kmes_format {
	const char *name;
	void (*event)(struct kmes_formatter *f, struct kmes_outbuf *out,
		      const struct kmes_event *event);
	void (*loss)(struct kmes_formatter *f, struct kmes_outbuf *out,
		     const struct kmes_loss *loss);
};

extern const struct kmes_format kmesp_format_text;   /* one line per event */
extern const struct kmes_format kmesp_format_pretty; /* with the payload as a block */
extern const struct kmes_format kmesp_format_hex;    /* with the payload undecoded */
extern const struct kmes_format kmesp_format_json;   /* one object per line */

enum kmes_time_style {
	KMES_TIME_CLOCK, /* 20:21:22.123456, UTC */
	KMES_TIME_LOCAL, /* 21:21:22.123456, in the time zone of the process */
	KMES_TIME_ISO,	 /* 2026-11-29T20:21:22.123456789Z */
	KMES_TIME_EPOCH, /* 1796000000.123456789 */
	KMES_TIME_DELTA, /* +0.000123 since the previous printed event */
	KMES_TIME_NONE,
};

struct kmes_format_options {
	enum kmes_time_style time; /* of the text formats */
	bool color;		   /* the same */
	unsigned int width;	   /* the same: truncate lines to this; 0: do not */
	const uint8_t *boot_id;	   /* for JSON: 16 bytes as in a UUID, or NULL */
};

/* A format with its options and its state between events; needs no freeing. */
struct kmes_formatter {
	const struct kmes_format *format;
	struct kmes_format_options options;
	struct kmes_time_cache clock;
	uint64_t last_ns; /* time stamp of the previous printed event */
	bool has_last;
};

void kmesp_formatter_init(struct kmes_formatter *f, const struct kmes_format *format,
			  const struct kmes_format_options *options);

/* Appends the event and a newline. */
static inline void kmesp_formatter_event(struct kmes_formatter *f,
					 struct kmes_outbuf *out,
					 const struct kmes_event *event)
{
	f->format->event(f, out, event);
}

static inline void kmesp_formatter_loss(struct kmes_formatter *f, struct kmes_outbuf *out,
					const struct kmes_loss *loss)
{
	f->format->loss(f, out, loss);
}

/* The style of that name, or -EINVAL. */
int kmesp_time_style_find(const char *name);

#endif
