/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* playback.c - captures one after the other: which are there, whose events, in which order. */
#include "playback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* So many events of CPUs that are not wanted, and the caller may look around. */
#define PASSED_MAX 65536u
/* Events are held for their order so long at most once nothing more comes. */
#define HOLD_NS 500000000ull

static void failed(struct dump_row *row, const char *why)
{
	cli_error("%s: %s", row->name, why);
	row->has_failed = true;
}

/* ---- -c ---- */

static bool has_cpu(void *arg, uint16_t cpu)
{
	const struct dump_row *row = arg;

	return cpu < row->slots;
}

/*
 * A CPU that can have no ring in any capture is wrong usage, as with rings. The headers
 * say how many slots there were. It is settled when something is to be handed out, or at
 * the end: up to then a capture with more slots may follow.
 */
static void check_cpus(struct dump_row *row)
{
	if (row->has_checked_cpus || !row->has_header)
		return;
	if (row->slots)
		cli_check_cpus(row->cli, has_cpu, row);
	row->has_checked_cpus = true;
}

static bool is_wanted(struct dump_row *row, const struct kmes_item *item)
{
	uint16_t cpu = item->kind == KMES_ITEM_LOSS ? item->loss.cpu : item->event->cpu;

	if (!row->cli->cpus.count)
		return true;
	if (row->slots && cpu >= row->slots)
		row->slots = cpu + 1u;
	return kmes_cpus_has(&row->cli->cpus.set, cpu);
}

/* ---- one after the other ---- */

/* Opens the next capture; one that cannot be opened is passed over, after a message. */
static void open_next(struct dump_row *row)
{
	const char *file = *row->files;
	int rc, fd = kmes_capture_open_file(file);

	row->files++;
	row->name = strcmp(file, "-") ? file : "standard input";
	if (fd < 0) {
		failed(row, strerror(-fd));
		return;
	}
	rc = kmes_capture_open(&row->capture, fd, row->follow);
	if (rc < 0) {
		row->capture = NULL;
		failed(row, strerror(-rc));
	}
}

static void note_header(struct dump_row *row)
{
	const struct kmes_capture_info *info = kmes_capture_info(row->capture);

	if (!info)
		return;
	/* One that does not know leaves it open for all. */
	if (!info->slots)
		row->slots = 0;
	else if ((row->slots || !row->has_header) && info->slots > row->slots)
		row->slots = info->slots;
	row->header = *info;
	row->has_header = true;
}

static void close_capture(struct dump_row *row)
{
	const char *warning = kmes_capture_warning(row->capture);

	if (*warning)
		cli_warn("%s: %s", row->name, warning);
	kmes_capture_close(row->capture);
	row->capture = NULL;
}

/* The next wanted item as they stand; returns as dump_row_next. */
static int next_as_it_stands(struct dump_row *row, struct kmes_item *item)
{
	unsigned int passed = 0;

	while (!cli_stop_signal() && passed < PASSED_MAX) {
		int rc;

		if (!row->capture && !*row->files) {
			check_cpus(row);
			return -ENODATA;
		}
		if (!row->capture) {
			open_next(row);
			continue;
		}
		rc = kmes_capture_next(row->capture, item);
		note_header(row);
		if (rc > 0 && item->kind == KMES_ITEM_NOTE) {
			failed(row, item->note);
			continue;
		}
		if (rc > 0 && !is_wanted(row, item)) {
			passed++;
			continue;
		}
		if (rc > 0 || (rc == 0 && row->follow))
			check_cpus(row);
		if (rc >= 0)
			return rc;
		if (rc != -ENODATA)
			failed(row, kmes_capture_error(row->capture));
		close_capture(row);
	}
	row->is_busy = passed == PASSED_MAX;
	return 0;
}

/* ---- in another order ---- */

static bool has_held_long(struct dump_row *row)
{
	struct timespec now;
	uint64_t now_ns;

	if (dump_order_is_empty(row->order))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (!row->held_since_ns)
		row->held_since_ns = now_ns;
	return now_ns - row->held_since_ns >= HOLD_NS;
}

int dump_row_rest(struct dump_row *row, struct kmes_item *item)
{
	if (!row->order)
		return 0;
	dump_order_drain(row->order);
	if (!dump_order_take(row->order, item, &row->info))
		return 0;
	row->info.flags = row->order_flag;
	return 1;
}

bool dump_row_holds_some(const struct dump_row *row)
{
	return row->order && !dump_order_is_empty(row->order);
}

/* Fills the window as far as there is something to read; returns as dump_row_next. */
static int fill_window(struct dump_row *row, struct kmes_item *item)
{
	int rc = 1;

	while (rc > 0 && dump_order_wants_more(row->order)) {
		rc = next_as_it_stands(row, item);
		if (rc > 0 && dump_order_add(row->order, item, &row->header) < 0)
			cli_no_memory();
	}
	if (rc == -ENODATA || (rc == 0 && has_held_long(row)))
		dump_order_drain(row->order);
	return rc;
}

static int next_in_order(struct dump_row *row, struct kmes_item *item)
{
	int rc;

	do {
		rc = fill_window(row, item);
		if (dump_order_take(row->order, item, &row->info)) {
			row->held_since_ns = 0;
			return 1;
		}
	} while (rc > 0);
	return rc;
}

/* ---- the row ---- */

void dump_row_open(struct dump_row *row, const struct dump_opts *opts,
		   const struct cli *cli)
{
	*row = (struct dump_row){
		.files = opts->captures,
		.all_files = opts->captures,
		.cli = cli,
		.follow = opts->follow_capture,
		.has_checked_cpus = !cli->cpus.count,
	};
	if (!opts->has_order)
		return;
	row->order_flag = dump_options_order_flag(opts);
	if (dump_order_new(&row->order, opts->order, DUMP_ORDER_BYTES) < 0)
		cli_no_memory();
}

void dump_row_close(struct dump_row *row)
{
	uint64_t late = row->order ? dump_order_late(row->order) : 0;

	if (late)
		cli_warn("%" PRIu64 " events stood too far apart to be put in order",
			 late);
	dump_order_free(row->order);
	kmes_capture_close(row->capture);
}

int dump_row_next(struct dump_row *row, struct kmes_item *item)
{
	int rc;

	row->is_busy = false;
	rc = row->order ? next_in_order(row, item) : next_as_it_stands(row, item);
	if (!row->has_header || !row->has_checked_cpus)
		return rc;
	if (!row->order || (rc <= 0 && !row->has_info))
		row->info = row->header;
	if (row->order)
		row->info.flags = row->order_flag;
	row->has_info = true;
	return rc;
}

bool dump_row_wait(const struct dump_row *row, int timeout_ms, int watch_fd)
{
	return row->capture &&
	       kmes_capture_wait(row->capture, row->is_busy ? 0 : timeout_ms, watch_fd);
}

bool dump_row_has(const struct dump_row *row, const struct stat *st)
{
	char *const *file;
	struct stat own;

	for (file = row->all_files; *file; file++) {
		int rc = strcmp(*file, "-") ? stat(*file, &own)
					    : fstat(STDIN_FILENO, &own);

		if (rc == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	}
	return false;
}
