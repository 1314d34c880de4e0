// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Captures: format, round trips through memory files, truncation, damage, growth. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "captured.h"
#include "unit.h"

static struct kmes_capture_reader *open_at(int fd, off_t at, bool follow)
{
	struct kmes_capture_reader *r;
	char path[64];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(own >= 0 && lseek(own, at, SEEK_SET) == at);
	assert_int_equal(kmesp_capture_open(&r, own, follow), 0);
	return r;
}

static size_t slurp(int fd, uint8_t *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size, 0);

	assert_true(n >= 0 && (size_t)n < size);
	return (size_t)n;
}

/* ---- the format ---- */

TEST(capture_bytes_are_those_of_the_format)
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
	int fd = captured_file(&w, &captured_plain);

	captured_add(w, 6, 4);
	assert_int_equal(kmesp_capture_add_loss(w, &lost), 0);
	captured_add(w, 301, 4);
	assert_int_equal(kmesp_capture_end(w, &safe), 0);
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

/* ---- round trips ---- */

static void round_trip(const struct kmes_capture_options *options)
{
	struct kmes_capture_reader *r;
	struct kmes_capture_writer *w;
	struct kmes_item item;
	uint64_t seq, safe;
	int fd = captured_file(&w, options);

	for (seq = 1; seq <= 4000; seq++) {
		captured_add(w, seq, captured_size(seq));
		if (seq % 37 == 0)
			assert_int_equal(kmesp_capture_push(w), 0);
		if (seq == 2000) {
			struct kmes_loss lost = { 2, 5000000001, 5000000002, 77 };

			assert_int_equal(kmesp_capture_add_loss(w, &lost), 0);
		}
	}
	assert_int_equal(kmesp_capture_end(w, &safe), 0);
	assert_int_equal(safe, 4000);
	r = open_at(fd, 0, false);
	assert_null(kmesp_capture_info(r));
	for (seq = 1; seq <= 4000; seq++) {
		assert_int_equal(kmesp_capture_next(r, &item), 1);
		assert_true(captured_is(&item, seq, captured_size(seq)));
		if (seq == 2000) {
			assert_int_equal(kmesp_capture_next(r, &item), 1);
			assert_int_equal(item.kind, KMES_ITEM_LOSS);
			assert_int_equal(item.loss.cpu, 2);
			assert_true(item.loss.first == 5000000001);
			assert_true(item.loss.last == 5000000002);
			assert_int_equal(item.loss.ts_ns, 77);
		}
	}
	assert_int_equal(kmesp_capture_next(r, &item), -ENODATA);
	assert_memory_equal(kmesp_capture_info(r)->stream_id, captured_info.stream_id,
			    16);
	assert_memory_equal(kmesp_capture_info(r)->boot_id, captured_info.boot_id, 16);
	assert_true(kmesp_capture_info(r)->start_ns == captured_info.start_ns);
	assert_int_equal(kmesp_capture_info(r)->slots, 3);
	assert_string_equal(kmesp_capture_warning(r), "");
	kmesp_capture_close(r);
	close(fd);
}

TEST(capture_plain_round_trips)
{
	round_trip(&captured_plain);
}

TEST(capture_compressed_by_threads_keeps_the_order)
{
	static const struct kmes_capture_options best = { .gzip_level = 9 };

	round_trip(&captured_packed);
	round_trip(&best);
}

TEST(capture_header_in_the_middle_restarts_the_count)
{
	struct kmes_capture_info other = captured_info;
	struct kmes_capture_reader *r;
	struct kmes_capture_writer *w;
	struct kmes_item item;
	uint64_t safe;
	int fd = captured_file(&w, &captured_plain);

	memcpy(other.boot_id, "another-boot-id.", 16);
	captured_add(w, 1, 1);
	assert_int_equal(kmesp_capture_add_header(w, &other), 0);
	captured_add(w, 2, 1);
	captured_add(w, 3, 1);
	assert_int_equal(kmesp_capture_end(w, &safe), 0);
	assert_int_equal(safe, 3);
	r = open_at(fd, 0, false);
	assert_int_equal(kmesp_capture_next(r, &item), 1);
	assert_memory_equal(kmesp_capture_info(r)->boot_id, captured_info.boot_id, 16);
	assert_int_equal(kmesp_capture_next(r, &item), 1);
	assert_memory_equal(kmesp_capture_info(r)->boot_id, other.boot_id, 16);
	assert_true(captured_is(&item, 2, 1));
	assert_int_equal(kmesp_capture_next(r, &item), 1);
	assert_int_equal(kmesp_capture_next(r, &item), -ENODATA);
	kmesp_capture_close(r);
	close(fd);
}

/* ---- truncation and growth ---- */

/* Five events in three pushes; returns the length. */
static size_t small_capture(const struct kmes_capture_options *options, uint8_t *buf,
			    size_t size)
{
	struct kmes_capture_writer *w;
	int fd = captured_file(&w, options);
	uint64_t seq;
	size_t len;

	for (seq = 1; seq <= 5; seq++) {
		captured_add(w, seq, 30);
		if (seq % 2)
			assert_int_equal(kmesp_capture_push(w), 0);
	}
	assert_int_equal(kmesp_capture_end(w, NULL), 0);
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
		for (seq = 1; (rc = kmesp_capture_next(r, &item)) == 1; seq++)
			assert_true(captured_is(&item, seq, 30));
		assert_int_equal(rc, cut ? -EPIPE : -EPROTO);
		assert_string_equal(kmesp_capture_error(r),
				    cut ? "truncated (still being written?)"
					: "not a KMES capture: empty file");
		assert_true(seq >= before);
		/* Uncompressed: every complete event of 116 bytes. */
		if (!options->gzip_level)
			assert_int_equal(seq - 1, cut < 64 + 116 ? 0
						  : cut > 64 + 5 * 116
							  ? 5
							  : (cut - 64) / 116);
		before = seq;
		kmesp_capture_close(r);
		close(fd);
	}
	assert_int_equal(before, 6);
}

TEST(capture_prefixes_yield_their_complete_events)
{
	check_prefixes(&captured_plain);
	check_prefixes(&captured_packed);
}

enum { HEADER = 64, EVENT = 116, EVENTS = HEADER + 5 * EVENT };

/*
 * Reads pieces of a small plain capture in a row: the events, the result and the notes.
 */
static int read_pieces(const char *pieces, unsigned int *events, char *note, size_t size)
{
	static const size_t starts[] = { 0, HEADER, HEADER + 2 * EVENT, EVENTS };
	uint8_t buf[4096], joined[8192];
	size_t len = small_capture(&captured_plain, buf, sizeof(buf)), used = 0;
	struct kmes_capture_reader *r;
	struct kmes_item item;
	int fd, rc;

	for (; *pieces; pieces++) {
		size_t i = (size_t)(*pieces - '0');
		size_t end = i + 1 < COUNT(starts) ? starts[i + 1] : len;

		memcpy(joined + used, buf + starts[i], end - starts[i]);
		used += end - starts[i];
	}
	fd = file_of(joined, used);
	r = open_at(fd, 0, false);
	*events = 0;
	note[0] = '\0';
	while ((rc = kmesp_capture_next(r, &item)) == 1) {
		*events += item.kind == KMES_ITEM_EVENT;
		if (item.kind == KMES_ITEM_NOTE)
			snprintf(note, size, "%s", item.note);
	}
	if (rc != -ENODATA)
		snprintf(note, size, "%s", kmesp_capture_error(r));
	kmesp_capture_close(r);
	close(fd);
	return rc;
}

/* Pieces: 0 the header, 1 two events, 2 three events, 3 the end record. */
TEST(capture_end_record_must_agree_with_the_events)
{
	static const struct {
		const char *pieces;
		int rc;
		unsigned int events;
		const char *note;
	} cases[] = {
		{ "0123", -ENODATA, 5, "" },
		{ "013", -EBADMSG, 2, "has 2 events, but its end record says 5" },
		{ "01223", -EBADMSG, 8, "has 8 events, but its end record says 5" },
		/* Another one appended: a missing end record is reported. */
		{ "01230123", -ENODATA, 10, "" },
		{ "010123", -ENODATA, 7,
		  "has no end before the capture that begins at byte 296" },
		{ "00123", -ENODATA, 5, "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		unsigned int events;
		char note[512];
		int rc = read_pieces(cases[i].pieces, &events, note, sizeof(note));

		if (rc != cases[i].rc || events != cases[i].events ||
		    strcmp(note, cases[i].note))
			fail_msg("%s: %d, %u events, '%s'", cases[i].pieces, rc, events,
				 note);
	}
}

TEST(capture_loss_of_impossible_sequences_is_refused)
{
	static const struct kmes_loss bad[] = { { 1, 0, 3, 1 }, { 1, 5, 4, 1 } };

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct kmes_capture_writer *w;
		struct kmes_capture_reader *r;
		struct kmes_item item;
		int fd = captured_file(&w, &captured_plain);

		assert_int_equal(kmesp_capture_add_loss(w, &bad[i]), 0);
		assert_int_equal(kmesp_capture_end(w, NULL), 0);
		r = open_at(fd, 0, false);
		assert_int_equal(kmesp_capture_next(r, &item), -EBADMSG);
		assert_non_null(strstr(kmesp_capture_error(r),
				       "invalid loss record before byte"));
		kmesp_capture_close(r);
		close(fd);
	}
}

/* ---- damage ---- */

enum { MEMBERS = 6, EACH = 4 };

/* EACH events per member; returns the end of each. The last one has the end record. */
static size_t capture_in_members(uint8_t *buf, size_t size, size_t *ends)
{
	struct kmes_capture_writer *w;
	int i, fd = captured_file(&w, &captured_packed);
	uint64_t seq = 0;
	size_t len = 0;

	for (i = 0; i < MEMBERS; i++) {
		while (seq < (uint64_t)(i + 1) * EACH) {
			seq++;
			captured_add(w, seq, 30 + (uint32_t)seq % 7 * 11);
		}
		assert_int_equal(kmesp_capture_push(w), 0);
		while (kmesp_capture_safe_events(w) < seq)
			usleep(100);
		ends[i] = (size_t)lseek(fd, 0, SEEK_END);
	}
	assert_int_equal(kmesp_capture_end(w, NULL), 0);
	len = slurp(fd, buf, size);
	close(fd);
	return len;
}

/* How many events a message says may be wrong. */
static unsigned int unsure_in(const char *message)
{
	const char *at = strstr(message, "; the ");
	unsigned int count = 0;

	if (at)
		assert_int_equal(
			sscanf(at, "; the %u events before it may be wrong", &count), 1);
	return count;
}

/* Reads to the end: the result, which events came, the number of notes. */
static int read_damaged(int fd, bool *came, unsigned int *notes, char *note, size_t size)
{
	struct kmes_capture_reader *r = open_at(fd, 0, false);
	unsigned int wrong = 0, unsure = 0;
	struct kmes_item item;
	int rc;

	memset(came, 0, MEMBERS * EACH + 1);
	*notes = 0;
	while ((rc = kmesp_capture_next(r, &item)) >= 0) {
		uint64_t seq;

		if (rc && item.kind == KMES_ITEM_NOTE) {
			(*notes)++;
			snprintf(note, size, "%s", item.note);
			unsure += unsure_in(note);
			continue;
		}
		seq = rc && item.kind == KMES_ITEM_EVENT ? item.event->seq : 0;
		if (seq < 1 || seq > MEMBERS * EACH ||
		    !captured_is(&item, seq, 30 + (uint32_t)seq % 7 * 11)) {
			wrong += rc && item.kind == KMES_ITEM_EVENT;
			continue;
		}
		assert_false(came[seq]); /* no duplicates */
		came[seq] = true;
	}
	unsure += unsure_in(kmesp_capture_error(r));
	kmesp_capture_close(r);
	/* Events changed by damage are reported. */
	assert_true(wrong <= unsure && unsure <= MEMBERS * EACH);
	return rc;
}

TEST(capture_damaged_member_loses_only_that_member)
{
	static uint8_t buf[8192], damaged[8192];
	bool came[MEMBERS * EACH + 1];
	size_t ends[MEMBERS], at, len = capture_in_members(buf, sizeof(buf), ends);
	unsigned int notes, told = 0;
	char note[512];

	/* The first member has the header, the last one the end record. */
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
				fail_msg("byte %zu: event %d is missing", at, (int)seq);
		}
		/* The loss is reported, and its number unless an event was forged. */
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

TEST(capture_damage_is_skipped_only_in_seekable_files)
{
	static uint8_t buf[8192];
	size_t ends[MEMBERS], len = capture_in_members(buf, sizeof(buf), ends);
	struct kmes_capture_reader *r;
	struct kmes_item item;
	int fds[2], rc, events = 0;

	memset(buf + ends[1] + 20, 0xff, 20);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], buf, len), (ssize_t)len);
	close(fds[1]);
	assert_int_equal(kmesp_capture_open(&r, fds[0], false), 0);
	while ((rc = kmesp_capture_next(r, &item)) == 1)
		events++;
	assert_int_equal(rc, -EBADMSG);
	assert_true(events >= 2 * EACH && events < 3 * EACH);
	kmesp_capture_close(r);
}

TEST(capture_junk_between_members_is_skipped_and_reported)
{
	static uint8_t buf[8192], junk[3 << 20];
	size_t ends[MEMBERS], len = capture_in_members(buf, sizeof(buf), ends);
	bool came[MEMBERS * EACH + 1];
	unsigned int notes, seq;
	char note[512];
	int fd = memfd_create("junk", MFD_CLOEXEC);

	/* It contains what looks like the start of a member. */
	memcpy(junk + 1000, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
	memcpy(junk + 65534, "\x1f\x8b\x08\0\0\0\0\0\0\3junk", 14);
	assert_int_equal(write(fd, buf, ends[2]), (ssize_t)ends[2]);
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(write(fd, buf + ends[2], len - ends[2]),
			 (ssize_t)(len - ends[2]));
	assert_int_equal(read_damaged(fd, came, &notes, note, sizeof(note)), -ENODATA);
	assert_int_equal(notes, 1);
	assert_non_null(strstr(note, "continues with the next valid member"));
	for (seq = 1; seq <= MEMBERS * EACH; seq++)
		assert_true(came[seq]);
	/* After the last member it is only odd. */
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
		assert_int_equal(kmesp_capture_next(r, &item), 0);
		assert_int_equal(write(fd, buf + i, 1), 1);
		if (kmesp_capture_next(r, &item) == 1)
			assert_true(captured_is(&item, ++seq, 30));
	}
	assert_int_equal(seq, 5);
	/* The file may grow after its end record, unless it was truncated. */
	assert_int_equal(kmesp_capture_next(r, &item), 0);
	assert_int_equal(ftruncate(fd, (off_t)len - 1), 0);
	assert_int_equal(kmesp_capture_next(r, &item), -ESTALE);
	kmesp_capture_close(r);
	close(fd);
}

TEST(capture_followed_grows_byte_by_byte)
{
	grow(&captured_plain);
	grow(&captured_packed);
}

TEST(capture_from_a_pipe_never_blocks)
{
	uint8_t buf[4096];
	size_t len = small_capture(&captured_plain, buf, sizeof(buf));
	struct kmes_capture_reader *r;
	struct kmes_item item;
	uint64_t seq;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	/* A pipe's end is final, followed or not. */
	assert_int_equal(kmesp_capture_open(&r, fds[0], true), 0);
	assert_int_equal(kmesp_capture_next(r, &item), 0);
	assert_false(kmesp_capture_wait(r, 10, -1));
	assert_int_equal(write(fds[1], buf, 200), 200);
	assert_int_equal(kmesp_capture_next(r, &item), 1);
	assert_true(captured_is(&item, 1, 30));
	assert_int_equal(kmesp_capture_next(r, &item), 0);
	assert_int_equal(write(fds[1], buf + 200, len - 200), (ssize_t)(len - 200));
	close(fds[1]);
	for (seq = 2; seq <= 5; seq++) {
		assert_int_equal(kmesp_capture_next(r, &item), 1);
		assert_true(captured_is(&item, seq, 30));
	}
	assert_int_equal(kmesp_capture_next(r, &item), -ENODATA);
	kmesp_capture_close(r);
}

TEST(capture_without_events_returns_to_the_caller)
{
	enum { HEADERS = 30000 };
	uint8_t *bytes = calloc(HEADERS, 64), buf[4096];
	struct kmes_capture_reader *r;
	struct kmes_item item;
	int i, fd, zeros = 0, rc;

	assert_non_null(bytes);
	small_capture(&captured_plain, buf, sizeof(buf));
	for (i = 0; i < HEADERS; i++)
		memcpy(bytes + i * 64, buf, 64);
	fd = file_of(bytes, HEADERS * 64);
	r = open_at(fd, 0, false);
	while ((rc = kmesp_capture_next(r, &item)) == 0)
		zeros++;
	assert_int_equal(rc, -EPIPE);
	assert_true(zeros >= 2 && zeros < 100);
	kmesp_capture_close(r);
	close(fd);
	free(bytes);
}
