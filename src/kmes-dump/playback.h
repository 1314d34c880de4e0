/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* playback.h - captures in a playback, read as one stream. */
#ifndef DUMP_PLAYBACK_H
#define DUMP_PLAYBACK_H
#include <sys/stat.h>

#include "capture/capture.h"
#include "options.h"
#include "order.h"

struct dump_playback {
	char **files; /* the next one to open */
	char **all_files;
	const struct cli *cli; /* for -c */
	struct kmes_capture_reader *capture;
	const char *name;
	bool follow;
	bool is_busy; /* the last 0 did not mean that there is nothing */

	struct kmes_capture_info header; /* the one that was read last */
	bool has_header;
	uint32_t slots; /* the most that a header has told, or an event shown */
	bool has_checked_cpus;

	struct dump_order *order; /* NULL: as they stand */
	uint32_t order_flag;
	uint64_t held_since_ns; /* nothing more came, while the window held some; 0: no */

	struct kmes_capture_info info; /* of what was handed out last */
	bool has_info;		       /* there is something to read, and -c was right */
	bool has_failed;
};

void dump_playback_open(struct dump_playback *playback, const struct dump_opts *opts,
			const struct cli *cli);
void dump_playback_close(struct dump_playback *playback);

/* As dump_input_next. CPUs of -c that no capture can have exit 2. */
int dump_playback_next(struct dump_playback *playback, struct kmes_item *item);

/* What was read and not yet handed out, because of its order: 1 or 0. */
int dump_playback_rest(struct dump_playback *playback, struct kmes_item *item);
bool dump_playback_holds_some(const struct dump_playback *playback);

bool dump_playback_wait(const struct dump_playback *playback, int timeout_ms,
			int watch_fd);

/* Whether one of the captures is the file of this stat(2). */
bool dump_playback_has(const struct dump_playback *playback, const struct stat *st);

#endif
