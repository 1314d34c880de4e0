// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * run.c - the main loop: passes events through the filter to the printer. The conditions
 * that end it are checked when the rings are empty, or every few hundred events.
 */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"

/* Clocks and signals are checked after this many items. */
#define CHECK_EVERY 512u
/* Interval of checks for the reader of stdout while nothing is printed. */
#define READER_CHECK_NS 500000000ull
/* The longest delay between the time stamp of an event and its arrival in order. */
#define LATE_NS 50000000ull
/* If the rings never become empty, --until ends the run after this delay. */
#define DRAIN_NS KMES_NS_PER_S
#define WAIT_MS 100

struct run {
	struct dump_opts *opts;
	struct dump_input *input;
	struct cli_printer *printer;
	struct dump_recorder *recorder;
	struct dump_tally *tally;
	bool has_filter;
	bool has_times; /* --since and --until have been resolved */
	bool writes_stdout;
	unsigned int until_check;
	uint64_t stop_ns;	    /* by --duration, on the monotonic clock */
	uint64_t drain_ns;	    /* the end after --until has passed, on that clock */
	uint64_t reader_checked_ns; /* time of the last check */
};

/* Resolves --since and --until; in a capture a time of day refers to its first event. */
static void set_times(struct run *run, uint64_t first_ns)
{
	dump_options_set_times(run->opts, first_ns);
	run->has_filter = kmesp_filter_is_set(run->opts->events.filter);
	run->has_times = true;
}

static void take_loss(struct run *run, const struct kmes_loss *loss)
{
	dump_tally_lose(run->tally, loss);
	if (run->recorder)
		dump_record_loss(run->recorder, loss);
	if (run->opts->prints)
		cli_print_loss(run->printer, loss);
}

/* Prints an event that passes; true when it was the last one wanted. */
static bool take_event(struct run *run, const struct kmes_event *event)
{
	run->tally->read++;
	if (run->has_filter && !kmesp_filter_passes(run->opts->events.filter, event))
		return false;
	if (run->recorder)
		dump_record_event(run->recorder, event);
	if (run->opts->prints)
		cli_print_event(run->printer, event);
	return ++run->tally->printed == run->opts->count;
}

static bool take_item(struct run *run, const struct kmes_item *item)
{
	if (run->input->reads_captures && run->opts->print.with_boot)
		cli_print_set_boot_id(run->printer, run->input->playback.info.boot_id);
	switch (item->kind) {
	case KMES_ITEM_EVENT:
		return take_event(run, item->event);
	case KMES_ITEM_LOSS:
		take_loss(run, &item->loss);
		return false;
	case KMES_ITEM_NOTE:
		cli_warn("%s", item->note);
		return false;
	case KMES_ITEM_RESIZE: /* the reader has followed it */
		return false;
	}
	return false;
}

/* Do --duration or --until end the run? */
static bool is_time_up(struct run *run, uint64_t now_ns, bool rings_are_empty)
{
	if (now_ns >= run->stop_ns)
		return true;
	if (run->opts->until_ns == UINT64_MAX ||
	    (run->opts->captures && !run->opts->follow_capture))
		return false;
	if (kmesp_clock_ns(CLOCK_REALTIME) <=
	    cli_sum_capped(run->opts->until_ns, LATE_NS))
		return false;
	if (run->drain_ns == UINT64_MAX)
		run->drain_ns = now_ns + DRAIN_NS;
	rings_are_empty &= !dump_playback_holds_some(&run->input->playback);
	return rings_are_empty || now_ns >= run->drain_ns;
}

/* Handles signals and time limits. True: the run ends. */
static bool check_conditions(struct run *run, bool rings_are_empty, enum dump_end *end)
{
	uint64_t now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);

	run->until_check = CHECK_EVERY;
	if (cli_signal_arrived(SIGUSR1))
		dump_tally_print(run->tally, run->has_filter);
	if (run->recorder && cli_signal_arrived(SIGHUP))
		dump_record_reopen(run->recorder);
	if (run->recorder)
		dump_record_tick(run->recorder, now_ns, rings_are_empty);
	if (run->writes_stdout && now_ns - run->reader_checked_ns >= READER_CHECK_NS) {
		run->reader_checked_ns = now_ns;
		cli_print_check_reader(run->printer);
	}
	*end = DUMP_END_DONE;
	return is_time_up(run, now_ns, rings_are_empty);
}

/* Called while the FIFO to be written has no reader. */
static bool is_over(void *arg)
{
	struct run *run = arg;

	if (cli_signal_arrived(SIGUSR1))
		dump_tally_print(run->tally, run->has_filter);
	return is_time_up(run, kmesp_clock_ns(CLOCK_MONOTONIC), true);
}

/* The longest time to wait for events. */
static int wait_ms(const struct run *run)
{
	uint64_t now_ns, left_ns;

	if (run->stop_ns == UINT64_MAX)
		return WAIT_MS;
	now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	left_ns = run->stop_ns > now_ns ? run->stop_ns - now_ns : 0;
	return left_ns / 1000000 >= WAIT_MS ? WAIT_MS : (int)(left_ns / 1000000) + 1;
}

static enum dump_end end_of_input(int rc)
{
	if (rc == -ENODATA)
		return DUMP_END_DONE;
	if (rc == -EINTR && cli_stop_signal())
		return DUMP_END_STOPPED;
	if (rc == -ESHUTDOWN) {
		cli_warn("source ended");
		return DUMP_END_DONE;
	}
	return DUMP_END_FAILED;
}

static bool has_failed(const struct run *run)
{
	return cli_print_has_failed(run->printer) ||
	       (run->recorder && run->recorder->error);
}

/*
 * Opened only once the input is valid, so that an existing file is not lost for nothing.
 */
static void open_record(struct run *run)
{
	if (run->recorder && !run->recorder->is_open && dump_input_is_valid(run->input))
		dump_record_open(run->recorder);
}

/* Takes the items that are held only for their order. */
static void take_rest(struct run *run)
{
	struct kmes_item item;

	while (run->tally->printed < run->opts->count && !has_failed(run) &&
	       dump_playback_rest(&run->input->playback, &item)) {
		if (!run->has_times && item.kind == KMES_ITEM_EVENT)
			set_times(run, item.event->ts_ns);
		if (take_item(run, &item))
			return;
	}
}

/* The rings are empty: checks all conditions, then sleeps. False: the run ends. */
static bool wait_for_more(struct run *run, enum dump_end *end)
{
	cli_print_flush(run->printer);
	if (check_conditions(run, true, end))
		return false;
	if (dump_input_wait(run->input, wait_ms(run),
			    run->writes_stdout ? cli_print_fd(run->printer) : -1))
		cli_print_check_reader(run->printer);
	return true;
}

/* Waits for the next item. False: `*end` is the reason that there is none. */
static inline bool next_item(struct run *run, struct kmes_item *item, enum dump_end *end)
{
	int rc;

	if (!--run->until_check && check_conditions(run, false, end))
		return false;
	do {
		if (cli_stop_signal() || has_failed(run)) {
			*end = cli_stop_signal() ? DUMP_END_STOPPED : DUMP_END_OUTPUT;
			return false;
		}
		rc = dump_input_next(run->input, item);
		open_record(run);
		if (rc < 0) {
			*end = end_of_input(rc);
			return false;
		}
	} while (rc == 0 && wait_for_more(run, end));
	return rc > 0;
}

static enum dump_end loop(struct run *run)
{
	struct kmes_item item;
	enum dump_end end;

	open_record(run);
	if (check_conditions(run, false, &end))
		return end;
	while (!run->has_times) {
		if (!next_item(run, &item, &end))
			return end;
		if (item.kind == KMES_ITEM_EVENT)
			set_times(run, item.event->ts_ns);
		if (take_item(run, &item))
			return DUMP_END_DONE;
	}
	while (next_item(run, &item, &end))
		if (take_item(run, &item))
			return DUMP_END_DONE;
	return end;
}

/* A slow reader of stdout must not delay the capture. */
static void push_record(void *recorder)
{
	dump_record_push(recorder);
}

enum dump_end dump_run(struct dump_opts *opts, struct dump_input *input,
		       struct cli_printer *printer, struct dump_recorder *recorder,
		       struct dump_tally *tally)
{
	uint64_t now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	enum dump_end end;
	struct run run = {
		.opts = opts,
		.input = input,
		.printer = printer,
		.recorder = recorder,
		.writes_stdout = opts->prints || !strcmp(opts->record.file, "-"),
		.tally = tally,
		.has_filter = kmesp_filter_is_set(opts->events.filter),
		.stop_ns = cli_sum_capped(now_ns, opts->duration_ns),
		.drain_ns = UINT64_MAX,
		.reader_checked_ns = now_ns,
	};

	if (recorder && opts->prints)
		cli_print_before_wait(printer, push_record, recorder);
	if (!opts->captures)
		set_times(&run, 0);
	if (recorder) {
		recorder->is_over = is_over;
		recorder->is_over_arg = &run;
	}
	end = loop(&run);
	if (end == DUMP_END_DONE || (end == DUMP_END_STOPPED && opts->follow_capture))
		take_rest(&run);
	return end;
}
