/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* input.h - the input: rings of a source, or a series of captures. */
#ifndef DUMP_INPUT_H
#define DUMP_INPUT_H

#include "playback.h"

struct dump_input {
	bool reads_captures; /* else rings */
	struct dump_playback playback;

	/* rings */
	struct kmes_source *src;
	struct kmes_reader *reader;
	uint32_t order_flag;
};

/* Opens the rings, or exits after a message; or prepares to read the captures. */
void dump_input_open(struct dump_input *in, const struct dump_opts *opts,
		     struct cli *cli);
void dump_input_close(struct dump_input *in);

/*
 * The next item: 1; 0: nothing now; -ENODATA: everything was read; -ESHUTDOWN: the source
 * ended; -EIO: failed, after a message. After the last complete event of a damaged or
 * truncated capture, prints a message, sets has_failed and continues with the next one.
 */
int dump_input_next(struct dump_input *in, struct kmes_item *item);

/* As kmes_reader_wait. */
int dump_input_wait(struct dump_input *in, int timeout_ms, int watch_fd);

/* Has the input been validated: rings, or a capture header with the CPUs of -c? */
bool dump_input_is_valid(const struct dump_input *in);

/* The header for a capture of this input. */
void dump_input_info(const struct dump_input *in, struct kmes_capture_info *info);

/* Is the file with this stat(2) one of the captures? */
bool dump_input_is(const struct dump_input *in, const struct stat *st);

#endif
