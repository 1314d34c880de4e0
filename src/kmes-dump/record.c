// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* record.c - opens, rotates and reopens captures, and handles full disks. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

/* Poll interval for the reader of a FIFO. */
#define FIFO_MS 20
/* A kill may lose one second of events; the rest of it allows for a stalled machine. */
#define PUSH_NS 250000000u

static bool is_stdout(const struct dump_recorder *rec)
{
	return !strcmp(rec->opts->file, "-");
}

bool dump_record_reader_is_gone(const struct dump_recorder *rec)
{
	return rec->error == -EPIPE && is_stdout(rec);
}

/* Stopped before a FIFO had a reader: not an error. */
static bool was_stopped(const struct dump_recorder *rec)
{
	return rec->error == -EINTR;
}

static const char *explain(int error)
{
	if (error == -ETIMEDOUT)
		return "accepts no data, gave up";
	if (error == -EBUSY)
		return "another recorder is writing it";
	return strerror(-error);
}

/* Reports the first failure, and the number of events that are safe. */
static void fail(struct dump_recorder *rec, int error, uint64_t safe_events)
{
	if (rec->error)
		return;
	rec->error = error;
	if (dump_record_reader_is_gone(rec) || was_stopped(rec))
		return;
	cli_error("%s: %s; %" PRIu64 " events are safe%s",
		  rec->path ? rec->path : rec->opts->file, explain(error),
		  rec->safe_events + safe_events,
		  rec->has_removed ? ", less those in files that --keep removed" : "");
}

/* Removes the oldest file if there are more than `count`. 1, 0 or -errno. */
static int keep_newest(struct dump_recorder *rec, uint64_t count)
{
	int rc = dump_rotation_remove_oldest(&rec->names, count);

	rec->has_removed |= rc > 0;
	return rc;
}

/* With --keep, the oldest file is removed when the disk is full. */
static int make_space(void *arg)
{
	return keep_newest(arg, 1);
}

static bool is_stopping(void *arg)
{
	(void)arg;
	return cli_stop_signal();
}

static _Noreturn void refuse_own_input(const char *name, const char *fate)
{
	cli_error("%s: is an input, and %s", name, fate);
	exit(CLI_FAILED);
}

static bool is_input(const void *in, const struct stat *st)
{
	return dump_input_is(in, st);
}

/* --keep must not remove an input. */
static void check_kept(const struct dump_recorder *rec)
{
	char *name = rec->opts->keep ? dump_rotation_find(&rec->names, is_input, rec->in)
				     : NULL;

	if (name)
		refuse_own_input(name, "--keep could remove it");
}

/* Locks and truncates the file, unless we continue it. 0 or -errno. */
static int prepare_file(struct dump_recorder *rec, int fd, bool append)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (dump_input_is(rec->in, &st))
		refuse_own_input(rec->opts->file, "would be overwritten");
	if (S_ISREG(st.st_mode) && dump_rotation_lock(fd) < 0)
		return -EBUSY;
	append = append && st.st_dev == rec->dev && st.st_ino == rec->ino;
	if (!append && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
		return -errno;
	rec->dev = st.st_dev;
	rec->ino = st.st_ino;
	return 0;
}

static bool is_over(const struct dump_recorder *rec)
{
	return cli_stop_signal() || (rec->is_over && rec->is_over(rec->is_over_arg));
}

static bool is_fifo(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISFIFO(st.st_mode);
}

/*
 * Waits until a FIFO has a reader; -EINTR if the run ends before. The descriptor stays
 * non-blocking: another writer may fill the FIFO between poll(2) and write(2).
 */
static int open_when_read(const struct dump_recorder *rec, int flags)
{
	int fd;

	while ((fd = open(rec->opts->file, flags | O_NONBLOCK, 0600)) < 0) {
		if (errno != ENXIO || !is_fifo(rec->opts->file))
			return -errno;
		if (is_over(rec))
			return -EINTR;
		poll(NULL, 0, FIFO_MS);
	}
	return fd;
}

/* Opens FILE. `append`: continue it if it is still the same file. -errno. */
static int open_file(struct dump_recorder *rec, bool append)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (append ? O_APPEND : 0);
	int rc, fd = open_when_read(rec, flags);

	if (fd < 0)
		return fd;
	rc = prepare_file(rec, fd, append);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

static int open_stdout(struct dump_recorder *rec)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && dump_input_is(rec->in, &st))
		refuse_own_input(rec->opts->file, "would be overwritten");
	return fd < 0 ? -errno : fd;
}

/* Creates the next rotated file. */
static int open_next(struct dump_recorder *rec)
{
	int fd;

	do {
		free(rec->path);
		fd = dump_rotation_create(&rec->names, &rec->path);
	} while ((fd == -ENOSPC || fd == -EDQUOT) && rec->opts->keep &&
		 make_space(rec) > 0);
	if (fd >= 0)
		dump_rotation_lock(fd);
	return fd;
}

static int open_fd(struct dump_recorder *rec, bool append)
{
	if (rec->is_rotated)
		return open_next(rec);
	return is_stdout(rec) ? open_stdout(rec) : open_file(rec, append);
}

/* Opens the next file and removes surplus ones. 0, or -errno after a message. */
static int begin(struct dump_recorder *rec, bool append)
{
	struct kmes_capture_options options = {
		.gzip_level = rec->opts->gzip_level,
		.make_space = rec->opts->keep ? make_space : NULL,
		.is_stopping = is_stopping,
		.arg = rec,
	};
	int fd = open_fd(rec, append);
	int rc = fd < 0 ? fd
			: kmesp_capture_begin(&rec->writer, fd, &rec->info, &options);

	if (rc < 0) {
		rec->writer = NULL;
		fail(rec, rc, 0);
		return rc;
	}
	rec->opened_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	rec->pushed_ns = rec->opened_ns;
	rec->events = 0;
	while (rec->opts->keep && (rc = keep_newest(rec, rec->opts->keep)) > 0)
		;
	if (rc < 0)
		cli_warn("cannot remove the oldest file: %s", strerror(-rc));
	return 0;
}

/* The number of safe events is known after the sync, also after an error. */
static void end(struct dump_recorder *rec)
{
	uint64_t safe = 0;
	int rc;

	if (!rec->writer)
		return;
	rc = kmesp_capture_end(rec->writer, &safe);
	rec->writer = NULL;
	if (rc < 0)
		fail(rec, rc, safe);
	rec->safe_events += safe;
}

static void rotate(struct dump_recorder *rec)
{
	end(rec);
	if (!rec->error)
		begin(rec, false);
}

void dump_record_init(struct dump_recorder *rec, const struct dump_record_opts *opts,
		      const struct dump_input *in)
{
	memset(rec, 0, sizeof(*rec));
	rec->opts = opts;
	rec->in = in;
	rec->is_rotated = opts->rotate_size || opts->rotate_ns;
}

void dump_record_open(struct dump_recorder *rec)
{
	int rc = 0;

	rec->is_open = true;
	dump_input_info(rec->in, &rec->info);
	if (rec->is_rotated)
		rc = dump_rotation_init(&rec->names, rec->opts->file);
	if (rc < 0) {
		cli_error("%s: %s", rec->opts->file, strerror(-rc));
		exit(CLI_FAILED);
	}
	if (rec->is_rotated)
		check_kept(rec);
	if (begin(rec, false) < 0 && !was_stopped(rec))
		exit(dump_record_reader_is_gone(rec) ? CLI_DONE : CLI_FAILED);
}

/* Several inputs may be of different streams: each gets its header. */
static void follow_info(struct dump_recorder *rec)
{
	struct kmes_capture_info info;
	int rc;

	if (!rec->in->reads_captures ||
	    kmesp_capture_is_same_info(&rec->in->playback.info, &rec->info))
		return;
	dump_input_info(rec->in, &info);
	rec->info = info;
	rc = kmesp_capture_add_header(rec->writer, &info);
	if (rc < 0)
		end(rec);
}

void dump_record_event(struct dump_recorder *rec, const struct kmes_event *event)
{
	int rc;

	if (rec->error)
		return;
	if (rec->opts->rotate_size && rec->events &&
	    kmesp_capture_has_grown_to(rec->writer, rec->opts->rotate_size))
		rotate(rec);
	if (!rec->error)
		follow_info(rec);
	if (rec->error)
		return;
	rc = kmesp_capture_add_event(rec->writer, event);
	rec->events++;
	if (rc < 0)
		end(rec);
}

void dump_record_loss(struct dump_recorder *rec, const struct kmes_loss *loss)
{
	int rc;

	if (!rec->error)
		follow_info(rec);
	rc = rec->error ? 0 : kmesp_capture_add_loss(rec->writer, loss);
	if (rc < 0)
		end(rec);
}

void dump_record_push(struct dump_recorder *rec)
{
	int rc = rec->error || !rec->writer ? 0 : kmesp_capture_push(rec->writer);

	if (rc < 0)
		end(rec);
}

void dump_record_tick(struct dump_recorder *rec, uint64_t now, bool is_idle)
{
	if (rec->error || !rec->is_open)
		return;
	if (rec->opts->rotate_ns && rec->events &&
	    now - rec->opened_ns >= rec->opts->rotate_ns) {
		rotate(rec);
		return;
	}
	/* A small gzip member is inefficient; a plain write while idle is not. */
	if (now - rec->pushed_ns < PUSH_NS && (!is_idle || rec->opts->gzip_level))
		return;
	rec->pushed_ns = now;
	dump_record_push(rec);
}

void dump_record_reopen(struct dump_recorder *rec)
{
	if (rec->error || !rec->is_open)
		return;
	end(rec);
	if (!rec->error)
		begin(rec, true);
}

int dump_record_close(struct dump_recorder *rec)
{
	end(rec);
	free(rec->path);
	dump_rotation_fini(&rec->names);
	if (dump_record_reader_is_gone(rec) || was_stopped(rec))
		return CLI_DONE;
	return rec->error ? CLI_FAILED : CLI_DONE;
}
