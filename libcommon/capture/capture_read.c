// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* capture_read.c - parses a capture: all complete events, also after damage. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/inflate.h"
#include "kmes_msgpack.h"

#define START_ROOM (256u << 10)
/* No event is larger than half of the largest ring. */
#define EVENT_MAX (KMES_CAPACITY_MAX / 2)
/* After this many ignored records the caller can check for signals. */
#define PASSED_MAX 10000

struct kmes_capture_reader {
	struct kmes_inflate *in;
	bool follow;
	bool has_header;
	bool has_ended;	   /* since the header read last */
	bool is_busy;	   /* the last 0 did not mean an end of the data */
	bool has_note;	   /* err.text is to be returned */
	bool is_damaged;   /* something is missing since the header read last */
	bool is_searching; /* for the next valid member */
	bool has_searched; /* the bytes after the last member */
	int search_end;	   /* the result if there is none */
	struct kmes_capture_info info;
	uint64_t events;	 /* since that header */
	uint64_t checked_events; /* of these, before the current member */
	uint64_t at;		 /* position of buf[off] in the data */
	uint8_t *buf;
	size_t room, off, len;
	struct kmes_event event;
	struct kmes_error err;
};

int kmesp_capture_open_file(const char *file)
{
	int fd;

	if (!strcmp(file, "-"))
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int kmesp_capture_open(struct kmes_capture_reader **out, int fd, bool follow)
{
	struct kmes_capture_reader *r = calloc(1, sizeof(*r));
	struct kmes_inflate *in;
	int rc = kmesp_inflate_new(&in, fd);

	if (rc < 0 || !r) {
		if (rc == 0)
			kmesp_inflate_free(in);
		free(r);
		return -ENOMEM;
	}
	r->in = in;
	r->follow = follow;
	r->room = START_ROOM;
	r->buf = malloc(r->room);
	if (!r->buf) {
		kmesp_capture_close(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void kmesp_capture_close(struct kmes_capture_reader *r)
{
	if (!r)
		return;
	kmesp_inflate_free(r->in);
	free(r->buf);
	free(r);
}

const char *kmesp_capture_error(const struct kmes_capture_reader *r)
{
	return r->err.text;
}

const char *kmesp_capture_warning(const struct kmes_capture_reader *r)
{
	return kmesp_inflate_warning(r->in);
}

const struct kmes_capture_info *kmesp_capture_info(const struct kmes_capture_reader *r)
{
	return r->has_header ? &r->info : NULL;
}

bool kmesp_capture_is_same_info(const struct kmes_capture_info *a,
				const struct kmes_capture_info *b)
{
	return !memcmp(a->stream_id, b->stream_id, sizeof(a->stream_id)) &&
	       !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) &&
	       a->start_ns == b->start_ns && a->slots == b->slots && a->flags == b->flags;
}

static void pass(struct kmes_capture_reader *r, size_t bytes)
{
	r->off += bytes;
	r->at += bytes;
}

/* Does a member begin like one of ours, with a record or a header? */
static bool is_record_start(void *arg, const uint8_t *bytes, size_t len)
{
	const struct kmes_capture_reader *r = arg;
	struct kmes_event e;

	if (len >= KMES_CAPTURE_HEADER_SIZE && !memcmp(bytes, KMES_CAPTURE_MAGIC, 8))
		return true;
	return r->has_header && len >= KMES_HEADER_SIZE &&
	       kmes_event_parse(&e, bytes, len, EVENT_MAX) >= 0;
}

static void append_error(struct kmes_capture_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends to the message in err. */
static void append_error(struct kmes_capture_reader *r, const char *format, ...)
{
	size_t len = strlen(r->err.text);
	va_list args;

	va_start(args, format);
	vsnprintf(r->err.text + len, sizeof(r->err.text) - len, format, args);
	va_end(args);
}

/*
 * Searches for the next valid member after damage, which err describes, and discards a
 * partial record. 1; the result at the end of the file; or -errno.
 */
static int resume(struct kmes_capture_reader *r)
{
	int rc = kmesp_inflate_resume(r->in, is_record_start, r);

	r->is_searching = rc == -EINTR;
	if (rc == 0)
		return r->search_end;
	if (rc < 0)
		return rc;
	pass(r, r->len - r->off);
	append_error(r, "; continues with the next valid member");
	r->has_note = true;
	r->is_damaged = true;
	return 1;
}

/* Room for more bytes. 0 or -ENOMEM. */
static int make_room(struct kmes_capture_reader *r)
{
	uint8_t *buf;

	if (r->off) {
		memmove(r->buf, r->buf + r->off, r->len - r->off);
		r->len -= r->off;
		r->off = 0;
	}
	if (r->len < r->room)
		return 0;
	/* Grows only as data arrives, not by an untrusted size. */
	buf = realloc(r->buf, r->room * 2);
	if (!buf)
		return kmes_error_set(&r->err, -ENOMEM,
				      "out of memory for an event of more than %zu bytes",
				      r->room);
	r->buf = buf;
	r->room *= 2;
	return 0;
}

/* Damage in a member may show only at the checksum at its end. */
static void add_doubt(struct kmes_capture_reader *r)
{
	if (kmesp_inflate_unchecked(r->in) && r->events > r->checked_events)
		append_error(r, "; the %llu events before it may be wrong",
			     (unsigned long long)(r->events - r->checked_events));
}

static int begin_search(struct kmes_capture_reader *r, int end, const char *what)
{
	r->search_end = kmes_error_set(&r->err, end, "%s after byte %llu", what,
				       (unsigned long long)(r->at + r->len));
	add_doubt(r);
	return r->follow ? end : resume(r);
}

/* Reads more data: 1; 0: the present end; or -errno. */
static int fill(struct kmes_capture_reader *r)
{
	int64_t n;

	if (r->is_searching)
		return resume(r);
	n = make_room(r);
	if (n < 0)
		return (int)n;
	n = kmesp_inflate_read(r->in, r->buf + r->len, r->room - r->len);
	if (n == -EBADMSG)
		return begin_search(r, -EBADMSG, "damaged gzip data");
	if (n == 0 && kmesp_inflate_is_junk(r->in) && !r->has_searched) {
		r->has_searched = true;
		return begin_search(r, 0, "no gzip member");
	}
	if (n == -EINTR || n == -EAGAIN)
		return (int)n;
	if (n < 0)
		return kmes_error_set(&r->err, (int)n, "cannot read: %s",
				      strerror((int)-n));
	r->has_searched = false;
	r->len += (size_t)n;
	/* A member begins with these bytes; all events before it have been returned. */
	if (n > 0 && kmesp_inflate_unchecked(r->in) == (uint64_t)n)
		r->checked_events = r->events;
	return n > 0;
}

static int take_header(struct kmes_capture_reader *r)
{
	struct kmes_capture_header h;

	memcpy(&h, r->buf + r->off, sizeof(h));
	if (h.version != KMES_CAPTURE_VERSION)
		return kmes_error_set(&r->err, -EPROTO,
				      "capture version %u, this program reads %u",
				      h.version, KMES_CAPTURE_VERSION);
	/* Concatenated to a truncated capture: report that events may be missing. */
	if (r->events && !r->has_ended && !r->is_damaged) {
		kmes_error_set(&r->err, 0,
			       "has no end before the capture that begins at byte %llu",
			       (unsigned long long)r->at);
		r->has_note = true;
	}
	r->info.flags = h.flags;
	memcpy(r->info.stream_id, h.stream_id, sizeof(h.stream_id));
	memcpy(r->info.boot_id, h.boot_id, sizeof(h.boot_id));
	r->info.start_ns = h.start_ns;
	r->info.slots = h.slots;
	r->has_header = true;
	r->has_ended = false;
	r->is_damaged = false;
	r->events = 0;
	r->checked_events = 0;
	pass(r, sizeof(h));
	return 0;
}

/* Finds an unsigned number by its key in a map of scalars. False: absent. */
static bool find_number(const struct kmes_event *e, const char *key, uint64_t *number)
{
	const uint8_t *pos = e->payload, *end = e->payload + e->payload_len;
	struct kmes_mp_token map, name, value;
	uint64_t i;

	if (kmes_mp_next(&pos, end, &map) < 0 || map.type != KMES_MP_MAP)
		return false;
	for (i = 0; i < map.count; i++) {
		if (kmes_mp_next(&pos, end, &name) < 0 ||
		    kmes_mp_next(&pos, end, &value) < 0)
			return false;
		if (name.type == KMES_MP_STR && name.len == strlen(key) &&
		    !memcmp(name.data, key, name.len) && value.type == KMES_MP_UINT) {
			*number = value.value.u;
			return true;
		}
	}
	return false;
}

/* A metadata record. 1: a loss or a note in `item`; 0; or -errno. */
static int take_record(struct kmes_capture_reader *r, struct kmes_item *item)
{
	uint64_t first, last, end;

	if (find_number(&r->event, "first", &first) &&
	    find_number(&r->event, "last", &last)) {
		/* Sequences start at 1. */
		if (!first || first > last) {
			kmes_error_set(&r->err, -EBADMSG,
				       "invalid loss record before byte %llu",
				       (unsigned long long)r->at);
			add_doubt(r);
			return -EBADMSG;
		}
		item->kind = KMES_ITEM_LOSS;
		item->loss.cpu = r->event.cpu;
		item->loss.first = first;
		item->loss.last = last;
		item->loss.ts_ns = r->event.ts_ns;
		return 1;
	}
	if (!find_number(&r->event, "end", &end))
		return 0;
	if (end > r->events && r->is_damaged) {
		kmes_error_set(&r->err, 0, "%llu of %llu events are missing",
			       (unsigned long long)(end - r->events),
			       (unsigned long long)end);
		r->has_ended = true;
		item->kind = KMES_ITEM_NOTE;
		item->note = r->err.text;
		return 1;
	}
	if (end != r->events) {
		kmes_error_set(&r->err, -EBADMSG,
			       "has %llu events, but its end record says %llu",
			       (unsigned long long)r->events, (unsigned long long)end);
		add_doubt(r);
		return -EBADMSG;
	}
	r->has_ended = true;
	return 0;
}

/* Reports a file that does not begin with a header, by its format if that is known. */
static int reject_file(struct kmes_capture_reader *r, const uint8_t *bytes, size_t len)
{
	static const struct {
		const char *magic, *format;
	} formats[] = {
		{ "\x28\xb5\x2f\xfd", "zstd (use zstdcat)" },
		{ "\xfd\x37zXZ", "xz (use xzcat)" },
		{ "\x04\x22\x4d\x18", "lz4 (use lz4cat)" },
		{ "BZh", "bzip2 (use bzcat)" },
		{ "\xd4\xc3\xb2\xa1", "pcap" },
		{ "\xa1\xb2\xc3\xd4", "pcap" },
		{ "\x4d\x3c\xb2\xa1", "pcap" },
		{ "\xa1\xb2\x3c\x4d", "pcap" },
		{ "\x0a\x0d\x0d\x0a", "pcapng" },
		{ "\x17\x08\x44tracing", "trace-cmd's trace.dat" },
	};
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t size = strlen(formats[i].magic);

		if (len >= size && !memcmp(bytes, formats[i].magic, size))
			return kmes_error_set(&r->err, -EPROTO,
					      "not a KMES capture, but %s",
					      formats[i].format);
	}
	return kmes_error_set(&r->err, -EPROTO, "not a KMES capture");
}

/* Not an event. In a gzip member this is damage, too: search for the next valid one. */
static int reject_record(struct kmes_capture_reader *r)
{
	int rc;

	r->search_end = kmes_error_set(&r->err, -EBADMSG, "not an event at byte %llu",
				       (unsigned long long)r->at);
	add_doubt(r);
	if (r->follow || !kmesp_inflate_is_packed(r->in))
		return -EBADMSG;
	rc = resume(r);
	return rc > 0 ? 0 : rc;
}

/*
 * Parses the buffered data: 1: an item; 0: more data is needed; or -errno, -EINTR after
 * PASSED_MAX ignored records.
 */
static int parse(struct kmes_capture_reader *r, struct kmes_item *item,
		 unsigned int *passed)
{
	while ((*passed)++ < PASSED_MAX) {
		const uint8_t *at = r->buf + r->off;
		size_t len = r->len - r->off;
		size_t magic = len < 8 ? len : 8;
		int rc;

		if (!len)
			return 0;
		if (!memcmp(at, KMES_CAPTURE_MAGIC, magic)) {
			if (len < KMES_CAPTURE_HEADER_SIZE)
				return 0;
			rc = take_header(r);
			if (rc < 0 || r->has_note)
				return rc;
			continue;
		}
		if (!r->has_header)
			return reject_file(r, at, len);
		rc = kmes_event_parse(&r->event, at, len, EVENT_MAX);
		if (rc < 0)
			return reject_record(r);
		if (rc == 0)
			return 0;
		pass(r, r->event.size);
		if (r->event.type_len) {
			r->events++;
			r->has_ended = false;
			item->kind = KMES_ITEM_EVENT;
			item->event = &r->event;
			return 1;
		}
		rc = take_record(r, item);
		if (rc)
			return rc;
	}
	return -EINTR;
}

/* The result at the end of the data. */
static int judge_end(struct kmes_capture_reader *r)
{
	if (r->off == r->len && !r->has_header && !kmesp_inflate_is_truncated(r->in))
		return kmes_error_set(&r->err, -EPROTO, "not a KMES capture: empty file");
	/* Without an end record it was truncated, even if only between two events. */
	if (r->off < r->len || kmesp_inflate_is_truncated(r->in) || !r->has_ended)
		return kmes_error_set(&r->err, -EPIPE,
				      "truncated (still being written?)");
	return -ENODATA;
}

/* At the end of a followed file: 0, or -errno if it cannot grow from here. */
static int judge_growth(struct kmes_capture_reader *r)
{
	if (!kmesp_inflate_has_shrunk(r->in))
		return 0;
	return kmes_error_set(&r->err, -ESTALE,
			      "was truncated or replaced while followed");
}

int kmesp_capture_next(struct kmes_capture_reader *r, struct kmes_item *item)
{
	unsigned int passed = 0;
	int rc;

	do {
		rc = r->has_note ? 0 : parse(r, item, &passed);
		if (r->has_note) {
			r->has_note = false;
			item->kind = KMES_ITEM_NOTE;
			item->note = r->err.text;
			return 1;
		}
		if (rc == 0)
			rc = fill(r);
		else if (rc != -EINTR)
			return rc;
	} while (rc > 0);
	r->is_busy = rc == -EINTR;
	if (rc == -EINTR || rc == -EAGAIN)
		return 0;
	if (rc < 0)
		return rc;
	return r->follow && kmesp_inflate_can_grow(r->in) ? judge_growth(r)
							  : judge_end(r);
}

bool kmesp_capture_wait(const struct kmes_capture_reader *r, int timeout_ms, int watch_fd)
{
	return kmesp_inflate_wait(r->in, r->is_busy ? 0 : timeout_ms, watch_fd);
}
