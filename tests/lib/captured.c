// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* captured.c - see captured.h. */
#include "captured.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testring.h"
#include "unit.h"

const struct kmes_capture_info captured_info = {
	.stream_id = { 's', 't', 'r', 'e', 'a', 'm', '-', 'i', 'd', '-', '1', '6', 'b',
		       'y', 't', 'e' },
	.boot_id = { 'b', 'o', 'o', 't', '-', 'i', 'd', '-', '1', '6', '-', 'b', 'y', 't',
		     'e', 's' },
	.start_ns = 0x1122334455667788,
	.slots = 3,
};
const struct kmes_capture_options captured_plain, captured_packed = { .gzip_level = 1 };

/* One event in four is incompressible. */
static uint8_t byte_at(uint64_t seq, uint32_t at)
{
	uint64_t v = seq % 4 == 2 ? seq << 32 | at : 0;

	v = (v ^ v >> 29) * 0xbf58476d1ce4e5b9u;
	v = (v ^ v >> 32) * 0x94d049bb133111ebu;
	return (uint8_t)(seq + (v >> 56));
}

void captured_add(struct kmes_capture_writer *w, uint64_t seq, uint32_t len)
{
	uint8_t *payload = malloc(len + 1), *bytes = malloc(len + 200);
	struct testring_event event = {
		.ts_ns = 1000 + seq,
		.seq = seq,
		.cpu = 2,
		.type = "some.type",
		.payload = payload,
		.payload_len = len,
	};
	struct kmes_event e;
	uint32_t i, size;

	assert_true(payload && bytes);
	for (i = 0; i < len; i++)
		payload[i] = byte_at(seq, i);
	size = testring_build(&event, bytes, len + 200);
	assert_int_equal(kmes_event_parse(&e, bytes, size, size), 1);
	assert_int_equal(kmesp_capture_add_event(w, &e), 0);
	free(payload);
	free(bytes);
}

bool captured_is(const struct kmes_item *item, uint64_t seq, uint32_t len)
{
	const struct kmes_event *e = item->event;
	uint32_t i;

	if (item->kind != KMES_ITEM_EVENT || e->seq != seq || e->payload_len != len)
		return false;
	for (i = 0; i < len; i++)
		if (e->payload[i] != byte_at(seq, i))
			return false;
	return e->ts_ns == 1000 + seq && e->cpu == 2 && e->type_len == 9 &&
	       !memcmp(e->type, "some.type", 9);
}

uint32_t captured_size(uint64_t seq)
{
	if (seq % 1000 == 7) /* more than a block */
		return 1300000;
	return (uint32_t)(seq * 2654435761u % 2000);
}

int captured_file(struct kmes_capture_writer **w,
		  const struct kmes_capture_options *options)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(kmesp_capture_begin(w, dup(fd), &captured_info, options), 0);
	return fd;
}
