// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * capture.c - damaged captures, plain and compressed, under a sanitizer. Everything
 * before the damage must be returned, nothing may be invented after a clean end, and no
 * size in the file may cost memory or time.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "capture/capture.h"
#include "hostile.h"
#include "tap.h"
#include "testring.h"

#define EVENTS_MAX 40
#define ROOM (256u << 10)

static struct hostile random_state = { 20261129 };

struct capture {
	uint8_t bytes[ROOM];
	size_t len;
	int events;
	size_t ends[EVENTS_MAX]; /* where each event ends */
};

static const struct kmes_capture_info info = { .stream_id = "s", .start_ns = 1 };

static void add_random(struct kmes_capture_writer *w, struct capture *c)
{
	uint8_t payload[1500], bytes[4096];
	struct testring_event event = {
		.seq = (uint64_t)c->events + 1,
		.type = "fuzz",
		.payload = payload,
		.payload_len =
			(uint32_t)hostile_value(&random_state, payload, sizeof(payload)),
		.grown = hostile_below(&random_state, 10) ? 0 : 8,
	};
	struct kmes_event e;

	kmes_event_parse(&e, bytes, testring_build(&event, bytes, sizeof(bytes)), ROOM);
	kmesp_capture_add_event(w, &e);
	c->events++;
}

/* An intact capture, read back through its descriptor. */
static bool make(struct capture *c)
{
	struct kmes_capture_options options = { 0 };
	struct kmes_capture_writer *w;
	int i, fd = memfd_create("capture", MFD_CLOEXEC);
	int n = 1 + (int)hostile_below(&random_state, EVENTS_MAX);
	ssize_t len;

	c->events = 0;
	if (fd < 0 || kmesp_capture_begin(&w, dup(fd), &info, &options) < 0)
		return false;
	for (i = 0; i < n; i++) {
		struct kmes_loss loss = { 0, 1, 2, 3 };

		if (!hostile_below(&random_state, 5))
			kmesp_capture_add_loss(w, &loss);
		if (!hostile_below(&random_state, 9))
			kmesp_capture_add_header(w, &info);
		add_random(w, c);
		kmesp_capture_push(w);
		while (kmesp_capture_safe_events(w) < (uint64_t)c->events)
			sched_yield();
		c->ends[i] = (size_t)lseek(fd, 0, SEEK_END);
	}
	if (kmesp_capture_end(w, NULL) < 0)
		return false;
	len = pread(fd, c->bytes, sizeof(c->bytes), 0);
	close(fd);
	c->len = len > 0 ? (size_t)len : 0;
	return len > 0 && (size_t)len < sizeof(c->bytes);
}

/* Compresses in members of random length; returns the length, 0: failed. */
static size_t pack(const struct capture *c, uint8_t *to, size_t size)
{
	size_t at = 0, used = 0;

	while (at < c->len) {
		size_t piece = 1 + hostile_below(&random_state, 5000);
		z_stream z = { 0 };

		if (piece > c->len - at)
			piece = c->len - at;
		if (deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
			return 0;
		z.next_in = (Bytef *)(uintptr_t)(c->bytes + at);
		z.avail_in = (uInt)piece;
		z.next_out = to + used;
		z.avail_out = (uInt)(size - used);
		if (deflate(&z, Z_FINISH) != Z_STREAM_END)
			return 0;
		used = size - z.avail_out;
		deflateEnd(&z);
		at += piece;
	}
	return used;
}

/* A writer of random pieces into a pipe, or a file: the descriptor to read. */
static int offer(const uint8_t *bytes, size_t len)
{
	int fd;

	if (hostile_below(&random_state, 2) && len < 60000) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0 || write(fds[1], bytes, len) < 0)
			return -1;
		close(fds[1]);
		return fds[0];
	}
	fd = memfd_create("damaged", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd;
}

/* Reads to the end: the number of events, the first `*sound` in order; -1: no end. */
static int read_all(const uint8_t *bytes, size_t len, int *sound, int *end)
{
	struct kmes_capture_reader *r;
	struct kmes_item item;
	int rc, events = 0, calls = 0;
	volatile uint8_t sink = 0;

	*sound = 0;
	if (kmesp_capture_open(&r, offer(bytes, len), false) < 0)
		return -1;
	while ((rc = kmesp_capture_next(r, &item)) >= 0 && ++calls < 1000000) {
		if (rc == 0 || item.kind != KMES_ITEM_EVENT)
			continue;
		sink ^= item.event->bytes[item.event->size - 1];
		if (item.event->seq == (uint64_t)events + 1 && *sound == events)
			(*sound)++;
		events++;
	}
	if (rc < 0 && rc != -ENODATA && !*kmesp_capture_error(r))
		events = -1;
	(void)sink;
	kmesp_capture_close(r);
	*end = rc;
	return rc >= 0 ? -1 : events;
}

/* The events that end before byte `at`. */
static int events_before(const struct capture *c, size_t at)
{
	int n = 0;

	while (n < c->events && c->ends[n] <= at)
		n++;
	return n;
}

static size_t first_difference(const uint8_t *a, size_t a_len, const uint8_t *b,
			       size_t b_len)
{
	size_t i = 0;

	while (i < a_len && i < b_len && a[i] == b[i])
		i++;
	return i;
}

static bool try_plain(const struct capture *c)
{
	static uint8_t bytes[ROOM];
	size_t len, at;
	int sound, end;

	memcpy(bytes, c->bytes, c->len);
	len = hostile_damage(&random_state, bytes, c->len);
	at = first_difference(bytes, len, c->bytes, c->len);
	if (read_all(bytes, len, &sound, &end) < 0 || sound < events_before(c, at)) {
		tap_note("damaged at byte %zu of %zu: %d events, %d before it", at,
			 c->len, sound, events_before(c, at));
		return false;
	}
	return true;
}

static bool try_packed(const struct capture *c)
{
	static uint8_t packed[2 * ROOM], bytes[2 * ROOM];
	size_t len = pack(c, packed, sizeof(packed)), cut;
	int sound, end, events;

	if (!len || read_all(packed, len, &sound, &end) != c->events ||
	    sound != c->events || end != -ENODATA) {
		tap_note("%zu bytes in members are not returned", c->len);
		return false;
	}
	/* A truncated capture never has a clean end, nor more events than before. */
	cut = hostile_below(&random_state, (uint32_t)len);
	events = read_all(packed, cut, &sound, &end);
	if (events < 0 || events != sound || events > c->events || end == -ENODATA) {
		tap_note("truncated at %zu of %zu: %d events, %d sound, end %d", cut, len,
			 events, sound, end);
		return false;
	}
	memcpy(bytes, packed, len);
	cut = hostile_damage(&random_state, bytes, len);
	return read_all(bytes, cut, &sound, &end) >= 0;
}

/* A size of 128 MiB in a file of a few bytes; and one followed by real zeros. */
static bool lie_is_cheap(void)
{
	static uint8_t bytes[ROOM];
	const uint32_t size = 128u << 20, header = 100;
	struct rusage before, after;
	int i, sound, end;

	memcpy(bytes, KMES_CAPTURE_MAGIC "\x01", 9);
	memcpy(bytes + 64, &size, 4);
	memcpy(bytes + 68, &header, 4);
	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < 50; i++)
		if (read_all(bytes, 64 + 100 + (size_t)i * 4000, &sound, &end) != 0 ||
		    end != -EPIPE)
			return false;
	getrusage(RUSAGE_SELF, &after);
	tap_note("maximum resident before %ld, after %ld KiB", before.ru_maxrss,
		 after.ru_maxrss);
	return after.ru_maxrss - before.ru_maxrss < 64 << 10;
}

int main(void)
{
	time_t end = time(NULL) + tap_fuzz_seconds();
	static struct capture c;
	unsigned long tried = 0;
	bool ok = true;

	tap_ok(lie_is_cheap(), "a false size takes no memory");
	while (ok && (tried < 500 || time(NULL) < end)) {
		ok = make(&c) && try_plain(&c) && try_packed(&c);
		tried++;
	}
	tap_note("%lu captures", tried);
	tap_ok(ok, "events before the damage are returned");
	return tap_done();
}
