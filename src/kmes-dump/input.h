/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* input.h - where events come from: the rings of a source, or captures in a playback. */
#ifndef DUMP_INPUT_H
#define DUMP_INPUT_H

#include "playback.h"

struct dump_input {
	bool is_row; /* captures are read, not rings */
	struct dump_playback playback;

	/* rings */
	struct kmes_source *src;
	struct kmes_reader *reader;
	uint32_t order_flag;
};

/* Opens the rings, exits after a message when that cannot be; or begins with the captures. */
void dump_input_open(struct dump_input *in, const struct dump_opts *opts,
		     struct cli *cli);
void dump_input_close(struct dump_input *in);

/*
 * The next item: 1; 0: nothing now; -ENODATA: everything was read; -ESHUTDOWN: the source
 * ended; -EIO: cannot go on, after a message. A capture that is damaged or cut is passed
 * over behind its last whole event, after a message, and is remembered (has_failed).
 */
int dump_input_next(struct dump_input *in, struct kmes_item *item);

/* As kmes_reader_wait. */
int dump_input_wait(struct dump_input *in, int timeout_ms, int watch_fd);

/* There is something to read: rings, or the header of a capture with the CPUs of -c. */
bool dump_input_is_sound(const struct dump_input *in);

/* What a capture of this input says of where its events are from. */
void dump_input_info(const struct dump_input *in, struct kmes_capture_info *info);

/* Whether the file of this stat(2) is one of the captures that are read. */
bool dump_input_is(const struct dump_input *in, const struct stat *st);

#endif
