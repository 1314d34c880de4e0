// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The tracefs source without a kernel: loss, messages, names of events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef KMES_HAVE_TRACEEVENT
#include "trace/trace_ring.h"
#endif
#include "trace/trace_select.h"
#include "unit.h"

#ifdef KMES_HAVE_TRACEEVENT

static const struct kmes_subbuf_head unmissed = { .commit = 100 };
static const struct kmes_subbuf_head uncounted = { .commit = 100, .missed = true };
static const struct kmes_subbuf_head counted = { .commit = 100,
						 .missed = true,
						 .has_count = true };

/* [T1] */
TEST(trace_ring_meta_page_has_the_kernels_layout)
{
	assert_int_equal(offsetof(struct kmes_trace_meta, meta_page_size), 0);
	assert_int_equal(offsetof(struct kmes_trace_meta, meta_struct_len), 4);
	assert_int_equal(offsetof(struct kmes_trace_meta, subbuf_size), 8);
	assert_int_equal(offsetof(struct kmes_trace_meta, nr_subbufs), 12);
	assert_int_equal(offsetof(struct kmes_trace_meta, reader.lost_events), 16);
	assert_int_equal(offsetof(struct kmes_trace_meta, reader.id), 24);
	assert_int_equal(offsetof(struct kmes_trace_meta, reader.read), 28);
	assert_int_equal(offsetof(struct kmes_trace_meta, flags), 32);
	assert_int_equal(offsetof(struct kmes_trace_meta, entries), 40);
	assert_int_equal(offsetof(struct kmes_trace_meta, overrun), 48);
	assert_int_equal(offsetof(struct kmes_trace_meta, read), 56);
}

/* [T8] */
TEST(trace_ring_loss_is_the_count_in_the_page)
{
	struct kmes_trace_loss loss = { 0 };

	kmesp_trace_loss_begin(&loss, &unmissed, 0, 900);
	assert_int_equal(loss.pending, 0);
	kmesp_trace_loss_begin(&loss, &counted, 500, 900);
	assert_int_equal(loss.pending, 500);
	assert_int_equal(loss.reported, 500);
}

/* [T8] */
TEST(trace_ring_loss_without_count_is_the_change_of_overrun)
{
	struct kmes_trace_loss loss = { .reported = 300 };

	kmesp_trace_loss_begin(&loss, &uncounted, 0, 900);
	assert_int_equal(loss.pending, 600);
	assert_int_equal(loss.reported, 900);
	kmesp_trace_loss_begin(&loss, &uncounted, 0, 900);
	assert_int_equal(loss.pending, 600);
}

/* [T8] overrun was ahead of the page's loss: the total is that of overrun */
TEST(trace_ring_loss_reported_early_is_not_repeated)
{
	struct kmes_trace_loss loss = { 0 };

	kmesp_trace_loss_begin(&loss, &uncounted, 0, 700); /* 600 before this page */
	kmesp_trace_loss_begin(&loss, &counted, 400, 1000);
	assert_int_equal(loss.reported, 1000);
	assert_int_equal(loss.pending, 1000);
}

/* [T8] a loss that no page shows is reported when the buffer is empty */
TEST(trace_ring_loss_settles_on_an_empty_buffer)
{
	struct kmes_trace_loss loss = { 0 };

	kmesp_trace_loss_begin(&loss, &counted, 500, 900);
	kmesp_trace_loss_settle(&loss, 900);
	assert_int_equal(loss.pending, 900);
	kmesp_trace_loss_settle(&loss, 900);
	assert_int_equal(loss.pending, 900);
}

TEST(trace_ring_refused_mapping_says_what_to_do)
{
	static const struct {
		int error;
		const char *text;
	} cases[] = {
		{ -ENODEV,
		  "tracefs: this kernel cannot map trace buffers (needs Linux 6.10)" },
		{ -EBUSY,
		  "cpu2: the trace buffer is busy (a snapshot, or a tracer that reads "
		  "it)" },
		{ -EACCES,
		  "cpu2: cannot map the trace buffer: Permission denied (needs root)" },
		{ -ENOMEM, "cpu2: cannot map the trace buffer: Cannot allocate memory" },
		{ -EINVAL, "cpu2: no trace buffer" },
	};
	struct kmes_error err;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		assert_int_equal(kmesp_trace_map_error(&err, 2, cases[i].error),
				 cases[i].error);
		assert_string_equal(err.text, cases[i].text);
	}
}

TEST(trace_ring_clock_offset_is_below_a_millisecond)
{
	struct kmes_trace_clock clock = { 0 };
	uint64_t real, mono;
	int i;

	kmesp_trace_clock_update(&clock);
	for (i = 0; i < 100; i++) {
		uint64_t before = kmesp_clock_ns(CLOCK_REALTIME), after;

		mono = kmesp_clock_ns(CLOCK_MONOTONIC);
		after = kmesp_clock_ns(CLOCK_REALTIME);
		real = mono + clock.offset_ns;
		assert_true(real + 1000000 > before && real < after + 1000000);
	}
}

TEST(trace_ring_clock_is_measured_again)
{
	struct kmes_trace_clock clock = { 0 };

	kmesp_trace_clock_update(&clock);
	clock.offset_ns = 1; /* as after a clock step */
	kmesp_trace_clock_update(&clock);
	assert_int_equal(clock.offset_ns, 1);
	clock.measured_ns -= 200000000;
	kmesp_trace_clock_update(&clock);
	assert_true(clock.offset_ns > 1000000000);
}

#endif

/* ---- names ---- */

static const char available[] = "sched:sched_process_exec\nsched:sched_process_exit\n"
				"sched:sched_switch\nirq:irq_handler_entry\n"
				"raw_syscalls:sys_enter\nsyscalls:sys_enter_openat\n";

static const char *chosen(const char *wanted)
{
	static char text[512];
	struct kmes_trace_names names;
	struct kmes_error err = { "" };
	size_t i;

	if (kmesp_trace_select(&names, available, wanted, &err) < 0) {
		strcpy(text, err.text);
		return text;
	}
	text[0] = '\0';
	for (i = 0; i < names.count; i++) {
		strcat(text, names.name[i].system);
		strcat(text, "/");
		strcat(text, names.name[i].event);
		strcat(text, " ");
	}
	kmesp_trace_names_free(&names);
	return text;
}

TEST(trace_select_systems_events_and_globs)
{
	assert_string_equal(chosen("sched"),
			    "sched/sched_process_exec "
			    "sched/sched_process_exit sched/sched_switch ");
	assert_string_equal(chosen("sched/sched_switch"), "sched/sched_switch ");
	assert_string_equal(chosen("sched:sched_switch"), "sched/sched_switch ");
	assert_string_equal(chosen("sched/sched_process_*"),
			    "sched/sched_process_exec sched/sched_process_exit ");
	assert_string_equal(chosen("*syscalls"),
			    "raw_syscalls/sys_enter syscalls/sys_enter_openat ");
	assert_string_equal(chosen("*/sys_enter"), "raw_syscalls/sys_enter ");
	assert_string_equal(chosen("sched_switch"), "sched/sched_switch ");
}

TEST(trace_select_each_event_once)
{
	assert_string_equal(chosen("irq,irq/irq_handler_entry,sched/sched_switch,irq"),
			    "sched/sched_switch irq/irq_handler_entry ");
}

TEST(trace_select_unknown_offers_the_nearest)
{
	char want[600], text[256];

	assert_string_equal(chosen("sched/sched_proces_exec"),
			    "tracefs: no such event: 'sched/sched_proces_exec'; similar: "
			    "sched/sched_process_exec, sched/sched_process_exit");
	assert_string_equal(chosen("sys_entr"),
			    "tracefs: no such event: 'sys_entr'; similar: "
			    "raw_syscalls/sys_enter");
	assert_string_equal(chosen("sched,zzzzz"), "tracefs: no such event: 'zzzzz'");
	/* Nothing is similar to a text longer than any name. */
	memset(want, '0', sizeof(want) - 1);
	want[sizeof(want) - 1] = '\0';
	snprintf(text, sizeof(text), "tracefs: no such event: '%.128s'", want);
	assert_string_equal(chosen(want), text);
}

TEST(trace_select_malformed_names)
{
	assert_string_equal(chosen("sched,"), "tracefs: an empty name in 'sched,'");
	assert_string_equal(chosen(",sched"), "tracefs: an empty name in ',sched'");
	assert_non_null(strstr(chosen("sched/[a"), "tracefs: 'sched/[a': "));
}
