/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* playback.h - reads several captures as one stream. */
#ifndef DUMP_PLAYBACK_H
#define DUMP_PLAYBACK_H
#include <sys/stat.h>

#include "capture/capture.h"
#include "options.h"
#include "order.h"

struct dump_playback {
	char **files; /* the next file to open */
	char **all_files;
	const struct cli *cli; /* for -c */
	struct kmes_capture_reader *capture;
	const char *name;
	bool follow;
	bool is_busy; /* the last 0 did not mean an end of the data */

	struct kmes_capture_info header; /* read last */
	bool has_header;
	uint32_t slots; /* the highest of headers and events; 0: unknown */
	bool has_checked_cpus;

	struct dump_order *order; /* NULL: keep the order of the file */
	uint32_t order_flag;
	uint64_t
		held_since_ns; /* since when the window waits for input; 0: it does not */

	struct kmes_capture_info info; /* of the last item returned */
	bool has_info;		       /* a header was read and -c is valid */
	bool has_failed;
};

void dump_playback_open(struct dump_playback *playback, const struct dump_opts *opts,
			const struct cli *cli);
void dump_playback_close(struct dump_playback *playback);

/* As dump_input_next(). A CPU of -c that no capture can have exits 2. */
int dump_playback_next(struct dump_playback *playback, struct kmes_item *item);

/* The next item that is held only for its order: 1 or 0. */
int dump_playback_rest(struct dump_playback *playback, struct kmes_item *item);
bool dump_playback_holds_some(const struct dump_playback *playback);

bool dump_playback_wait(const struct dump_playback *playback, int timeout_ms,
			int watch_fd);

/* Is one of the captures the file with this stat(2)? */
bool dump_playback_has(const struct dump_playback *playback, const struct stat *st);

#endif
