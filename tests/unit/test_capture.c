/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Captures: bytes of the format, round trips through memory files, cuts, full disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "testring.h"

static const struct kmes_capture_info info = {
	.stream_id = "stream-id-16byte",
	.boot_id = "boot-id-16-bytes",
	.start_ns = 0x1122334455667788,
	.slots = 3,
};
static const struct kmes_capture_options plain, packed = { .gzip_level = 1 };

/* Event `seq` with a payload of `len` bytes, each its sequence's low byte. */
static void add_event(struct kmes_capture_writer *w, uint64_t seq, uint32_t len)
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
	uint32_t size;

	assert_true(payload && bytes);
	memset(payload, (int)(uint8_t)seq, len);
	size = testring_build(&event, bytes, len + 200);
	assert_int_equal(kmes_event_parse(&e, bytes, size, size), 1);
	assert_int_equal(kmes_capture_add_event(w, &e), 0);
	free(payload);
	free(bytes);
}

static bool is_event(const struct kmes_item *item, uint64_t seq, uint32_t len)
{
	const struct kmes_event *e = item->event;
	uint32_t i;

	if (item->kind != KMES_ITEM_EVENT || e->seq != seq || e->payload_len != len)
		return false;
	for (i = 0; i < len; i++)
		if (e->payload[i] != (uint8_t)seq)
			return false;
	return e->ts_ns == 1000 + seq && e->cpu == 2 && e->type_len == 9 &&
	       !memcmp(e->type, "some.type", 9);
}

/* An empty file in memory; the writer has one descriptor of it, the test another. */
static int new_file(struct kmes_capture_writer **w,
		    const struct kmes_capture_options *options)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(kmes_capture_begin(w, dup(fd), &info, options), 0);
	return fd;
}

static struct kmes_capture_reader *open_at(int fd, off_t at, bool follow)
{
	struct kmes_capture_reader *r;
	char path[64];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(own >= 0 && lseek(own, at, SEEK_SET) == at);
	assert_int_equal(kmes_capture_open(&r, own, follow), 0);
	return r;
}

static size_t slurp(int fd, uint8_t *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size, 0);

	assert_true(n >= 0 && (size_t)n < size);
	return (size_t)n;
}

/* ---- the format ---- */

static void capture_bytes_are_those_of_the_format(void **state)
{
	static const uint8_t head[64] = "KMESCAP1\x01\0\0\0\0\0\0\0"
					"stream-id-16byteboot-id-16-bytes"
					"\x88\x77\x66\x55\x44\x33\x22\x11\x03";
	static const char loss[] = "\x82\xa5"
				   "first\x07\xa4last\xcd\x01\x2c";
	static const char last[] = "\x81\xa3"
				   "end\x02";
	struct kmes_capture_writer *w;
	struct kmes_loss lost = { .cpu = 5, .first = 7, .last = 300, .ts_ns = 99 };
	struct kmes_event_header h;
	uint8_t buf[1024];
	uint64_t safe;
	size_t len;
	int fd = new_file(&w, &plain);

	(void)state;
	add_event(w, 6, 4);
	assert_int_equal(kmes_capture_add_loss(w, &lost), 0);
	add_event(w, 301, 4);
	assert_int_equal(kmes_capture_end(w, &safe), 0);
	assert_int_equal(safe, 2);
	len = slurp(fd, buf, sizeof(buf));
	assert_int_equal(len, 64 + 90 + (77 + 16) + 90 + (77 + 6));
	assert_memory_equal(buf, head, 64);
	memcpy(&h, buf + 64 + 90, sizeof(h));
	assert_int_equal(h.event_size, 77 + 16);
	assert_int_equal(h.header_size, 77);
	assert_int_equal(h.type_len, 0);
	assert_int_equal(h.cpu_id, 5);
	assert_int_equal(h.sequence, 7);
	assert_int_equal(h.timestamp, 99);
	assert_memory_equal(buf + 64 + 90 + 77, loss, 16);
	memcpy(&h, buf + len - 83, sizeof(h));
	assert_int_equal(h.event_size, 83);
	assert_int_equal(h.type_len, 0);
	assert_memory_equal(buf + len - 6, last, 6);
	close(fd);
}

/* ---- there and back ---- */

static uint32_t size_of(uint64_t seq)
{
	if (seq % 1000 == 7) /* more than a block */
		return 1300000;
	return (uint32_t)(seq * 2654435761u % 2000);
}

static void round_trip(const struct kmes_capture_options *options)
{
	struct kmes_capture_reader *r;
	struct kmes_capture_writer *w;
	struct kmes_item item;
	uint64_t seq, safe;
	int fd = new_file(&w, options);

	for (seq = 1; seq <= 4000; seq++) {
		add_event(w, seq, size_of(seq));
		if (seq % 37 == 0)
			assert_int_equal(kmes_capture_push(w), 0);
		if (seq == 2000) {
			struct kmes_loss lost = { 2, 5000000001, 5000000002, 77 };

			assert_int_equal(kmes_capture_add_loss(w, &lost), 0);
		}
	}
	assert_int_equal(kmes_capture_end(w, &safe), 0);
	assert_int_equal(safe, 4000);
	r = open_at(fd, 0, false);
	assert_null(kmes_capture_info(r));
	for (seq = 1; seq <= 4000; seq++) {
		assert_int_equal(kmes_capture_next(r, &item), 1);
		assert_true(is_event(&item, seq, size_of(seq)));
		if (seq == 2000) {
			assert_int_equal(kmes_capture_next(r, &item), 1);
			assert_int_equal(item.kind, KMES_ITEM_LOSS);
			assert_int_equal(item.loss.cpu, 2);
			assert_true(item.loss.first == 5000000001);
			assert_true(item.loss.last == 5000000002);
			assert_int_equal(item.loss.ts_ns, 77);
		}
	}
	assert_int_equal(kmes_capture_next(r, &item), -ENODATA);
	assert_memory_equal(kmes_capture_info(r)->stream_id, info.stream_id, 16);
	assert_memory_equal(kmes_capture_info(r)->boot_id, info.boot_id, 16);
	assert_true(kmes_capture_info(r)->start_ns == info.start_ns);
	assert_int_equal(kmes_capture_info(r)->slots, 3);
	assert_string_equal(kmes_capture_warning(r), "");
	kmes_capture_close(r);
	close(fd);
}

static void capture_plain_comes_back_as_it_was(void **state)
{
	(void)state;
	round_trip(&plain);
}

static void capture_packed_by_threads_keeps_the_order(void **state)
{
	static const struct kmes_capture_options best = { .gzip_level = 9 };

	(void)state;
	round_trip(&packed);
	round_trip(&best);
}

static void capture_header_within_begins_a_new_count(void **state)
{
	struct kmes_capture_info other = info;
	struct kmes_capture_reader *r;
	struct kmes_capture_writer *w;
	struct kmes_item item;
	uint64_t safe;
	int fd = new_file(&w, &plain);

	(void)state;
	memcpy(other.boot_id, "another-boot-id.", 16);
	add_event(w, 1, 1);
	assert_int_equal(kmes_capture_add_header(w, &other), 0);
	add_event(w, 2, 1);
	add_event(w, 3, 1);
	assert_int_equal(kmes_capture_end(w, &safe), 0);
	assert_int_equal(safe, 3);
	r = open_at(fd, 0, false);
	assert_int_equal(kmes_capture_next(r, &item), 1);
	assert_memory_equal(kmes_capture_info(r)->boot_id, info.boot_id, 16);
	assert_int_equal(kmes_capture_next(r, &item), 1);
	assert_memory_equal(kmes_capture_info(r)->boot_id, other.boot_id, 16);
	assert_true(is_event(&item, 2, 1));
	assert_int_equal(kmes_capture_next(r, &item), 1);
	assert_int_equal(kmes_capture_next(r, &item), -ENODATA);
	kmes_capture_close(r);
	close(fd);
}

/* ---- cuts and growth ---- */

/* Five events in three pushes; returns the length. */
static size_t small_capture(const struct kmes_capture_options *options, uint8_t *buf,
			    size_t size)
{
	struct kmes_capture_writer *w;
	int fd = new_file(&w, options);
	uint64_t seq;
	size_t len;

	for (seq = 1; seq <= 5; seq++) {
		add_event(w, seq, 30);
		if (seq % 2)
			assert_int_equal(kmes_capture_push(w), 0);
	}
	assert_int_equal(kmes_capture_end(w, NULL), 0);
	len = slurp(fd, buf, size);
	close(fd);
	return len;
}

static int file_of(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("prefix", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

static void check_prefixes(const struct kmes_capture_options *options)
{
	uint8_t buf[4096];
	size_t cut, len = small_capture(options, buf, sizeof(buf));
	uint64_t seq, before = 1;

	for (cut = 0; cut < len; cut++) {
		struct kmes_capture_reader *r;
		struct kmes_item item;
		int rc, fd = file_of(buf, cut);

		r = open_at(fd, 0, false);
		for (seq = 1; (rc = kmes_capture_next(r, &item)) == 1; seq++)
			assert_true(is_event(&item, seq, 30));
		assert_int_equal(rc, cut ? -EPIPE : -EPROTO);
		assert_string_equal(
			kmes_capture_error(r),
			cut ? "ends in the middle of an event (still being written?)"
			    : "not a KMES capture: it is empty");
		assert_true(seq >= before);
		/* Plain, every event of 116 bytes that is whole. */
		if (!options->gzip_level)
			assert_int_equal(seq - 1, cut < 64 + 116 ? 0
						  : cut > 64 + 5 * 116
							  ? 5
							  : (cut - 64) / 116);
		before = seq;
		kmes_capture_close(r);
		close(fd);
	}
	assert_int_equal(before, 6);
}

static void capture_prefixes_give_their_whole_events(void **state)
{
	(void)state;
	check_prefixes(&plain);
	check_prefixes(&packed);
}

/* ---- damage ---- */

enum { MEMBERS = 6, EACH = 4 };

/* Events in members of EACH; where each member ends. The end record is the last one's. */
static size_t capture_in_members(uint8_t *buf, size_t size, size_t *ends)
{
	struct kmes_capture_writer *w;
	int i, fd = new_file(&w, &packed);
	uint64_t seq = 0;
	size_t len = 0;

	for (i = 0; i < MEMBERS; i++) {
		while (seq < (uint64_t)(i + 1) * EACH) {
			seq++;
			add_event(w, seq, 30 + (uint32_t)seq % 7 * 11);
		}
		assert_int_equal(kmes_capture_push(w), 0);
		while (kmes_capture_safe_events(w) < seq)
			usleep(100);
		ends[i] = (size_t)lseek(fd, 0, SEEK_END);
	}
	assert_int_equal(kmes_capture_end(w, NULL), 0);
	len = slurp(fd, buf, size);
	close(fd);
	return len;
}

/* Reads to the end: how it ended, which events came, and how many notes. */
static int read_damaged(int fd, bool *came, unsigned int *notes, char *note, size_t size)
{
	struct kmes_capture_reader *r = open_at(fd, 0, false);
	struct kmes_item item;
	int rc;

	memset(came, 0, MEMBERS * EACH + 1);
	*notes = 0;
	while ((rc = kmes_capture_next(r, &item)) >= 0) {
		uint64_t seq;

		if (rc && item.kind == KMES_ITEM_NOTE) {
			(*notes)++;
			snprintf(note, size, "%s", item.note);
			continue;
		}
		seq = rc && item.kind == KMES_ITEM_EVENT ? item.event->seq : 0;
		if (seq < 1 || seq > MEMBERS * EACH ||
		    !is_event(&item, seq, 30 + (uint32_t)seq % 7 * 11))
			continue;
		assert_false(came[seq]); /* none twice */
		came[seq] = true;
	}
	kmes_capture_close(r);
	return rc;
}

static void capture_damaged_member_costs_that_member_alone(void **state)
{
	static uint8_t buf[8192], damaged[8192];
	bool came[MEMBERS * EACH + 1];
	size_t ends[MEMBERS], at, len = capture_in_members(buf, sizeof(buf), ends);
	unsigned int notes, told = 0;
	char note[512];

	(void)state;
	/* The first has the header, without which there is nothing; the last has the end. */
	for (at = ends[0]; at < ends[MEMBERS - 1]; at++) {
		uint64_t seq, first = 1;
		unsigned int missing = 0;
		int rc, fd;

		while (at >= ends[(first - 1) / EACH])
			first += EACH;
		memcpy(damaged, buf, len);
		damaged[at] ^= 0x55;
		fd = file_of(damaged, len);
		rc = read_damaged(fd, came, &notes, note, sizeof(note));
		for (seq = 1; seq <= MEMBERS * EACH; seq++) {
			missing += !came[seq];
			if (!came[seq] && (seq < first || seq >= first + EACH))
				fail_msg("byte %zu: event %d is not there", at, (int)seq);
		}
		/* What is missing is said; and the number, unless one was made up. */
		if (missing)
			assert_true(notes || rc == -EBADMSG);
		if (missing && rc == -ENODATA && notes == 2) {
			char text[64];

			snprintf(text, sizeof(text), "%u of 24 events are missing",
				 missing);
			told += !strcmp(note, text);
		}
		close(fd);
	}
	assert_true(told > (ends[MEMBERS - 1] - ends[0]) / 2);
}

static void capture_damage_is_survived_only_where_one_can_go_back(void **state)
{
	static uint8_t buf[8192];
	size_t ends[MEMBERS], len = capture_in_members(buf, sizeof(buf), ends);
	struct kmes_capture_reader *r;
	struct kmes_item item;
	int fds[2], rc, events = 0;

	(void)state;
	memset(buf + ends[1] + 20, 0xff, 20);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], buf, len), (ssize_t)len);
	close(fds[1]);
	assert_int_equal(kmes_capture_open(&r, fds[0], false), 0);
	while ((rc = kmes_capture_next(r, &item)) == 1)
		events++;
	assert_int_equal(rc, -EBADMSG);
	assert_true(events >= 2 * EACH && events < 3 * EACH);
	kmes_capture_close(r);
}

static void capture_junk_between_members_is_passed_over_and_told(void **state)
{
	static uint8_t buf[8192], junk[3 << 20];
	size_t ends[MEMBERS], len = capture_in_members(buf, sizeof(buf), ends);
	bool came[MEMBERS * EACH + 1];
	unsigned int notes, seq;
	char note[512];
	int fd = memfd_create("junk", MFD_CLOEXEC);

	(void)state;
	/* Among it what looks like the beginning of a member. */
	memcpy(junk + 1000, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
	memcpy(junk + 65534, "\x1f\x8b\x08\0\0\0\0\0\0\3junk", 14);
	assert_int_equal(write(fd, buf, ends[2]), (ssize_t)ends[2]);
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(write(fd, buf + ends[2], len - ends[2]),
			 (ssize_t)(len - ends[2]));
	assert_int_equal(read_damaged(fd, came, &notes, note, sizeof(note)), -ENODATA);
	assert_int_equal(notes, 1);
	assert_non_null(strstr(note, "goes on with the next sound member"));
	for (seq = 1; seq <= MEMBERS * EACH; seq++)
		assert_true(came[seq]);
	/* Behind the last one it is what it was: odd. */
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(read_damaged(fd, came, &notes, note, sizeof(note)), -ENODATA);
	assert_int_equal(notes, 1);
	close(fd);
}

static void grow(const struct kmes_capture_options *options)
{
	uint8_t buf[4096];
	size_t i, len = small_capture(options, buf, sizeof(buf));
	int fd = memfd_create("growing", MFD_CLOEXEC);
	struct kmes_capture_reader *r = open_at(fd, 0, true);
	struct kmes_item item;
	uint64_t seq = 0;

	for (i = 0; i < len; i++) {
		assert_int_equal(kmes_capture_next(r, &item), 0);
		assert_int_equal(write(fd, buf + i, 1), 1);
		if (kmes_capture_next(r, &item) == 1)
			assert_true(is_event(&item, ++seq, 30));
	}
	assert_int_equal(seq, 5);
	/* Behind the end there may be more, unless the file is shorter by now. */
	assert_int_equal(kmes_capture_next(r, &item), 0);
	assert_int_equal(ftruncate(fd, (off_t)len - 1), 0);
	assert_int_equal(kmes_capture_next(r, &item), -ESTALE);
	kmes_capture_close(r);
	close(fd);
}

static void capture_followed_grows_byte_by_byte(void **state)
{
	(void)state;
	grow(&plain);
	grow(&packed);
}

static void capture_from_a_pipe_never_waits(void **state)
{
	uint8_t buf[4096];
	size_t len = small_capture(&plain, buf, sizeof(buf));
	struct kmes_capture_reader *r;
	struct kmes_item item;
	uint64_t seq;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	/* Followed or not: a pipe's end is the end. */
	assert_int_equal(kmes_capture_open(&r, fds[0], true), 0);
	assert_int_equal(kmes_capture_next(r, &item), 0);
	assert_false(kmes_capture_wait(r, 10, -1));
	assert_int_equal(write(fds[1], buf, 200), 200);
	assert_int_equal(kmes_capture_next(r, &item), 1);
	assert_true(is_event(&item, 1, 30));
	assert_int_equal(kmes_capture_next(r, &item), 0);
	assert_int_equal(write(fds[1], buf + 200, len - 200), (ssize_t)(len - 200));
	close(fds[1]);
	for (seq = 2; seq <= 5; seq++) {
		assert_int_equal(kmes_capture_next(r, &item), 1);
		assert_true(is_event(&item, seq, 30));
	}
	assert_int_equal(kmes_capture_next(r, &item), -ENODATA);
	kmes_capture_close(r);
}

static void capture_of_nothing_lets_the_caller_look_around(void **state)
{
	enum { HEADERS = 30000 };
	uint8_t *bytes = calloc(HEADERS, 64), buf[4096];
	struct kmes_capture_reader *r;
	struct kmes_item item;
	int i, fd, zeros = 0, rc;

	(void)state;
	assert_non_null(bytes);
	small_capture(&plain, buf, sizeof(buf));
	for (i = 0; i < HEADERS; i++)
		memcpy(bytes + i * 64, buf, 64);
	fd = file_of(bytes, HEADERS * 64);
	r = open_at(fd, 0, false);
	while ((rc = kmes_capture_next(r, &item)) == 0)
		zeros++;
	assert_int_equal(rc, -EPIPE);
	assert_true(zeros >= 2 && zeros < 100);
	kmes_capture_close(r);
	close(fd);
	free(bytes);
}

/* ---- failing ---- */

struct space {
	int calls, give;
};

static int make_space(void *arg)
{
	struct space *space = arg;

	errno = EACCES; /* whoever asks keeps its own */
	return ++space->calls <= space->give;
}

static void fill_the_full(int level)
{
	struct space space = { .give = 3 };
	struct kmes_capture_options options = {
		.gzip_level = level,
		.make_space = make_space,
		.arg = &space,
	};
	struct kmes_capture_writer *w;
	uint64_t safe = 1;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(kmes_capture_begin(&w, fd, &info, &options), 0);
	add_event(w, 1, 10);
	kmes_capture_push(w);
	assert_int_equal(kmes_capture_end(w, &safe), -ENOSPC);
	assert_int_equal(safe, 0);
	assert_int_equal(space.calls, 4);
}

static void capture_on_a_full_disk_asks_for_space_first(void **state)
{
	(void)state;
	fill_the_full(0);
	fill_the_full(1);
}

/* Until what was sent on is written, or has failed. */
static void wait_until_written(struct kmes_capture_writer *w)
{
	alarm(60);
	while (kmes_capture_unwritten(w))
		usleep(1000);
	alarm(0);
}

static void capture_after_an_error_takes_nothing_more(void **state)
{
	struct kmes_loss lost = { 1, 1, 1, 1 };
	struct kmes_capture_writer *w;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(kmes_capture_begin(&w, fd, &info, &plain), 0);
	assert_int_equal(kmes_capture_push(w), 0);
	wait_until_written(w);
	assert_int_equal(kmes_capture_push(w), -ENOSPC);
	kmes_capture_add_loss(w, &lost);
	assert_int_equal(kmes_capture_safe_events(w), 0);
	assert_int_equal(kmes_capture_end(w, NULL), -ENOSPC);
}

static bool is_stopping(void *arg)
{
	(void)arg;
	return true;
}

static void capture_into_a_stuck_pipe_is_given_up(void **state)
{
	struct kmes_capture_options options = { .is_stopping = is_stopping };
	int fds[2];

	(void)state;
	for (options.gzip_level = 0; options.gzip_level < 2; options.gzip_level++) {
		struct kmes_capture_writer *w;
		uint64_t safe;

		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		assert_int_equal(fcntl(fds[1], F_SETPIPE_SZ, 4096), 4096);
		assert_int_equal(write(fds[1], &options, 1), 1);
		assert_int_equal(kmes_capture_begin(&w, fds[1], &info, &options), 0);
		add_event(w, 1, 100);
		assert_int_equal(kmes_capture_end(w, &safe), -ETIMEDOUT);
		assert_int_equal(safe, 0);
		close(fds[0]);
	}
}

/* Reads a pipe to its end, and what came out of it. */
struct drain {
	int fd;
	uint64_t events;
	int end;
};

static void *drain_main(void *arg)
{
	struct drain *d = arg;
	struct kmes_capture_reader *r;
	struct kmes_item item;

	if (kmes_capture_open(&r, d->fd, false) < 0)
		return NULL;
	while ((d->end = kmes_capture_next(r, &item)) >= 0) {
		if (!d->end)
			kmes_capture_wait(r, 100, -1);
		else if (item.kind == KMES_ITEM_EVENT && item.event->seq == d->events + 1)
			d->events++;
	}
	kmes_capture_close(r);
	return NULL;
}

static void take_more(const struct kmes_capture_options *options)
{
	enum { BLOCKS = 120 };
	struct kmes_capture_writer *w;
	struct drain drain = { 0 };
	pthread_t thread;
	uint64_t seq, safe;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(kmes_capture_begin(&w, dup(fds[1]), &info, options), 0);
	/* It is full with the first blocks, and nobody reads: who writes stands still. */
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) > 0);
	alarm(60);
	for (seq = 1; seq <= BLOCKS; seq++) {
		add_event(w, seq, 100000);
		assert_int_equal(kmes_capture_push(w), 0);
	}
	assert_true(kmes_capture_unwritten(w) > 0);
	assert_true(kmes_capture_safe_events(w) < BLOCKS);
	close(fds[1]);
	drain.fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, drain_main, &drain), 0);
	assert_int_equal(kmes_capture_end(w, &safe), 0);
	assert_int_equal(safe, BLOCKS);
	assert_int_equal(pthread_join(thread, NULL), 0);
	alarm(0);
	assert_int_equal(drain.events, BLOCKS);
	assert_int_equal(drain.end, -ENODATA);
}

static void capture_takes_more_while_nothing_goes_out(void **state)
{
	(void)state;
	take_more(&plain);
	take_more(&packed);
}

static void capture_safe_events_are_those_in_the_file(void **state)
{
	struct kmes_capture_writer *w;
	int fd = new_file(&w, &plain);

	(void)state;
	add_event(w, 1, 10);
	add_event(w, 2, 10);
	assert_int_equal(kmes_capture_safe_events(w), 0);
	assert_int_equal(kmes_capture_push(w), 0);
	wait_until_written(w);
	assert_int_equal(kmes_capture_safe_events(w), 2);
	assert_true(kmes_capture_has_grown_to(w, 64 + 2 * 96));
	assert_false(kmes_capture_has_grown_to(w, 64 + 2 * 96 + 1));
	assert_int_equal(lseek(fd, 0, SEEK_END), 64 + 2 * 96);
	add_event(w, 3, 10);
	assert_int_equal(kmes_capture_end(w, NULL), 0);
	close(fd);
}

static void capture_packed_size_is_waited_for(void **state)
{
	struct kmes_capture_writer *w;
	int fd = new_file(&w, &packed);
	uint64_t seq = 0;

	(void)state;
	while (!kmes_capture_has_grown_to(w, 20000)) {
		seq++;
		add_event(w, seq, size_of(seq));
	}
	assert_true(lseek(fd, 0, SEEK_END) >= 20000);
	/* It was not a hundred blocks later that this was seen. */
	assert_int_equal(kmes_capture_end(w, NULL), 0);
	assert_true(lseek(fd, 0, SEEK_END) < 60000);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture_bytes_are_those_of_the_format),
		cmocka_unit_test(capture_plain_comes_back_as_it_was),
		cmocka_unit_test(capture_packed_by_threads_keeps_the_order),
		cmocka_unit_test(capture_header_within_begins_a_new_count),
		cmocka_unit_test(capture_prefixes_give_their_whole_events),
		cmocka_unit_test(capture_damaged_member_costs_that_member_alone),
		cmocka_unit_test(capture_damage_is_survived_only_where_one_can_go_back),
		cmocka_unit_test(capture_junk_between_members_is_passed_over_and_told),
		cmocka_unit_test(capture_followed_grows_byte_by_byte),
		cmocka_unit_test(capture_from_a_pipe_never_waits),
		cmocka_unit_test(capture_of_nothing_lets_the_caller_look_around),
		cmocka_unit_test(capture_on_a_full_disk_asks_for_space_first),
		cmocka_unit_test(capture_after_an_error_takes_nothing_more),
		cmocka_unit_test(capture_into_a_stuck_pipe_is_given_up),
		cmocka_unit_test(capture_takes_more_while_nothing_goes_out),
		cmocka_unit_test(capture_safe_events_are_those_in_the_file),
		cmocka_unit_test(capture_packed_size_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
