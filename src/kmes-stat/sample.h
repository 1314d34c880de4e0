/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * sample.h - all rings of a source at one time, and the change since the previous sample.
 *
 * An unavailable counter is unknown, not 0.
 */
#ifndef STAT_SAMPLE_H
#define STAT_SAMPLE_H

#include "walk.h"

struct stat_value {
	uint64_t value;
	bool known;
};

struct stat_rate {
	double per_second;
	bool known;
};

/* One ring, or the sum of all. Invariant: overwritten + events + dropped = total. */
struct stat_row {
	uint16_t cpu;
	bool reset; /* replaced, or a new stream, since the previous sample */
	bool waiting;
	struct stat_value generation, capacity_bytes, used_bytes;
	struct stat_value events, total, overwritten, dropped;
	/*
	 * Only from the source's counters: holes leave the ring, a counter never
	 * decreases.
	 */
	struct stat_value dropped_total, emitted_bytes, wakes;
	struct stat_value oldest_ts_ns;
	struct stat_rate events_rate, bytes_rate;
};

struct stat_ring {
	struct stat_walk walk;
	struct stat_row row;
	struct stat_value write_pos;
	struct kmes_error error; /* why its events are unknown; "" if they are not */
	bool is_reported;	 /* the error */
};

struct stat_sampler {
	struct kmes_source *src;
	uint8_t stream_id[16];
	struct stat_ring *rings;
	unsigned int ring_count;
	struct stat_row totals;
	struct stat_types types;
	bool want_types;
	bool stalled;	  /* the source timed out: not asked again in this sample */
	uint64_t time_ns; /* CLOCK_REALTIME of the sample */
	uint64_t mono_ns;
	uint64_t interval_ns; /* since the previous sample, 0: there is none */
};

/*
 * Attaches to every ring of `src` that `cpus` (NULL: all) wants; owns neither. 0 or
 * -errno with a sentence; -ENODEV: no ring.
 */
int stat_sampler_open(struct stat_sampler *s, struct kmes_source *src,
		      const struct kmes_cpus *cpus, bool want_types,
		      struct kmes_error *err);
void stat_sampler_close(struct stat_sampler *s);

/*
 * Switches to a source that was opened anew and marks all rows as reset. On failure the
 * sampler is closed.
 */
int stat_sampler_reopen(struct stat_sampler *s, struct kmes_source *src,
			const struct kmes_cpus *cpus, struct kmes_error *err);

/* Takes the next sample. 0 or -errno with a sentence. */
int stat_sampler_take(struct stat_sampler *s, struct kmes_error *err);

#endif
