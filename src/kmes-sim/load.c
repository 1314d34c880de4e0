// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* load.c - --load: emits events at a given rate over all slots in turn. */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim.h"

/* The most events before clients get their turn. */
#define SLICE 2048

/* The interval between bursts at high rates. */
#define TICK_NS 1000000

int sim_timer_open(struct sim *sim, struct sim_watch *watch)
{
	watch->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch->fd < 0)
		return -errno;
	return sim_watch_add(sim, watch);
}

/* Setting the timer clears an expiry, so it need not be read. */
void sim_timer_set(const struct sim_watch *watch, uint64_t at_ns)
{
	const struct itimerspec at = {
		.it_value = kmesp_timespec(at_ns),
	};

	timerfd_settime(watch->fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void load_emit(struct sim *sim)
{
	uint8_t buf[16];
	struct kmes_pack payload = kmes_pack_begin(buf, sizeof(buf));

	kmes_pack_map(&payload, 1);
	kmes_pack_text(&payload, "n");
	kmes_pack_uint(&payload, ++sim->load_count);
	sim_emit_trusted(sim, sim_slots_ring(&sim->slots, SIM_CPU_ANY),
			 KMES_ORIGIN_USERSPACE, sim->self->guid, "sim.load", &payload);
}

/*
 * The events due are a token bucket that starts empty, so that a simulator that was
 * stopped for long catches up on one second at most.
 */
static void load_ready(struct sim *sim, struct sim_watch *watch)
{
	const uint32_t rate = sim->options->load;
	struct kmes_rate_bucket *due = &sim->load_due;
	uint64_t now_ns = kmesp_clock_ns(CLOCK_MONOTONIC), wait_ns;
	unsigned int n;

	kmes_rate_fill(due, rate, now_ns);
	for (n = 0; n < SLICE && due->units >= KMES_RATE_TOKEN; n++) {
		due->units -= KMES_RATE_TOKEN;
		load_emit(sim);
	}
	sim_slots_wake(&sim->slots);
	if (due->units >= KMES_RATE_TOKEN)
		wait_ns = 0;
	else
		wait_ns = (KMES_RATE_TOKEN - due->units + rate - 1) / rate;
	if (wait_ns && wait_ns < TICK_NS)
		wait_ns = TICK_NS;
	sim_timer_set(watch, now_ns + wait_ns);
}

int sim_load_start(struct sim *sim)
{
	uint64_t now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	int rc;

	sim->load.ready = load_ready;
	rc = sim_timer_open(sim, &sim->load);
	if (rc < 0)
		return rc;
	sim->load_due = (struct kmes_rate_bucket){ 0, now_ns };
	sim_timer_set(&sim->load, now_ns);
	return 0;
}
