// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The simulator's generators send well-formed events. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/kmes-sim/sim.h"
#include "unit.h"

static struct sim_options options;
static struct sim *sim;

static void make_sim(void)
{
	static const struct kmes_cpus no_holes;

	sim = calloc(1, sizeof(*sim));
	sim->options = &options;
	sim->epoll = epoll_create1(EPOLL_CLOEXEC);
	sim_peers_init(&sim->peers, 100);
	sim->self = sim_peers_get(&sim->peers, getpid());
	assert_int_equal(sim_slots_init(&sim->slots, 2, &no_holes, 4 << 20), 0);
}

static void free_sim(void)
{
	close(sim->epoll);
	sim_slots_fini(&sim->slots);
	sim_peers_fini(&sim->peers);
	free(sim);
}
EACH_TEST(make_sim, free_sim);

/* Every event of a ring that is not lapped yet could have been sent by a client. */
static void assert_well_formed(const struct kmes_ring_writer *w)
{
	const struct kmes_emit_limits limits = { 1024, 4 };
	struct kmes_event_header h;
	struct kmes_record r;
	uint64_t pos;

	for (pos = w->tail_pos; pos < w->write_pos; pos += h.event_size) {
		memcpy(&h, w->data + pos, sizeof(h));
		r.type = w->data + pos + 77;
		r.type_len = h.type_len;
		r.payload = w->data + pos + h.header_size;
		r.payload_len = h.event_size - h.header_size;
		assert_int_equal(kmes_emit_check_lengths(&limits, w->capacity, r.type_len,
							 r.payload_len),
				 0);
		assert_int_equal(kmes_emit_check_content(&limits, &r, &sim->scratch), 0);
	}
}

TEST(sim_demo_events_are_well_formed)
{
	unsigned int i;

	assert_int_equal(sim_demo_start(sim), 0);
	for (i = 0; i < 10000; i++)
		sim->demo.ready(sim, &sim->demo);
	for (i = 0; i < 2; i++) {
		assert_true(kmes_ring_live(&sim->slots.rings[i].writer) > 5000);
		assert_int_equal(sim->slots.rings[i].writer.counts.dropped_events, 0);
		assert_int_equal(sim->slots.rings[i].writer.counts.overwritten_events, 0);
		assert_well_formed(&sim->slots.rings[i].writer);
	}
	close(sim->demo.fd);
}

/* Sends what is due by the clock, in slices, and no more. */
TEST(sim_load_sends_what_is_due)
{
	const struct kmes_ring_writer *w = &sim->slots.rings[0].writer;

	uint64_t start_ns = kmesp_clock_ns(CLOCK_MONOTONIC), passed_ms;

	options.load = 1000;
	assert_int_equal(sim_load_start(sim), 0);
	assert_int_equal(sim->load_count, 0);
	sim->load_due.filled_ns -= 500000000;
	sim->load.ready(sim, &sim->load);
	passed_ms = (kmesp_clock_ns(CLOCK_MONOTONIC) - start_ns) / 1000000 + 1;
	assert_between(sim->load_count, 500, 500 + passed_ms);
	assert_between(w->sequence, 250, 250 + passed_ms / 2 + 1);
	assert_well_formed(w);
	/* after an hour only a second's worth is due */
	options.load = 100000;
	sim->load_count = 0;
	sim->load_due.filled_ns = 0;
	start_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	while (sim->load_count < 100000)
		sim->load.ready(sim, &sim->load);
	passed_ms = (kmesp_clock_ns(CLOCK_MONOTONIC) - start_ns) / 1000000 + 1;
	assert_true(sim->load_due.units <= 100 * passed_ms * KMES_RATE_TOKEN);
	close(sim->load.fd);
}
