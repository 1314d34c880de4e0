/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* input.h - where events come from: the rings of a source, or captures in a row. */
#ifndef DUMP_INPUT_H
#define DUMP_INPUT_H

#include "capture.h"
#include "options.h"

struct dump_input {
	/* rings */
	struct kmes_source *src;
	struct kmes_reader *reader;

	/* captures */
	char **files; /* the next one to open; NULL: rings are read */
	char **all_files;
	struct kmes_capture_reader *capture;
	const char *name;
	struct kmes_capture_info info; /* of the header that was read last */
	bool has_info;
	bool follow;
	bool is_ahead; /* the first item was read at the opening */
	int ahead_rc;
	struct kmes_item ahead;
	const struct kmes_cpus *cpus; /* NULL: all */
	bool has_failed;	      /* some capture did; a message said why */
};

/*
 * Opens the rings, or the first capture and reads its header. Exits after a
 * message when that cannot be.
 */
void dump_input_open(struct dump_input *in, const struct dump_opts *opts,
		     struct cli *cli);
void dump_input_close(struct dump_input *in);

/*
 * The next item: 1; 0: nothing now; -ENODATA: everything was read; -ESHUTDOWN: the source
 * ended; -EIO: cannot go on, after a message. A capture that is damaged or cut is passed
 * over behind its last whole event, after a message, and is remembered in has_failed.
 */
int dump_input_next(struct dump_input *in, struct kmes_item *item);

/* Not one capture could be opened and has a header; a message said why. */
bool dump_input_is_void(const struct dump_input *in);

/* As kmes_reader_wait. */
int dump_input_wait(struct dump_input *in, int timeout_ms, int watch_fd);

/* What a capture of this input says of where its events are from. */
void dump_input_info(const struct dump_input *in, struct kmes_capture_info *info);

/* Whether `fd` is the capture that is being read. */
bool dump_input_is(const struct dump_input *in, int fd);

#endif
