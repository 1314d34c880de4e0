/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* record.h - events into a capture, or into one after the other. */
#ifndef DUMP_RECORD_H
#define DUMP_RECORD_H
#include <sys/types.h>

#include "capture/capture.h"
#include "input.h"
#include "names.h"

struct dump_recorder {
	const struct dump_record_opts *opts;
	const struct dump_input *in;
	struct kmes_capture_info info;
	struct kmes_capture_writer *writer; /* NULL: none is open */
	char *path;
	bool is_open, is_rotated;
	bool has_removed; /* files, for --keep */
	struct dump_names names;
	uint64_t opened_ns, pushed_ns; /* CLOCK_MONOTONIC */
	uint64_t events;	       /* in this file */
	uint64_t safe_events;	       /* in those before it */
	dev_t dev;
	ino_t ino;
	int error; /* the first -errno; a message said it */

	/* Asked while nobody reads a FIFO: whether the run is over. NULL: by signals alone. */
	bool (*is_over)(void *arg);
	void *is_over_arg;
};

/* Nothing is opened yet. */
void dump_record_init(struct dump_recorder *rec, const struct dump_record_opts *opts,
		      const struct dump_input *in);

/*
 * Opens the file, or the first of them, once the input is sound; up to then what is there
 * stays as it is. Exits after a message when that cannot be.
 */
void dump_record_open(struct dump_recorder *rec);

void dump_record_event(struct dump_recorder *rec, const struct kmes_event *event);
void dump_record_loss(struct dump_recorder *rec, const struct kmes_loss *loss);

/*
 * To be called now and then, at least twice a second: rotates by time, and sends on what
 * would otherwise be lost by a kill. `is_idle`: there is nothing else to do.
 */
void dump_record_tick(struct dump_recorder *rec, uint64_t now_ns, bool is_idle);

/* Sends on what there is, because the caller may be held up by something else. */
void dump_record_push(struct dump_recorder *rec);

/* Closes the file and opens it, or the next one, anew. */
void dump_record_reopen(struct dump_recorder *rec);

/* Who read our standard output does no more, which is no failure. */
bool dump_record_reader_is_gone(const struct dump_recorder *rec);

/* Ends and closes. The exit status. */
int dump_record_close(struct dump_recorder *rec);

#endif
