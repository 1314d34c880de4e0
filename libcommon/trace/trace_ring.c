// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * trace_ring.c - a mapped trace buffer as a ring of events.
 *
 * One ioctl advances the reader: it swaps in the next sub-buffer if ours has been read,
 * and counts all of its present records as read. The records from our offset up to there
 * are new; the writer does not touch them before the next ioctl. They are copied, and
 * parsed and converted in the copy, as many at a time as the ring has room for.
 */
#include "trace/trace_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GET_READER _IO('R', 0x20)
#define REMEASURE_NS 100000000ull
#define MEASURE_TRIES 5

struct trace_ring {
	struct kmes_trace_map *map;
	struct kmes_trace_clock *clock;
	const struct kmes_trace_formats *formats;
	const struct kmes_trace_meta *meta;
	uint8_t *page; /* a private copy of the sub-buffer being read */
	struct kmes_subbuf sb;
	uint32_t subbuf_size;
	uint32_t id;	   /* of the sub-buffer */
	bool begun;	   /* id names a sub-buffer that was read from its start */
	bool is_bad;	   /* corrupt length: skip the rest of the sub-buffer */
	uint32_t pass_off; /* records below were read before the ring was opened */
	struct kmes_trace_loss loss;
	uint64_t seq;		       /* of the previous event */
	uint64_t taken;		       /* records read, by the kernel's counter */
	uint64_t walked;	       /* records read, by ours */
	uint64_t snapshot_ns;	       /* monotonic; later records are ignored */
	bool over;		       /* the snapshot's end was reached */
	struct kmes_subbuf_record rec; /* waits for room */
	bool has_rec;
};

/* ---- the clock ---- */

void kmesp_trace_clock_update(struct kmes_trace_clock *clock)
{
	uint64_t best = UINT64_MAX, before = kmesp_clock_ns(CLOCK_MONOTONIC);
	unsigned int i;

	if (clock->measured_ns && before - clock->measured_ns < REMEASURE_NS)
		return;
	/* The pair of readings closest together gives the best estimate. */
	for (i = 0; i < MEASURE_TRIES; i++) {
		uint64_t real = kmesp_clock_ns(CLOCK_REALTIME);
		uint64_t after = kmesp_clock_ns(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			clock->offset_ns = real - before - best / 2;
		}
		before = after;
	}
	clock->measured_ns = before;
}

/* ---- loss ---- */

static void lose(struct kmes_trace_loss *loss, uint64_t count)
{
	loss->reported += count;
	loss->pending += count;
}

void kmesp_trace_loss_begin(struct kmes_trace_loss *loss,
			    const struct kmes_subbuf_head *head, uint64_t count,
			    uint64_t overrun)
{
	uint64_t most = overrun - loss->reported;

	if (!head->missed || overrun < loss->reported)
		return;
	/* Do not report again what was reported early without a count. */
	lose(loss, head->has_count && count < most ? count : most);
}

void kmesp_trace_loss_settle(struct kmes_trace_loss *loss, uint64_t overrun)
{
	if (overrun > loss->reported)
		lose(loss, overrun - loss->reported);
}

/* ---- the mapping ---- */

int kmesp_trace_map_error(struct kmes_error *err, uint16_t cpu, int error)
{
	switch (error) {
	case -EINVAL:
		return kmes_error_set(err, error, "cpu%u: no trace buffer", cpu);
	case -ENODEV:
		return kmes_error_set(err, error,
				      "tracefs: this kernel cannot map trace buffers "
				      "(needs Linux 6.10)");
	case -EBUSY:
		return kmes_error_set(err, error,
				      "cpu%u: the trace buffer is busy (a snapshot, or "
				      "a tracer that reads it)",
				      cpu);
	case -EACCES:
	case -EPERM:
		return kmes_error_set(
			err, error, "cpu%u: cannot map the trace buffer: %s (needs root)",
			cpu, strerror(-error));
	default:
		return kmes_error_set(err, error,
				      "cpu%u: cannot map the trace buffer: %s", cpu,
				      strerror(-error));
	}
}

void kmesp_trace_unmap(struct kmes_trace_map *map)
{
	if (map->base)
		munmap((void *)map->base, map->length);
	if (map->fd >= 0)
		close(map->fd);
	map->base = NULL;
	map->fd = -1;
}

/* Maps the complete buffer by the sizes in its first page. */
static int map_all(struct kmes_trace_map *map, const struct kmes_trace_meta *meta,
		   size_t page)
{
	void *base;

	if (meta->meta_struct_len < offsetof(struct kmes_trace_meta, reserved) ||
	    meta->meta_page_size < page || meta->subbuf_size < page ||
	    meta->nr_subbufs < 2)
		return -EPROTO;
	map->length = meta->meta_page_size + (size_t)meta->subbuf_size * meta->nr_subbufs;
	base = mmap(NULL, map->length, PROT_READ, MAP_SHARED, map->fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	map->base = base;
	return 0;
}

static int map_buffer(struct kmes_trace_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *meta = mmap(NULL, page, PROT_READ, MAP_SHARED, map->fd, 0);
	int rc;

	if (meta == MAP_FAILED)
		return -errno;
	/* The kernel keeps the sizes while anything is mapped. */
	rc = map_all(map, meta, page);
	munmap(meta, page);
	return rc;
}

int kmesp_trace_map(struct kmes_trace_map *map, const char *folder, uint16_t cpu,
		    struct kmes_error *err)
{
	char path[512];
	int rc;

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", folder, cpu);
	map->base = NULL;
	map->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (map->fd < 0 && errno == ENOENT)
		return kmesp_trace_map_error(err, cpu, -EINVAL);
	rc = map->fd < 0 ? -errno : map_buffer(map);
	if (rc < 0) {
		kmesp_trace_unmap(map);
		return kmesp_trace_map_error(err, cpu, rc);
	}
	return 0;
}

/* ---- the reader ---- */

static void note(struct kmes_ring *ring, const char *what)
{
	const struct trace_ring *t = ring->priv;

	kmes_error_set(&ring->err, 0, "cpu%u: %s in sub-buffer %u at offset %u; skipped",
		       ring->cpu, what, t->id, t->sb.off);
	ring->has_note = true;
}

/* Begins a new sub-buffer: parses its header and accounts for lost records. */
static int begin_subbuf(struct kmes_ring *ring, const uint8_t *from)
{
	struct trace_ring *t = ring->priv;
	struct kmes_subbuf_head head;
	uint64_t count = 0;
	int rc;

	/* Only the first sub-buffer can be partly read before the ring was opened. */
	if (t->begun || t->id != t->meta->reader.id)
		t->pass_off = 0;
	memcpy(t->page, from, KMES_SUBBUF_HEADER);
	rc = kmesp_subbuf_begin(&t->sb, t->page, t->subbuf_size, &head);
	t->id = t->meta->reader.id;
	t->begun = true;
	t->is_bad = rc < 0;
	if (rc < 0)
		return rc;
	if (head.has_count) {
		memcpy(t->page + KMES_SUBBUF_HEADER + head.commit,
		       from + KMES_SUBBUF_HEADER + head.commit, sizeof(count));
		count = kmesp_subbuf_missed(&t->sb, &head);
	}
	kmesp_trace_loss_begin(&t->loss, &head, count, t->meta->overrun);
	return 0;
}

/* Copies the new records after an advance. 1; 0: none; or -EBADMSG. */
static int take_records(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;
	const struct kmes_trace_meta *meta = t->meta;
	uint32_t to = meta->reader.read, at = KMES_SUBBUF_HEADER;
	const uint8_t *from = t->map->base + meta->meta_page_size;
	int rc;

	if (meta->reader.id >= meta->nr_subbufs)
		return -EBADMSG;
	from += (size_t)meta->reader.id * t->subbuf_size;
	if (!t->begun || t->id != meta->reader.id) {
		rc = begin_subbuf(ring, from);
		if (rc < 0)
			return rc;
	}
	at += t->sb.end;
	if (to == t->sb.end || t->is_bad)
		return 0;
	rc = kmesp_subbuf_extend(&t->sb, to);
	if (rc < 0) {
		t->is_bad = true;
		return rc;
	}
	memcpy(t->page + at, from + at, KMES_SUBBUF_HEADER + to - at);
	return 1;
}

/* Records that could not be parsed are lost; the kernel's counter gives their number. */
static void count_unparsed(struct trace_ring *t)
{
	if (t->taken > t->walked)
		t->loss.pending += t->taken - t->walked;
	t->walked = t->taken;
}

/*
 * Another process may clear the buffer ("echo >trace"): its counters restart at 0, and
 * the number of records that were in it is unknown.
 */
static void check_for_clear(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;

	if (t->meta->read >= t->taken && t->meta->overrun >= t->loss.reported)
		return;
	kmes_error_set(
		&ring->err, 0,
		"cpu%u: another process cleared the trace buffer; its records are gone",
		ring->cpu);
	ring->has_note = true;
	t->loss.reported = 0;
	t->walked = 0;
	t->begun = false;
}

/* Advances the reader. 1: there are records; 0: none; or -errno. */
static int advance(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;
	int rc;

	while (ioctl(t->map->fd, GET_READER) < 0) {
		rc = -errno;
		if (rc == -EAGAIN)
			return 0;
		if (rc != -EINTR)
			return kmes_error_set(&ring->err, rc,
					      "cpu%u: cannot read the trace buffer: %s",
					      ring->cpu, strerror(-rc));
	}
	check_for_clear(ring);
	t->taken = t->meta->read;
	rc = take_records(ring);
	if (rc < 0)
		note(ring, "corrupt length");
	if (rc < 0 || t->is_bad)
		count_unparsed(t);
	else if (rc == 0)
		kmesp_trace_loss_settle(&t->loss, t->meta->overrun);
	return rc > 0;
}

/* Converts the current record. False: no room in the ring's buffer. */
static bool put_record(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;
	struct kmes_trace_stamp stamp = {
		.ts_ns = t->rec.ts_ns + t->clock->offset_ns,
		.seq = t->seq + t->loss.pending + 1,
		.cpu = ring->cpu,
	};
	uint8_t *to = ring->buf + ring->len;
	uint32_t size, room = ring->size - ring->len;

	size = kmesp_trace_convert(t->formats, &stamp, t->rec.data, t->rec.len, false, to,
				   room);
	if (!size && ring->len)
		return false;
	if (!size) /* larger than the empty buffer */
		size = kmesp_trace_convert(t->formats, &stamp, t->rec.data, t->rec.len,
					   true, to, room);
	t->seq = stamp.seq;
	t->loss.pending = size ? 0 : 1;
	ring->len += size;
	return true;
}

/* Is the current record to be converted? */
static bool is_wanted(struct trace_ring *t)
{
	if (t->sb.off <= t->pass_off)
		return false;
	t->walked++;
	if (t->rec.ts_ns > t->snapshot_ns)
		t->over = true;
	return !t->over;
}

/* Converts records while there is room. */
static void convert(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;
	int rc = 1;

	while (!t->over) {
		if (!t->has_rec) {
			rc = kmesp_subbuf_next(&t->sb, &t->rec);
			if (rc <= 0)
				break;
			t->has_rec = is_wanted(t);
			if (!t->has_rec)
				continue;
		}
		if (!put_record(ring))
			return;
		t->has_rec = false;
	}
	if (rc < 0) {
		note(ring, "malformed record");
		count_unparsed(t);
	}
}

static int trace_fill(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;
	int rc;

	ring->pos += ring->len;
	ring->off = 0;
	ring->len = 0;
	kmesp_trace_clock_update(t->clock);
	for (;;) {
		convert(ring);
		if (ring->len || t->over)
			break;
		rc = advance(ring);
		if (rc <= 0)
			return rc;
	}
	ring->known = ring->pos + ring->len;
	return ring->len > 0;
}

/* Cannot happen: the buffer holds events that we have written. */
static void trace_recover(struct kmes_ring *ring)
{
	ring->off = ring->len;
}

static uint64_t trace_newest(const struct kmes_ring *ring)
{
	return ring->known;
}

/* The descriptor is polled instead. */
static bool trace_has_news(const struct kmes_ring *ring)
{
	(void)ring;
	return false;
}

static void trace_close(struct kmes_ring *ring)
{
	struct trace_ring *t = ring->priv;

	kmesp_trace_unmap(t->map);
	free(t->page);
	free(t);
	ring->priv = NULL;
	ring->fd = -1;
}

static const struct kmes_ring_ops trace_ops = {
	.is_polled = true,
	.fill = trace_fill,
	.recover = trace_recover,
	.newest = trace_newest,
	.has_news = trace_has_news,
	.close = trace_close,
};

int kmesp_trace_ring_open(struct kmes_ring *ring, struct kmes_trace_map *map,
			  struct kmes_trace_clock *clock,
			  const struct kmes_trace_formats *formats, bool snapshot,
			  struct kmes_error *err)
{
	struct trace_ring *t = calloc(1, sizeof(*t));

	if (!t)
		return kmes_error_set(err, -ENOMEM, "out of memory");
	t->map = map;
	t->clock = clock;
	t->formats = formats;
	t->meta = (const struct kmes_trace_meta *)map->base;
	t->subbuf_size = t->meta->subbuf_size;
	t->page = calloc(1, t->subbuf_size);
	if (!t->page) {
		free(t);
		return kmes_error_set(err, -ENOMEM, "out of memory");
	}
	t->id = t->meta->reader.id;
	t->pass_off = t->meta->reader.read;
	t->walked = t->meta->read;
	t->snapshot_ns = snapshot ? kmesp_clock_ns(CLOCK_MONOTONIC) : UINT64_MAX;
	ring->ops = &trace_ops;
	ring->priv = t;
	ring->fd = map->fd;
	ring->payload_is_trusted = true;
	/*
	 * The instance is ours from its start, so records lost before the first are
	 * reported.
	 */
	ring->has_last = true;
	return 0;
}
