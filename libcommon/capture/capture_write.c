// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* capture_write.c - adds events and losses to a capture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/block.h"
#include "kmes_pack.h"

struct kmes_capture_writer {
	struct kmes_block_sink *sink;
	struct kmes_block *block; /* being filled, or NULL */
	uint64_t events;	  /* since the header */
	uint64_t bytes;		  /* added */
	bool is_packed;
	int error; /* the first -errno */
};

/* Enqueues the block. 0 or the first -errno. */
static int put_block(struct kmes_capture_writer *w)
{
	w->block = NULL;
	return kmesp_block_put(w->sink);
}

/* Room for `len` more bytes, which the caller fills. 0 or -errno. */
static int reserve(struct kmes_capture_writer *w, size_t len, uint8_t **at)
{
	int rc = 0;

	if (w->error)
		return w->error;
	if (w->block && len > w->block->room - w->block->used)
		rc = put_block(w);
	if (rc == 0 && !w->block) {
		w->block = kmesp_block_get(w->sink, len);
		if (!w->block)
			rc = -ENOMEM;
	}
	if (rc < 0) {
		w->error = rc;
		return rc;
	}
	*at = w->block->data + w->block->used;
	w->block->used += len;
	w->bytes += len;
	return 0;
}

static int put_header(struct kmes_capture_writer *w, const struct kmes_capture_info *info)
{
	struct kmes_capture_header h = {
		.version = KMES_CAPTURE_VERSION,
		.flags = info->flags,
		.start_ns = info->start_ns,
		.slots = info->slots,
	};
	uint8_t *at;
	int rc = reserve(w, sizeof(h), &at);

	if (rc < 0)
		return rc;
	memcpy(h.magic, KMES_CAPTURE_MAGIC, sizeof(h.magic));
	memcpy(h.stream_id, info->stream_id, sizeof(h.stream_id));
	memcpy(h.boot_id, info->boot_id, sizeof(h.boot_id));
	memcpy(at, &h, sizeof(h));
	w->events = 0;
	return 0;
}

int kmesp_capture_begin(struct kmes_capture_writer **out, int fd,
			const struct kmes_capture_info *info,
			const struct kmes_capture_options *options)
{
	struct kmes_capture_writer *w = calloc(1, sizeof(*w));
	struct kmes_block_sink *sink;
	int rc = kmesp_block_sink_new(&sink, fd, options);

	if (rc < 0 || !w) {
		if (rc == 0)
			kmesp_block_sink_close(sink, NULL);
		free(w);
		return rc < 0 ? rc : -ENOMEM;
	}
	w->sink = sink;
	w->is_packed = options->gzip_level != 0;
	rc = put_header(w, info);
	if (rc < 0) {
		kmesp_capture_end(w, NULL);
		return rc;
	}
	*out = w;
	return 0;
}

int kmesp_capture_add_event(struct kmes_capture_writer *w, const struct kmes_event *event)
{
	uint8_t *at;
	int rc = reserve(w, event->size, &at);

	if (rc < 0)
		return rc;
	memcpy(at, event->bytes, event->size);
	w->block->events++;
	w->events++;
	return 0;
}

/* A metadata record: no type, and a map as its payload. */
static int add_record(struct kmes_capture_writer *w, uint16_t cpu, uint64_t seq,
		      uint64_t ts_ns, const struct kmes_pack *payload)
{
	struct kmes_event_header h = {
		.event_size = KMES_HEADER_SIZE + payload->len,
		.header_size = KMES_HEADER_SIZE,
		.timestamp = ts_ns,
		.sequence = seq,
		.cpu_id = cpu,
	};
	uint8_t *at;
	int rc = reserve(w, h.event_size, &at);

	if (rc < 0)
		return rc;
	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), payload->buf, payload->len);
	return 0;
}

int kmesp_capture_add_loss(struct kmes_capture_writer *w, const struct kmes_loss *loss)
{
	uint8_t buf[64];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	kmes_pack_map(&p, 2);
	kmes_pack_text(&p, "first");
	kmes_pack_uint(&p, loss->first);
	kmes_pack_text(&p, "last");
	kmes_pack_uint(&p, loss->last);
	return add_record(w, loss->cpu, loss->first, loss->ts_ns, &p);
}

static int add_end(struct kmes_capture_writer *w)
{
	uint8_t buf[32];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	kmes_pack_map(&p, 1);
	kmes_pack_text(&p, "end");
	kmes_pack_uint(&p, w->events);
	return add_record(w, 0, 0, kmesp_clock_ns(CLOCK_REALTIME), &p);
}

int kmesp_capture_add_header(struct kmes_capture_writer *w,
			     const struct kmes_capture_info *info)
{
	int rc = add_end(w);

	return rc < 0 ? rc : put_header(w, info);
}

int kmesp_capture_push(struct kmes_capture_writer *w)
{
	return w->block ? put_block(w) : kmesp_block_error(w->sink);
}

bool kmesp_capture_has_grown_to(struct kmes_capture_writer *w, uint64_t size)
{
	return w->is_packed ? kmesp_block_has_grown_to(w->sink, size) : w->bytes >= size;
}

uint64_t kmesp_capture_safe_events(struct kmes_capture_writer *w)
{
	return kmesp_block_safe_events(w->sink);
}

int kmesp_capture_end(struct kmes_capture_writer *w, uint64_t *safe_events)
{
	int rc, closed, error = w->error;

	/* What was added before memory ran out is complete: end it properly. */
	if (error == -ENOMEM)
		w->error = 0;
	rc = add_end(w);
	if (rc == 0)
		rc = kmesp_capture_push(w);
	closed = kmesp_block_sink_close(w->sink, safe_events);
	free(w);
	return error ? error : rc < 0 ? rc : closed;
}
