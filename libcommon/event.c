// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* event.c - parses an event: the packed header, type and payload. */
#include <errno.h>
#include <string.h>

#include "kmes.h"

int kmes_event_parse(struct kmes_event *event, const void *buf, size_t len, uint64_t max)
{
	const uint8_t *bytes = buf;
	struct kmes_event_header h;

	event->size = KMES_HEADER_SIZE;
	if (len < sizeof(h.event_size))
		return 0;
	memcpy(&event->size, bytes, sizeof(event->size));
	if (event->size < KMES_HEADER_SIZE || event->size > max)
		return -EBADMSG;
	if (len < KMES_HEADER_SIZE)
		return 0;

	/* A later revision may have a longer header, which begins with these fields. */
	memcpy(&h, bytes, KMES_HEADER_SIZE);
	if (h.header_size < KMES_HEADER_SIZE + (uint32_t)h.type_len ||
	    h.header_size > event->size)
		return -EBADMSG;
	if (len < event->size)
		return 0;

	event->bytes = bytes;
	event->payload = bytes + h.header_size;
	event->payload_len = event->size - h.header_size;
	event->type = (const char *)bytes + KMES_HEADER_SIZE;
	event->type_len = h.type_len;
	event->ts_ns = h.timestamp;
	event->seq = h.sequence;
	event->cpu = h.cpu_id;
	event->origin = h.origin_class;
	event->payload_is_trusted = false;
	event->effective_token_guid =
		bytes + offsetof(struct kmes_event_header, effective_token_guid);
	event->true_token_guid =
		bytes + offsetof(struct kmes_event_header, true_token_guid);
	event->process_guid = bytes + offsetof(struct kmes_event_header, process_guid);
	return 1;
}
