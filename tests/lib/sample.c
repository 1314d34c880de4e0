// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* sample.c - sample events, and what a format prints for them. */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>

const uint8_t sample_null_guid[16];

static struct kmes_outbuf printed;

struct kmes_event sample_event(const void *payload, size_t len)
{
	struct kmes_event event = {
		.payload = payload,
		.payload_len = len,
		.type = "t",
		.type_len = 1,
		.ts_ns = SAMPLE_NS,
		.seq = 17,
		.effective_token_guid = sample_null_guid,
		.true_token_guid = sample_null_guid,
		.process_guid = sample_null_guid,
	};

	return event;
}

static void *exact_copy(const void *bytes, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

const char *sample_format(struct kmes_formatter *f, const struct kmes_event *event)
{
	struct kmes_event copy = *event;
	void *payload = exact_copy(event->payload, event->payload_len);
	void *type = exact_copy(event->type, event->type_len);

	if (!printed.data && kmesp_outbuf_init(&printed))
		abort();
	printed.len = 0;
	copy.payload = payload;
	copy.type = type;
	kmesp_formatter_event(f, &printed, &copy);
	free(payload);
	free(type);
	if (printed.error)
		abort();
	*kmesp_out_room(&printed, kmesp_out_begin(&printed), 1) = 0;
	return printed.data;
}

struct kmes_formatter sample_formatter(const struct kmes_format *format,
				       struct kmes_format_options options)
{
	struct kmes_formatter f;

	kmesp_formatter_init(&f, format, &options);
	return f;
}

const char *sample_print(const struct kmes_format *format, const void *payload,
			 size_t len, struct kmes_format_options options)
{
	struct kmes_formatter f = sample_formatter(format, options);
	struct kmes_event event = sample_event(payload, len);

	return sample_format(&f, &event);
}

size_t sample_length(void)
{
	return printed.len;
}
