/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* input.c - rings or captures, so that the rest need not know which. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* ---- rings ---- */

static bool has_ring(void *reader, uint16_t cpu)
{
	return reader && kmes_reader_has_cpu(reader, cpu);
}

/* Opens the rings that -c wants; CPUs without one are wrong usage. */
static void open_rings(struct dump_input *in, const struct dump_opts *opts,
		       struct cli *cli)
{
	struct kmes_reader_options options = {
		.cpus = in->cpus,
		.order = opts->order,
		.only_new = opts->only_new,
		.snapshot = opts->snapshot,
	};
	struct kmes_error err = { "" };
	int rc;

	in->src = cli_source_open(cli);
	rc = kmes_reader_open(&in->reader, in->src, &options, &err);
	if (!rc || rc == -ENODEV)
		cli_check_cpus(cli, has_ring, in->reader);
	if (rc) {
		cli_source_die_if_stopped(in->src);
		cli_error("%s", *err.text ? err.text : strerror(-rc));
		exit(CLI_FAILED);
	}
}

static int next_of_rings(struct dump_input *in, struct kmes_item *item)
{
	int rc = kmes_reader_next(in->reader, item);

	if (rc >= 0 || rc == -ENODATA || rc == -ESHUTDOWN)
		return rc;
	if (rc == -EINTR && cli_stop_signal())
		return rc;
	cli_error("%s", kmes_reader_error(in->reader));
	return -EIO;
}

/* ---- captures ---- */

static void capture_failed(struct dump_input *in, const char *why)
{
	cli_error("%s: %s", in->name, why);
	in->has_failed = true;
}

/* Opens the next capture; one that cannot be opened is passed over, after a message. */
static void open_next(struct dump_input *in)
{
	const char *file = *in->files;
	bool is_stdin = !strcmp(file, "-");
	int rc, fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			      : open(file, O_RDONLY | O_CLOEXEC);

	/* A FIFO without a writer: the signal matters more. */
	if (fd < 0 && errno == EINTR)
		return;
	in->files++;
	in->name = is_stdin ? "standard input" : file;
	if (fd < 0) {
		capture_failed(in, strerror(errno));
		return;
	}
	rc = kmes_capture_open(&in->capture, fd, in->follow);
	if (rc < 0) {
		in->capture = NULL;
		capture_failed(in, strerror(-rc));
	}
}

static void keep_info(struct dump_input *in)
{
	const struct kmes_capture_info *info = kmes_capture_info(in->capture);

	if (!info)
		return;
	in->info = *info;
	in->has_info = true;
}

static void close_capture(struct dump_input *in)
{
	const char *warning = kmes_capture_warning(in->capture);

	if (*warning)
		cli_warn("%s: %s", in->name, warning);
	keep_info(in);
	kmes_capture_close(in->capture);
	in->capture = NULL;
}

static bool is_wanted(const struct dump_input *in, const struct kmes_item *item)
{
	uint16_t cpu = item->kind == KMES_ITEM_LOSS ? item->loss.cpu : item->event->cpu;

	return !in->cpus || kmes_cpus_has(in->cpus, cpu);
}

static int next_of_captures(struct dump_input *in, struct kmes_item *item)
{
	while (!cli_stop_signal()) {
		int rc;

		if (!in->capture) {
			if (!*in->files)
				return -ENODATA;
			open_next(in);
			continue;
		}
		rc = kmes_capture_next(in->capture, item);
		if (rc > 0 && !is_wanted(in, item))
			continue;
		if (rc >= 0)
			return rc;
		if (rc != -ENODATA)
			capture_failed(in, kmes_capture_error(in->capture));
		close_capture(in);
	}
	return 0;
}

/* The first item, behind the header that says where all of it is from. */
static void read_ahead(struct dump_input *in)
{
	in->ahead_rc = next_of_captures(in, &in->ahead);
	in->is_ahead = true;
}

/* ---- either ---- */

void dump_input_open(struct dump_input *in, const struct dump_opts *opts, struct cli *cli)
{
	memset(in, 0, sizeof(*in));
	in->cpus = cli->cpus.count ? &cli->cpus.set : NULL;
	in->files = opts->captures;
	in->all_files = opts->captures;
	in->follow = opts->follow_capture;
	if (!in->files)
		open_rings(in, opts, cli);
	else
		read_ahead(in);
}

void dump_input_close(struct dump_input *in)
{
	kmes_capture_close(in->capture);
	kmes_reader_close(in->reader);
	cli_source_close(in->src);
}

int dump_input_next(struct dump_input *in, struct kmes_item *item)
{
	int rc;

	if (!in->files)
		return next_of_rings(in, item);
	if (in->is_ahead) {
		in->is_ahead = false;
		*item = in->ahead;
		rc = in->ahead_rc;
	} else {
		rc = next_of_captures(in, item);
	}
	if (rc > 0)
		keep_info(in);
	return rc;
}

bool dump_input_is_void(const struct dump_input *in)
{
	return in->files && in->ahead_rc == -ENODATA && !in->has_info && in->has_failed;
}

int dump_input_wait(struct dump_input *in, int timeout_ms, int watch_fd)
{
	if (in->files)
		return in->capture &&
		       kmes_capture_wait(in->capture, timeout_ms, watch_fd);
	return kmes_reader_wait(in->reader, timeout_ms, watch_fd);
}

void dump_input_info(const struct dump_input *in, struct kmes_capture_info *info)
{
	struct timespec now;
	int slots;

	if (in->has_info) {
		*info = in->info;
		return;
	}
	memset(info, 0, sizeof(*info));
	clock_gettime(CLOCK_REALTIME, &now);
	info->start_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	kmes_boot_id(info->boot_id);
	if (!in->src)
		return;
	memcpy(info->stream_id, kmes_source_stream_id(in->src), sizeof(info->stream_id));
	slots = kmes_source_slots(in->src, NULL);
	info->slots = slots > 0 ? (uint32_t)slots : 0;
}

bool dump_input_is(const struct dump_input *in, int fd)
{
	struct stat a, b;
	char *const *file;

	if (!in->files || fstat(fd, &a) < 0 || !S_ISREG(a.st_mode))
		return false;
	for (file = in->all_files; *file; file++) {
		int rc = strcmp(*file, "-") ? stat(*file, &b) : fstat(STDIN_FILENO, &b);

		if (rc == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return true;
	}
	return false;
}
