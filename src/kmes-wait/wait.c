// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * wait.c - reads until a condition holds, or something else ends the wait.
 *
 * After a timeout, or the end of the command, the rings are read once more before the
 * wait ends: an event that was emitted earlier is never missed.
 */
#include "wait.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/json_out.h"
/* The clock is read after this many items of a flood. */
#define LOOK_EVERY 64u
/* Limits the last read in a flood, during which the rings are never empty. */
#define LAST_LOOK_NS 50000000u
/* With --surviving events are sorted, for which one may be held this long. */
#define HELD_NS 25000000u
#define WAIT_MS 100
/* Interval of checks whether stdout's reader is gone, while nothing is printed. */
#define READER_LOOK_NS 500000000u

struct wait {
	const struct wait_opts *opts;
	struct kmes_reader *reader;
	struct wait_command *command;
	struct cli_printer *printer;
	uint64_t events;	/* that matched */
	uint64_t timeout_at_ns; /* CLOCK_MONOTONIC */
	uint64_t idle_at_ns;
	uint64_t last_look_ns;	   /* when the last read ends; 0: it has not begun */
	uint64_t reader_looked_ns; /* last check of stdout's reader */
};

static uint64_t now_ns(void)
{
	return kmesp_clock_ns(CLOCK_MONOTONIC);
}

static bool is_json(const struct wait *w)
{
	return w->opts->print.format == &kmesp_format_json;
}

static void print_resize(struct wait *w, const struct kmes_resize *r)
{
	struct cli_out *out = &w->printer->out;
	struct kmes_json_out j;

	if (!is_json(w)) {
		cli_out_printf(out,
			       "--- cpu%u: resized %" PRIu64 " -> %" PRIu64
			       ", generation %" PRIu64 " -> %" PRIu64 " ---\n",
			       r->cpu, r->old_capacity, r->new_capacity,
			       r->old_generation, r->new_generation);
		return;
	}
	kmesp_json_begin(&j, &out->buf);
	kmesp_json_open_object(&j, NULL);
	kmesp_json_u64(&j, "cpu", r->cpu);
	kmesp_json_open_array(&j, "resized");
	kmesp_json_u64(&j, NULL, r->old_capacity);
	kmesp_json_u64(&j, NULL, r->new_capacity);
	kmesp_json_close(&j);
	kmesp_json_open_array(&j, "generation");
	kmesp_json_u64(&j, NULL, r->old_generation);
	kmesp_json_u64(&j, NULL, r->new_generation);
	kmesp_json_close(&j);
	kmesp_json_close(&j);
}

static void print_idle(struct wait *w)
{
	struct cli_out *out = &w->printer->out;
	uint64_t ns = w->opts->idle_ns;
	struct kmes_json_out j;

	if (!is_json(w)) {
		cli_out_printf(out, "--- no event for %" PRIu64 ".%09" PRIu64 " s ---\n",
			       ns / KMES_NS_PER_S, ns % KMES_NS_PER_S);
		return;
	}
	kmesp_json_begin(&j, &out->buf);
	kmesp_json_open_object(&j, NULL);
	kmesp_json_seconds(&j, "idle_seconds", ns);
	kmesp_json_close(&j);
}

/* True if it was the last one to wait for. */
static bool take_event(struct wait *w, const struct kmes_event *event)
{
	if (!w->opts->on_events && !w->opts->on_idle)
		return false;
	if (!kmesp_filter_passes(w->opts->events.filter, event))
		return false;
	if (w->opts->on_idle)
		w->idle_at_ns = cli_sum_capped(now_ns(), w->opts->idle_ns);
	if (!w->opts->on_events)
		return false;
	if (!w->opts->quiet)
		cli_print_event(w->printer, event);
	return ++w->events == w->opts->count;
}

static bool take_loss(struct wait *w, const struct kmes_loss *loss)
{
	if (w->opts->on_loss && !w->opts->quiet)
		cli_print_loss(w->printer, loss);
	else if (!w->opts->on_loss && w->opts->on_events)
		cli_warn("cpu%u: lost %" PRIu64 " events, some of which may have matched",
			 loss->cpu, loss->last - loss->first + 1);
	return w->opts->on_loss;
}

/* True if a condition holds. */
static bool take_item(struct wait *w, const struct kmes_item *item)
{
	switch (item->kind) {
	case KMES_ITEM_EVENT:
		return take_event(w, item->event);
	case KMES_ITEM_LOSS:
		return take_loss(w, &item->loss);
	case KMES_ITEM_RESIZE:
		if (w->opts->on_resize && !w->opts->quiet)
			print_resize(w, &item->resize);
		return w->opts->on_resize;
	case KMES_ITEM_NOTE:
		cli_warn("%s", item->note);
		break;
	}
	return false;
}

/* Whether a timeout or the command ends the wait, unless the rings contain an event. */
static bool is_over(struct wait *w, uint64_t now)
{
	wait_command_has_ended(w->command);
	return now >= w->timeout_at_ns || now >= w->idle_at_ns ||
	       wait_command_has_failed(w->command);
}

/* The reason for the end. */
static enum wait_end end_of_wait(struct wait *w, uint64_t now)
{
	if (now >= w->idle_at_ns && w->idle_at_ns <= w->timeout_at_ns) {
		if (!w->opts->quiet)
			print_idle(w);
		return WAIT_END_MET;
	}
	return wait_command_has_failed(w->command) ? WAIT_END_COMMAND : WAIT_END_TIMEOUT;
}

static int sleep_ms(const struct wait *w, uint64_t now)
{
	uint64_t until = w->timeout_at_ns < w->idle_at_ns ? w->timeout_at_ns
							  : w->idle_at_ns;
	uint64_t left = until > now ? until - now : 0;

	return left >= WAIT_MS * UINT64_C(1000000) ? WAIT_MS : (int)(left / 1000000) + 1;
}

/*
 * Checks the time and the command; true if the wait is over. `is_empty`: there are no
 * more events in the rings.
 */
static bool look_around(struct wait *w, bool is_empty, enum wait_end *end)
{
	uint64_t now = now_ns();
	bool is_last = w->last_look_ns != 0;

	if (!w->opts->quiet && now - w->reader_looked_ns >= READER_LOOK_NS) {
		w->reader_looked_ns = now;
		cli_print_check_reader(w->printer);
	}
	if (!is_over(w, now)) {
		w->last_look_ns = 0; /* an event came after all */
		return false;
	}
	if (!is_last)
		w->last_look_ns = cli_sum_capped(
			now, is_empty && w->opts->surviving ? HELD_NS : LAST_LOOK_NS);
	else if (now >= w->last_look_ns || (is_empty && !w->opts->surviving)) {
		*end = end_of_wait(w, now);
		return true;
	}
	return false;
}

static enum wait_end end_of_reader(const struct wait *w, int rc)
{
	if (rc == -ESHUTDOWN)
		cli_error("source ended");
	else
		cli_error("%s", kmes_reader_error(w->reader));
	return WAIT_END_FAILED;
}

/* Sleeps until there are events, or it is time for look_around(). */
static void sleep_on_rings(struct wait *w)
{
	bool prints = !w->opts->quiet;

	if (prints)
		cli_print_flush(w->printer);
	if (kmes_reader_wait(w->reader, sleep_ms(w, now_ns()),
			     prints ? cli_print_fd(w->printer) : -1) &&
	    prints)
		cli_print_check_reader(w->printer);
}

static enum wait_end loop(struct wait *w)
{
	unsigned int until_look = LOOK_EVERY;
	struct kmes_item item;
	enum wait_end end;

	for (;;) {
		int rc = kmes_reader_next(w->reader, &item);

		if (cli_stop_signal())
			return WAIT_END_SIGNAL;
		if (rc < 0)
			return end_of_reader(w, rc);
		if (rc > 0) {
			if (take_item(w, &item))
				return WAIT_END_MET;
			if (--until_look)
				continue;
		}
		until_look = LOOK_EVERY;
		if (look_around(w, rc == 0, &end))
			return end;
		if (cli_print_has_failed(w->printer))
			return WAIT_END_OUTPUT;
		if (rc > 0 || (w->last_look_ns && !w->opts->surviving))
			continue;
		sleep_on_rings(w);
	}
}

enum wait_end wait_run(const struct wait_opts *opts, struct kmes_reader *reader,
		       struct wait_command *command, struct cli_printer *printer)
{
	uint64_t now = now_ns();
	struct wait w = {
		.opts = opts,
		.reader = reader,
		.command = command,
		.printer = printer,
		.timeout_at_ns = cli_sum_capped(now, opts->timeout_ns),
		.reader_looked_ns = now,
		.idle_at_ns = opts->on_idle ? cli_sum_capped(now, opts->idle_ns)
					    : UINT64_MAX,
	};

	return loop(&w);
}
