// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* playback.c - opens captures one after another, selects CPUs and restores the order. */
#include "playback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
/* After this many events of other CPUs the caller can check for signals. */
#define PASSED_MAX 65536u
/* The longest time that events are held for their order without new input. */
#define HOLD_NS 500000000ull

static void failed(struct dump_playback *playback, const char *why)
{
	cli_error("%s: %s", playback->name, why);
	playback->has_failed = true;
}

/* ---- -c ---- */

static bool has_cpu(void *arg, uint16_t cpu)
{
	const struct dump_playback *playback = arg;

	return cpu < playback->slots;
}

/*
 * A CPU that cannot have a ring in any capture is a usage error, as with rings. The
 * headers have the number of slots. Checked when the first item is returned, or at the
 * end: before that a capture with more slots may follow.
 */
static void check_cpus(struct dump_playback *playback)
{
	if (playback->has_checked_cpus || !playback->has_header)
		return;
	if (playback->slots)
		cli_check_cpus(playback->cli, has_cpu, playback);
	playback->has_checked_cpus = true;
}

static bool is_wanted(struct dump_playback *playback, const struct kmes_item *item)
{
	uint16_t cpu = item->kind == KMES_ITEM_LOSS ? item->loss.cpu : item->event->cpu;

	if (!playback->cli->cpus.count)
		return true;
	if (playback->slots && cpu >= playback->slots)
		playback->slots = cpu + 1u;
	return kmes_cpus_has(&playback->cli->cpus.set, cpu);
}

/* ---- in the order of the files ---- */

/* Opens the next capture; after a message skips one that cannot be opened. */
static void open_next(struct dump_playback *playback)
{
	const char *file = *playback->files;
	int rc, fd = kmesp_capture_open_file(file);

	playback->files++;
	playback->name = strcmp(file, "-") ? file : "standard input";
	if (fd < 0) {
		failed(playback, strerror(-fd));
		return;
	}
	rc = kmesp_capture_open(&playback->capture, fd, playback->follow);
	if (rc < 0) {
		playback->capture = NULL;
		failed(playback, strerror(-rc));
	}
}

static void note_header(struct dump_playback *playback)
{
	const struct kmes_capture_info *info = kmesp_capture_info(playback->capture);

	if (!info)
		return;
	/* One header without a slot count makes the limit unknown. */
	if (!info->slots)
		playback->slots = 0;
	else if ((playback->slots || !playback->has_header) &&
		 info->slots > playback->slots)
		playback->slots = info->slots;
	playback->header = *info;
	playback->has_header = true;
}

static void close_capture(struct dump_playback *playback)
{
	const char *warning = kmesp_capture_warning(playback->capture);

	if (*warning)
		cli_warn("%s: %s", playback->name, warning);
	kmesp_capture_close(playback->capture);
	playback->capture = NULL;
}

/* The next item in the order of the files; returns as dump_playback_next(). */
static int next_in_file_order(struct dump_playback *playback, struct kmes_item *item)
{
	unsigned int passed = 0;

	while (!cli_stop_signal() && passed < PASSED_MAX) {
		int rc;

		if (!playback->capture && !*playback->files) {
			check_cpus(playback);
			return -ENODATA;
		}
		if (!playback->capture) {
			open_next(playback);
			continue;
		}
		rc = kmesp_capture_next(playback->capture, item);
		note_header(playback);
		if (rc > 0 && item->kind == KMES_ITEM_NOTE) {
			failed(playback, item->note);
			continue;
		}
		if (rc > 0 && !is_wanted(playback, item)) {
			passed++;
			continue;
		}
		if (rc > 0 || (rc == 0 && playback->follow))
			check_cpus(playback);
		if (rc >= 0)
			return rc;
		if (rc != -ENODATA)
			failed(playback, kmesp_capture_error(playback->capture));
		close_capture(playback);
	}
	playback->is_busy = passed == PASSED_MAX;
	return 0;
}

/* ---- in another order ---- */

static bool has_held_long(struct dump_playback *playback)
{
	uint64_t now_ns;

	if (dump_order_is_empty(playback->order))
		return false;
	now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	if (!playback->held_since_ns)
		playback->held_since_ns = now_ns;
	return now_ns - playback->held_since_ns >= HOLD_NS;
}

int dump_playback_rest(struct dump_playback *playback, struct kmes_item *item)
{
	if (!playback->order)
		return 0;
	dump_order_drain(playback->order);
	if (!dump_order_take(playback->order, item, &playback->info))
		return 0;
	playback->info.flags = playback->order_flag;
	return 1;
}

bool dump_playback_holds_some(const struct dump_playback *playback)
{
	return playback->order && !dump_order_is_empty(playback->order);
}

/* Fills the window as far as there is input; returns as dump_playback_next(). */
static int fill_window(struct dump_playback *playback, struct kmes_item *item)
{
	int rc = 1;

	while (rc > 0 && dump_order_wants_more(playback->order)) {
		rc = next_in_file_order(playback, item);
		if (rc > 0 &&
		    dump_order_add(playback->order, item, &playback->header) < 0)
			cli_no_memory();
	}
	if (rc == -ENODATA || (rc == 0 && has_held_long(playback)))
		dump_order_drain(playback->order);
	return rc;
}

static int next_in_order(struct dump_playback *playback, struct kmes_item *item)
{
	int rc;

	do {
		rc = fill_window(playback, item);
		if (dump_order_take(playback->order, item, &playback->info)) {
			playback->held_since_ns = 0;
			return 1;
		}
	} while (rc > 0);
	return rc;
}

/* ---- the playback ---- */

void dump_playback_open(struct dump_playback *playback, const struct dump_opts *opts,
			const struct cli *cli)
{
	*playback = (struct dump_playback){
		.files = opts->captures,
		.all_files = opts->captures,
		.cli = cli,
		.follow = opts->follow_capture,
		.has_checked_cpus = !cli->cpus.count,
	};
	if (!opts->has_order)
		return;
	playback->order_flag = dump_options_order_flag(opts);
	if (dump_order_new(&playback->order, opts->order, DUMP_ORDER_BYTES) < 0)
		cli_no_memory();
}

void dump_playback_close(struct dump_playback *playback)
{
	uint64_t late = playback->order ? dump_order_late(playback->order) : 0;

	if (late)
		cli_warn("%" PRIu64 " events were too far apart to be sorted", late);
	dump_order_free(playback->order);
	kmesp_capture_close(playback->capture);
}

int dump_playback_next(struct dump_playback *playback, struct kmes_item *item)
{
	int rc;

	playback->is_busy = false;
	rc = playback->order ? next_in_order(playback, item)
			     : next_in_file_order(playback, item);
	if (!playback->has_header || !playback->has_checked_cpus)
		return rc;
	if (!playback->order || (rc <= 0 && !playback->has_info))
		playback->info = playback->header;
	if (playback->order)
		playback->info.flags = playback->order_flag;
	playback->has_info = true;
	return rc;
}

bool dump_playback_wait(const struct dump_playback *playback, int timeout_ms,
			int watch_fd)
{
	return playback->capture &&
	       kmesp_capture_wait(playback->capture, playback->is_busy ? 0 : timeout_ms,
				  watch_fd);
}

bool dump_playback_has(const struct dump_playback *playback, const struct stat *st)
{
	char *const *file;
	struct stat own;

	for (file = playback->all_files; *file; file++) {
		int rc = strcmp(*file, "-") ? stat(*file, &own)
					    : fstat(STDIN_FILENO, &own);

		if (rc == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	}
	return false;
}
