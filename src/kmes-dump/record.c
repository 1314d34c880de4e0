/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* record.c - captures being written: opening, rotating, reopening, and full disks. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* What a kill may cost at most, with a reserve. */
#define PUSH_NS 500000000u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_stdout(const struct dump_recorder *rec)
{
	return !strcmp(rec->opts->file, "-");
}

/* Writing has failed: says so once, and what can be relied on. */
static void fail(struct dump_recorder *rec, int error, uint64_t safe_events)
{
	if (rec->error)
		return;
	rec->error = error;
	if (error == -EPIPE && is_stdout(rec))
		return;
	cli_error("%s: %s; %" PRIu64 " events are safe",
		  rec->path ? rec->path : rec->opts->file, strerror(-error),
		  rec->safe_events + safe_events);
}

/* With --keep a full disk costs the oldest file first. */
static int make_space(void *arg)
{
	const struct dump_recorder *rec = arg;

	return dump_names_remove_oldest(&rec->names, 1);
}

/* The descriptor of a plain FILE, emptied unless it is `append`ed to; or -errno. */
static int open_file(struct dump_recorder *rec, const struct dump_input *in, bool append)
{
	int fd = open(rec->opts->file,
		      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (append ? O_APPEND : 0),
		      0600);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (in && dump_input_is(in, fd)) {
		cli_error("%s: it is being read, and would be overwritten",
			  rec->opts->file);
		exit(CLI_FAILED);
	}
	if (fstat(fd, &st) < 0)
		return -errno;
	if (append && (st.st_dev != rec->dev || st.st_ino != rec->ino))
		append = false;
	if (!append && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	rec->dev = st.st_dev;
	rec->ino = st.st_ino;
	return fd;
}

static int open_fd(struct dump_recorder *rec, const struct dump_input *in, bool append)
{
	free(rec->path);
	rec->path = NULL;
	if (rec->is_rotated)
		return dump_names_create(&rec->names, &rec->path);
	if (is_stdout(rec)) {
		int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

		return fd < 0 ? -errno : fd;
	}
	return open_file(rec, in, append);
}

/* Opens the next file and removes those that are too many. 0 or -errno, reported. */
static int begin(struct dump_recorder *rec, const struct dump_input *in, bool append)
{
	struct kmes_capture_options options = {
		.gzip_level = rec->opts->gzip_level,
		.make_space = rec->opts->keep ? make_space : NULL,
		.arg = rec,
	};
	int fd = open_fd(rec, in, append);
	int r = fd < 0 ? fd : kmes_capture_begin(&rec->writer, fd, &rec->info, &options);

	if (r < 0) {
		rec->writer = NULL;
		fail(rec, r, 0);
		return r;
	}
	rec->opened_ns = now_ns();
	rec->pushed_ns = rec->opened_ns;
	rec->events = 0;
	while (rec->opts->keep &&
	       (r = dump_names_remove_oldest(&rec->names, rec->opts->keep)) > 0)
		;
	if (r < 0)
		cli_warn("cannot remove the oldest file: %s", strerror(-r));
	return 0;
}

static void end(struct dump_recorder *rec)
{
	uint64_t safe = 0;
	int r;

	if (!rec->writer)
		return;
	r = kmes_capture_end(rec->writer, &safe);
	rec->writer = NULL;
	if (r < 0)
		fail(rec, r, safe);
	rec->safe_events += safe;
}

static void rotate(struct dump_recorder *rec)
{
	end(rec);
	if (!rec->error)
		begin(rec, NULL, false);
}

void dump_record_open(struct dump_recorder *rec, const struct dump_record_opts *opts,
		      const struct dump_input *in)
{
	int r = 0;

	memset(rec, 0, sizeof(*rec));
	rec->opts = opts;
	rec->is_rotated = opts->rotate_size || opts->rotate_ns;
	dump_input_info(in, &rec->info);
	if (rec->is_rotated)
		r = dump_names_init(&rec->names, opts->file);
	if (r < 0) {
		cli_error("%s: %s", opts->file, strerror(-r));
		exit(CLI_FAILED);
	}
	if (begin(rec, in, false) < 0)
		exit(CLI_FAILED);
}

void dump_record_event(struct dump_recorder *rec, const struct kmes_event *event)
{
	int r;

	if (rec->error)
		return;
	if (rec->opts->rotate_size && rec->events &&
	    kmes_capture_bytes(rec->writer) >= rec->opts->rotate_size)
		rotate(rec);
	if (rec->error)
		return;
	r = kmes_capture_add_event(rec->writer, event);
	rec->events++;
	if (r < 0)
		fail(rec, r, kmes_capture_safe_events(rec->writer));
}

void dump_record_loss(struct dump_recorder *rec, const struct kmes_loss *loss)
{
	int r = rec->error ? 0 : kmes_capture_add_loss(rec->writer, loss);

	if (r < 0)
		fail(rec, r, kmes_capture_safe_events(rec->writer));
}

void dump_record_tick(struct dump_recorder *rec, uint64_t now, bool is_idle)
{
	int r;

	if (rec->error)
		return;
	if (rec->opts->rotate_ns && rec->events &&
	    now - rec->opened_ns >= rec->opts->rotate_ns) {
		rotate(rec);
		return;
	}
	/* A small member costs; a plain write at an idle moment does not. */
	if (now - rec->pushed_ns < PUSH_NS && !(is_idle && !rec->opts->gzip_level))
		return;
	rec->pushed_ns = now;
	r = kmes_capture_push(rec->writer);
	if (r < 0)
		fail(rec, r, kmes_capture_safe_events(rec->writer));
}

void dump_record_reopen(struct dump_recorder *rec)
{
	if (rec->error || is_stdout(rec))
		return;
	end(rec);
	if (!rec->error)
		begin(rec, NULL, true);
}

int dump_record_close(struct dump_recorder *rec)
{
	end(rec);
	free(rec->path);
	dump_names_fini(&rec->names);
	if (rec->error == -EPIPE && is_stdout(rec))
		return CLI_DONE;
	return rec->error ? CLI_FAILED : CLI_DONE;
}
