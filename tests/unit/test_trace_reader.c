// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reading a mapped trace buffer, with the test as the kernel: it fills the pages, and its
 * own ioctl advances the reader as each test requires.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#ifdef KMES_HAVE_TRACEEVENT

#include "trace/trace_ring.h"
#include "unit.h"

#define META_SIZE 4096u
#define SUBBUFS 4u
#define RECORD 16u /* bytes of a record with its head */

static const char format_text[] =
	"name: e\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:u32 v;\toffset:8;\tsize:4;\tsigned:0;\n";

static struct {
	struct kmes_source src;
	struct kmes_trace_map map;
	struct kmes_trace_clock clock;
	struct kmes_trace_formats *formats;
	struct kmes_trace_meta *meta;
	uint32_t subbuf_size;
	struct kmes_ring ring;
} t;

/* ---- the kernel's part ---- */

/* The meta page after the reader is advanced. */
struct step {
	uint32_t id, read;
	uint64_t overrun, records; /* records: all that have been read */
	int error;
};

static const struct step *script;
static unsigned int script_len, moves;

static void show(const struct step *step)
{
	t.meta->reader.id = step->id;
	t.meta->reader.read = step->read;
	t.meta->overrun = step->overrun;
	t.meta->read = step->records;
}

/* Replaces the C library's. After the script nothing changes. */
int ioctl(int fd, unsigned long request, ...)
{
	assert_int_equal(fd, t.map.fd);
	assert_int_equal(request, _IO('R', 0x20));
	if (moves < script_len) {
		const struct step *step = &script[moves++];

		if (step->error) {
			errno = step->error;
			return -1;
		}
		show(step);
	}
	return 0;
}

static uint8_t *subbuf(uint32_t id)
{
	return (uint8_t *)t.meta + META_SIZE + (size_t)id * t.subbuf_size;
}

static void set_commit(uint32_t id, uint64_t commit)
{
	memcpy(subbuf(id) + 8, &commit, sizeof(commit));
}

/* Records numbered from `first`, a nanosecond apart. */
static void fill(uint32_t id, uint64_t ts_ns, uint8_t first, uint32_t count)
{
	uint8_t *at = subbuf(id) + KMES_SUBBUF_HEADER;
	uint32_t i;

	memcpy(subbuf(id), &ts_ns, sizeof(ts_ns));
	set_commit(id, (uint64_t)count * RECORD);
	for (i = 0; i < count; i++, at += RECORD) {
		const uint32_t words[4] = { 3 | 1 << 5, 1, 7, first + i };

		memcpy(at, words, sizeof(words));
	}
}

/* ---- the reader's part ---- */

static int ring_open(struct kmes_ring *ring, const struct kmes_reader_options *options,
		     struct kmes_error *err)
{
	return kmesp_trace_ring_open(ring, &t.map, &t.clock, t.formats, options->snapshot,
				     err);
}

static void begin(uint32_t subbuf_size)
{
	static const struct kmes_source_ops ops = { .name = "test",
						    .ring_open = ring_open };

	memset(&t, 0, sizeof(t));
	t.src.ops = &ops;
	t.subbuf_size = subbuf_size;
	t.map.length = META_SIZE + (size_t)subbuf_size * SUBBUFS;
	t.meta = mmap(NULL, t.map.length, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(t.meta != MAP_FAILED);
	t.map.base = (const uint8_t *)t.meta;
	t.map.fd = open("/dev/null", O_RDONLY);
	t.meta->meta_page_size = META_SIZE;
	t.meta->meta_struct_len = sizeof(*t.meta);
	t.meta->subbuf_size = subbuf_size;
	t.meta->nr_subbufs = SUBBUFS;
	assert_int_equal(kmesp_trace_formats_new(&t.formats), 0);
	assert_int_equal(kmesp_trace_formats_add(t.formats, "test", format_text,
						 sizeof(format_text) - 1),
			 0);
}

static void play_with(const struct step *steps, unsigned int len, bool snapshot)
{
	const struct kmes_reader_options options = { .snapshot = snapshot };
	struct kmes_error err = { "" };

	script = steps;
	script_len = len;
	moves = 0;
	assert_int_equal(kmesp_ring_open(&t.ring, &t.src, 2, &options, &err), 0);
}

#define PLAY(...)                                                                        \
	static const struct step steps[] = { __VA_ARGS__ };                              \
	play_with(steps, COUNT(steps), false)

static void end(void)
{
	kmesp_ring_close(&t.ring);
	kmesp_trace_formats_free(t.formats);
}

/* The next event's number, or -1. */
static int next(void)
{
	const struct kmes_event *e = &t.ring.head;
	int r = kmesp_ring_peek(&t.ring);

	if (r <= 0)
		return r < 0 ? r : -1;
	assert_int_equal(e->cpu, 2);
	assert_int_equal(e->type_len, 13);
	assert_memory_equal(e->type, "ftrace.test.e", 13);
	kmesp_ring_pop(&t.ring);
	return e->payload[e->payload_len - 1];
}

static void assert_loss(uint64_t first, uint64_t last)
{
	assert_true(t.ring.has_loss);
	assert_int_equal(t.ring.loss_first, first);
	assert_int_equal(t.ring.last_seq, last + 1);
	t.ring.has_loss = false;
}

static void assert_note(const char *text)
{
	assert_true(t.ring.has_note);
	assert_string_equal(t.ring.err.text, text);
	t.ring.has_note = false;
}

/* [T2 T3] */
TEST(trace_reader_finds_the_sub_buffer_by_its_id)
{
	begin(4096);
	fill(1, 100, 10, 2);
	fill(3, 200, 30, 1);
	PLAY({ .id = 3, .read = RECORD, .records = 1 },
	     { .id = 1, .read = 2 * RECORD, .records = 3 });
	assert_int_equal(moves, 0);
	assert_int_equal(next(), 30);
	assert_int_equal(moves, 1);
	assert_int_equal(t.ring.head.ts_ns, 201 + t.clock.offset_ns);
	assert_int_equal(next(), 10);
	assert_int_equal(next(), 11);
	assert_int_equal(t.ring.head.seq, 3);
	assert_int_equal(next(), -1);
	assert_false(t.ring.has_loss || t.ring.has_note);
	end();
}

/* [T4] what was read before, by others or this reader, is not read again */
TEST(trace_reader_continues_from_its_own_offset)
{
	begin(4096);
	fill(0, 100, 1, 6);
	/* The meta page before the first advance. */
	show(&(struct step){ .id = 0, .read = 2 * RECORD, .records = 2 });
	PLAY({ .id = 0, .read = 3 * RECORD, .records = 3 },
	     { .id = 0, .read = 3 * RECORD, .records = 3 },
	     { .id = 0, .read = 6 * RECORD, .records = 6 });
	assert_int_equal(next(), 3);
	/* Times are relative to the sub-buffer's start. */
	assert_int_equal(t.ring.head.ts_ns, 103 + t.clock.offset_ns);
	assert_int_equal(next(), -1);
	assert_int_equal(next(), 4);
	assert_int_equal(next(), 5);
	assert_int_equal(next(), 6);
	assert_int_equal(t.ring.head.seq, 4);
	assert_int_equal(next(), -1);
	assert_false(t.ring.has_loss || t.ring.has_note);
	end();
}

/* [T4] the same sub-buffer is used again after others */
TEST(trace_reader_starts_a_reused_sub_buffer_from_the_beginning)
{
	begin(4096);
	fill(0, 100, 1, 2);
	fill(1, 200, 3, 1);
	PLAY({ .id = 0, .read = 2 * RECORD, .records = 2 },
	     { .id = 1, .read = RECORD, .records = 3 },
	     { .id = 0, .read = RECORD, .records = 4 });
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	assert_int_equal(next(), 3);
	fill(0, 300, 9, 1);
	assert_int_equal(next(), 9);
	assert_int_equal(t.ring.head.ts_ns, 301 + t.clock.offset_ns);
	assert_int_equal(next(), -1);
	end();
}

/* [T8] with a count after the records, without one, and found at an empty buffer */
TEST(trace_reader_reports_losses)
{
	const uint64_t count = 40;

	begin(4096);
	fill(0, 100, 1, 1);
	fill(1, 200, 2, 1);
	set_commit(1, RECORD | 3u << 30);
	memcpy(subbuf(1) + KMES_SUBBUF_HEADER + RECORD, &count, sizeof(count));
	fill(2, 300, 3, 1);
	set_commit(2, RECORD | 1u << 31);
	fill(3, 400, 4, 1);
	PLAY({ .id = 0, .read = RECORD, .records = 1 },
	     { .id = 1, .read = RECORD, .overrun = 45, .records = 2 },
	     { .id = 2, .read = RECORD, .overrun = 50, .records = 3 },
	     { .id = 2, .read = RECORD, .overrun = 57, .records = 3 },
	     { .id = 3, .read = RECORD, .overrun = 57, .records = 4 });
	assert_int_equal(next(), 1);
	assert_false(t.ring.has_loss);
	assert_int_equal(next(), 2);
	assert_loss(2, 41);
	assert_int_equal(next(), 3);
	assert_loss(43, 52);
	assert_int_equal(next(), -1);
	assert_int_equal(next(), 4);
	assert_loss(54, 60);
	end();
}

/* [T9] */
TEST(trace_reader_reads_sub_buffers_of_several_pages)
{
	int i;

	begin(65536);
	for (i = 0; i < 4; i++)
		fill((uint32_t)i, 100, 1, 4000);
	PLAY({ .id = 3, .read = 4000 * RECORD, .records = 4000 },
	     { .id = 0, .read = 4000 * RECORD, .records = 8000 });
	for (i = 0; i < 8000; i++)
		assert_int_equal(next() >= 0, 1);
	assert_int_equal(t.ring.head.seq, 8000);
	assert_int_equal(next(), -1);
	assert_false(t.ring.has_loss || t.ring.has_note);
	end();
}

/* [T9] a bad sub-buffer is skipped with a note; only its records are lost */
TEST(trace_reader_notes_bad_sub_buffers)
{
	static const struct {
		struct step bad;
		uint32_t commit;
		const char *note;
	} cases[] = {
		{ { .id = 1, .read = 3 * RECORD, .records = 4 },
		  4096,
		  "cpu2: corrupt length in sub-buffer 1 at offset 0; skipped" },
		{ { .id = 1, .read = 4096, .records = 4 },
		  3 * RECORD,
		  "cpu2: corrupt length in sub-buffer 1 at offset 0; skipped" },
		{ { .id = SUBBUFS, .read = RECORD, .records = 4 },
		  3 * RECORD,
		  "cpu2: corrupt length in sub-buffer 0 at offset 16; skipped" },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		const struct step steps[] = {
			{ .id = 0, .read = RECORD, .records = 1 },
			cases[i].bad,
			{ .id = 2, .read = RECORD, .records = 5 },
		};

		begin(4096);
		fill(0, 100, 1, 1);
		fill(1, 200, 2, 3);
		set_commit(1, cases[i].commit);
		fill(2, 300, 5, 1);
		play_with(steps, 3, false);
		assert_int_equal(next(), 1);
		assert_int_equal(next(), -1);
		assert_note(cases[i].note);
		assert_int_equal(next(), 5);
		assert_loss(2, 4);
		assert_int_equal(next(), -1);
		assert_false(t.ring.has_note);
		end();
	}
}

/* [T9] a bad record: those before it are returned, those after it are lost */
TEST(trace_reader_notes_a_bad_record)
{
	const uint32_t too_long = 28 | 1 << 5;

	begin(4096);
	fill(0, 100, 1, 4);
	memcpy(subbuf(0) + KMES_SUBBUF_HEADER + 2 * RECORD, &too_long, sizeof(too_long));
	fill(2, 300, 5, 1);
	PLAY({ .id = 0, .read = 4 * RECORD, .records = 4 },
	     { .id = 2, .read = RECORD, .records = 5 });
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	assert_note("cpu2: malformed record in sub-buffer 0 at offset 64; skipped");
	assert_int_equal(next(), 5);
	assert_loss(3, 4);
	end();
}

/* An earlier loss does not hide a later one. */
TEST(trace_reader_notes_a_cleared_buffer)
{
	begin(4096);
	fill(0, 100, 1, 4);
	set_commit(0, (4 * RECORD) | 1u << 31);
	fill(1, 200, 9, 1);
	fill(2, 300, 10, 1);
	set_commit(2, RECORD | 1u << 31);
	PLAY({ .id = 0, .read = 4 * RECORD, .overrun = 50, .records = 4 },
	     { .id = 0, .read = 0, .records = 0 },
	     { .id = 1, .read = RECORD, .records = 1 },
	     { .id = 2, .read = RECORD, .overrun = 7, .records = 2 });
	assert_int_equal(next(), 1);
	assert_loss(1, 50);
	for (int i = 2; i <= 4; i++)
		assert_int_equal(next(), i);
	assert_int_equal(next(), -1);
	assert_note(
		"cpu2: another process cleared the trace buffer; its records are gone");
	assert_int_equal(next(), 9);
	assert_false(t.ring.has_loss || t.ring.has_note);
	assert_int_equal(next(), 10);
	assert_loss(56, 62);
	end();
}

/* [T9] a refused sub-buffer is noted once, and not read again */
TEST(trace_reader_notes_a_bad_sub_buffer_once)
{
	begin(4096);
	fill(0, 100, 1, 4);
	set_commit(0, 4096);
	fill(1, 200, 9, 1);
	PLAY({ .id = 0, .read = 2 * RECORD, .records = 2 },
	     { .id = 0, .read = 4 * RECORD, .records = 4 },
	     { .id = 1, .read = RECORD, .records = 5 });
	assert_int_equal(next(), -1);
	assert_note("cpu2: corrupt length in sub-buffer 0 at offset 0; skipped");
	assert_int_equal(next(), -1);
	assert_false(t.ring.has_note);
	assert_int_equal(next(), 9);
	assert_loss(1, 4);
	end();
}

/* [T2] an unknown id does not affect the sub-buffer being read */
TEST(trace_reader_continues_after_an_unknown_id)
{
	begin(4096);
	fill(0, 100, 1, 4);
	PLAY({ .id = 0, .read = 2 * RECORD, .records = 2 },
	     { .id = SUBBUFS, .read = 2 * RECORD, .records = 2 },
	     { .id = 0, .read = 4 * RECORD, .records = 4 });
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	assert_int_equal(next(), -1);
	assert_note("cpu2: corrupt length in sub-buffer 0 at offset 32; skipped");
	assert_int_equal(next(), 3);
	assert_int_equal(next(), 4);
	assert_false(t.ring.has_loss);
	end();
}

/* An offset that goes back without reuse: nothing is returned twice. */
TEST(trace_reader_notes_an_offset_going_backwards)
{
	begin(4096);
	fill(0, 100, 1, 6);
	PLAY({ .id = 0, .read = 4 * RECORD, .records = 4 },
	     { .id = 0, .read = 2 * RECORD, .records = 6 },
	     { .id = 0, .read = 6 * RECORD, .records = 8 },
	     { .id = 1, .read = RECORD, .records = 9 });
	fill(1, 200, 9, 1);
	for (int i = 1; i <= 4; i++)
		assert_int_equal(next(), i);
	assert_int_equal(next(), -1);
	assert_note("cpu2: corrupt length in sub-buffer 0 at offset 64; skipped");
	assert_int_equal(next(), -1);
	assert_false(t.ring.has_note);
	assert_int_equal(next(), 9);
	assert_loss(5, 8);
	end();
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t seed = 20261130;

	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* With any meta page and sub-buffers: it ends, and each number is returned once. */
TEST(trace_reader_survives_corrupt_pages)
{
	enum { STEPS = 20000 };
	struct step *steps = calloc(STEPS, sizeof(*steps));
	uint64_t last = 0, events = 0;
	int i;

	assert_non_null(steps);
	begin(4096);
	for (i = 0; i < STEPS; i++) {
		steps[i].id = random_below(10) ? random_below(SUBBUFS)
					       : random_below(UINT32_MAX);
		steps[i].read = random_below(4) ? random_below(255) * RECORD
						: random_below(5000);
		steps[i].overrun = (uint64_t)i * random_below(4);
		steps[i].records = (uint64_t)i * random_below(40);
		steps[i].error = random_below(20) ? 0 : EAGAIN;
	}
	play_with(steps, STEPS, false);
	while (moves < STEPS) {
		uint32_t id = random_below(SUBBUFS);
		int r;

		fill(id, random_below(1000), 1, random_below(255));
		if (!random_below(3))
			set_commit(id, random_below(5000) | random_below(4) << 30);
		for (i = 0; i < 8; i++)
			subbuf(id)[16 + random_below(4080)] ^= 1u << random_below(8);
		while ((r = kmesp_ring_peek(&t.ring)) > 0) {
			assert_true(t.ring.head.seq > last);
			assert_true(t.ring.has_loss || t.ring.head.seq == last + 1);
			last = t.ring.head.seq;
			t.ring.has_loss = false;
			kmesp_ring_pop(&t.ring);
			events++;
		}
		assert_int_equal(r, 0);
	}
	assert_true(events > STEPS);
	end();
	free(steps);
}

TEST(trace_reader_ends_a_snapshot_at_its_time)
{
	static const struct step steps[] = {
		{ .id = 0, .read = 2 * RECORD, .records = 2 },
		{ .id = 1, .read = RECORD, .records = 3 },
	};

	begin(4096);
	fill(0, 100, 1, 2);
	fill(1, kmesp_clock_ns(CLOCK_MONOTONIC) + 3600000000000, 3, 1);
	play_with(steps, 2, true);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	assert_int_equal(next(), -1);
	end();
}

TEST(trace_reader_says_why_the_kernel_refuses)
{
	begin(4096);
	fill(0, 100, 1, 1);
	PLAY({ .error = EAGAIN }, { .error = EINTR },
	     { .id = 0, .read = RECORD, .records = 1 }, { .error = EIO });
	assert_int_equal(next(), -1);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), -EIO);
	assert_string_equal(t.ring.err.text,
			    "cpu2: cannot read the trace buffer: Input/output error");
	end();
}

#endif
