// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* input.c - reads rings or captures through one interface. */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

/* ---- rings ---- */

static bool has_ring(void *reader, uint16_t cpu)
{
	return reader && kmes_reader_has_cpu(reader, cpu);
}

/* Opens the rings of -c; a CPU without a ring is a usage error. */
static void open_rings(struct dump_input *in, const struct dump_opts *opts,
		       struct cli *cli)
{
	struct kmes_reader_options options = {
		.cpus = cli->cpus.count ? &cli->cpus.set : NULL,
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

/* ---- both ---- */

void dump_input_open(struct dump_input *in, const struct dump_opts *opts, struct cli *cli)
{
	memset(in, 0, sizeof(*in));
	in->reads_captures = opts->captures;
	in->order_flag = dump_options_order_flag(opts);
	if (in->reads_captures)
		dump_playback_open(&in->playback, opts, cli);
	else
		open_rings(in, opts, cli);
}

void dump_input_close(struct dump_input *in)
{
	if (in->reads_captures)
		dump_playback_close(&in->playback);
	kmes_reader_close(in->reader);
	cli_source_close(in->src);
}

int dump_input_next(struct dump_input *in, struct kmes_item *item)
{
	return in->reads_captures ? dump_playback_next(&in->playback, item)
				  : next_of_rings(in, item);
}

int dump_input_wait(struct dump_input *in, int timeout_ms, int watch_fd)
{
	if (in->reads_captures)
		return dump_playback_wait(&in->playback, timeout_ms, watch_fd);
	return kmes_reader_wait(in->reader, timeout_ms, watch_fd);
}

bool dump_input_is_valid(const struct dump_input *in)
{
	return !in->reads_captures || in->playback.has_info;
}

void dump_input_info(const struct dump_input *in, struct kmes_capture_info *info)
{
	int slots;

	if (in->reads_captures) {
		*info = in->playback.info;
		return;
	}
	memset(info, 0, sizeof(*info));
	info->flags = in->order_flag;
	info->start_ns = kmesp_clock_ns(CLOCK_REALTIME);
	kmes_boot_id(info->boot_id);
	memcpy(info->stream_id, kmes_source_stream_id(in->src), sizeof(info->stream_id));
	slots = kmes_source_slots(in->src, NULL);
	info->slots = slots > 0 ? (uint32_t)slots : 0;
}

bool dump_input_is(const struct dump_input *in, const struct stat *st)
{
	return in->reads_captures && S_ISREG(st->st_mode) &&
	       dump_playback_has(&in->playback, st);
}
