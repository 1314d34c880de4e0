// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The recorder's timer: how long an event may be in memory only. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/kmes-dump/record.h"
#include "testring.h"
#include "unit.h"

#define MS 1000000ull

static char folder[64], path[96];

static void enter_folder(void)
{
	strcpy(folder, "/tmp/kmes-record.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
}

static void leave_folder(void)
{
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}
ALL_TESTS(enter_folder, leave_folder);

static void record_one(struct dump_recorder *rec, uint64_t seq)
{
	struct testring_event event = {
		.ts_ns = 5,
		.seq = seq,
		.type = "t",
		.payload = "\x80",
		.payload_len = 1,
	};
	uint8_t bytes[200];
	struct kmes_event e;
	uint32_t size = testring_build(&event, bytes, sizeof(bytes));

	assert_int_equal(kmes_event_parse(&e, bytes, size, size), 1);
	dump_record_event(rec, &e);
}

static off_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* Blocks are written in the background. */
static void wait_for_events(struct dump_recorder *rec, uint64_t events)
{
	int i;

	for (i = 0; kmesp_capture_safe_events(rec->writer) < events; i++) {
		assert_between(i, 0, 3000);
		usleep(10000);
	}
	assert_int_equal(kmesp_capture_safe_events(rec->writer), events);
}

static void check_clock(int gzip_level)
{
	struct dump_record_opts opts = { .file = path, .gzip_level = gzip_level };
	char *no_files[] = { NULL };
	struct dump_input in = { .reads_captures = true, .playback.all_files = no_files };
	struct dump_recorder rec;
	uint64_t seq, now;

	unlink(path);
	dump_record_init(&rec, &opts, &in);
	assert_int_equal(access(path, F_OK), -1);
	dump_record_open(&rec);
	now = rec.pushed_ns;
	for (seq = 1; seq <= 5; seq++) {
		off_t before = file_size();

		record_one(&rec, seq);
		dump_record_tick(&rec, now + 249 * MS, false);
		assert_int_equal(file_size(), before);
		now += 250 * MS;
		dump_record_tick(&rec, now, false);
		wait_for_events(&rec, seq);
		assert_true(file_size() > before);
	}
	/* Uncompressed, it is written when idle. */
	record_one(&rec, seq);
	dump_record_tick(&rec, now, true);
	wait_for_events(&rec, gzip_level ? seq - 1 : seq);
	assert_int_equal(dump_record_close(&rec), 0);
}

TEST(dump_record_plain_is_written_out_four_times_a_second)
{
	check_clock(0);
}

TEST(dump_record_compressed_is_written_out_four_times_a_second)
{
	check_clock(1);
}

/* While the pipe is not read, small pieces are merged. */
TEST(dump_record_small_pieces_do_not_exhaust_the_backlog)
{
	struct dump_record_opts opts = { .file = path };
	char *no_files[] = { NULL };
	struct dump_input in = { .reads_captures = true, .playback.all_files = no_files };
	struct dump_recorder rec;
	uint64_t seq;
	int fd;

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fcntl(fd, F_SETPIPE_SZ, 4096) > 0);
	dump_record_init(&rec, &opts, &in);
	dump_record_open(&rec);
	alarm(60);
	for (seq = 1; seq <= 500; seq++) {
		record_one(&rec, seq);
		dump_record_tick(&rec, rec.pushed_ns, true);
	}
	assert_true(fcntl(fd, F_SETPIPE_SZ, 1 << 20) > 0);
	assert_int_equal(dump_record_close(&rec), 0);
	alarm(0);
	assert_int_equal(rec.safe_events, 500);
	close(fd);
}

TEST(dump_record_unopened_creates_no_file)
{
	struct dump_record_opts opts = { .file = path };
	struct dump_input in = { .reads_captures = true };
	struct dump_recorder rec;

	unlink(path);
	dump_record_init(&rec, &opts, &in);
	dump_record_tick(&rec, UINT64_MAX, true);
	dump_record_reopen(&rec);
	dump_record_push(&rec);
	assert_int_equal(dump_record_close(&rec), 0);
	assert_int_equal(access(path, F_OK), -1);
	/* For the cleanup. */
	fclose(fopen(path, "w"));
}
