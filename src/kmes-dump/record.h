/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* record.h - writes events to a capture, or to a series of rotated ones. */
#ifndef DUMP_RECORD_H
#define DUMP_RECORD_H
#include <sys/types.h>

#include "capture/capture.h"
#include "input.h"
#include "rotation.h"

struct dump_recorder {
	const struct dump_record_opts *opts;
	const struct dump_input *in;
	struct kmes_capture_info info;
	struct kmes_capture_writer *writer; /* NULL: none is open */
	char *path;
	bool is_open, is_rotated;
	bool has_removed; /* files because of --keep */
	struct dump_rotation names;
	uint64_t opened_ns, pushed_ns; /* CLOCK_MONOTONIC */
	uint64_t events;	       /* in this file */
	uint64_t safe_events;	       /* in previous files */
	dev_t dev;
	ino_t ino;
	int error; /* the first -errno, already reported */

	/*
	 * Called while a FIFO has no reader: is the run over? NULL: only after a signal.
	 */
	bool (*is_over)(void *arg);
	void *is_over_arg;
};

/* Does not open a file yet. */
void dump_record_init(struct dump_recorder *rec, const struct dump_record_opts *opts,
		      const struct dump_input *in);

/*
 * Opens the first file. To be called once the input is valid; until then an existing file
 * is kept. Exits after a message on failure.
 */
void dump_record_open(struct dump_recorder *rec);

void dump_record_event(struct dump_recorder *rec, const struct kmes_event *event);
void dump_record_loss(struct dump_recorder *rec, const struct kmes_loss *loss);

/*
 * To be called at least twice per second: rotates by time, and writes what a kill would
 * lose. `is_idle`: there are no events to read.
 */
void dump_record_tick(struct dump_recorder *rec, uint64_t now_ns, bool is_idle);

/* Writes what was added, because the caller may block elsewhere. */
void dump_record_push(struct dump_recorder *rec);

/* Closes the file and reopens it, or opens the next one. */
void dump_record_reopen(struct dump_recorder *rec);

/* Has the reader of standard output gone away? Not a failure. */
bool dump_record_reader_is_gone(const struct dump_recorder *rec);

/* Ends and closes. The exit status. */
int dump_record_close(struct dump_recorder *rec);

#endif
