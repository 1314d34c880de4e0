// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The simulator's peers: identities, and buckets that outlive a connection. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "src/kmes-sim/sim.h"
#include "unit.h"

#define RATE 100

static void assert_guid(uint64_t pid, uint64_t start_time, const char *expected)
{
	uint8_t key[16], guid[16];
	unsigned int i;

	for (i = 0; i < 16; i++)
		key[i] = i;
	sim_guid_make(guid, key, pid, start_time);
	assert_memory_equal(guid, expected, 16);
}

/*
 * Two SipHash-2-4 of (pid, start, 0) and (pid, start, 1) by another implementation, which
 * gives the published value for the published key, with version 8 and variant 2 set.
 */
TEST(sim_peers_guid_is_two_hashes_with_version_and_variant)
{
	assert_guid(1234, 567890,
		    "\xb1\xdf\xa9\xc0\xc0\x6a\x6f\x81\x92\x68\x22\x25\x58\x6f\xdb\x3b");
	assert_guid(1235, 567890,
		    "\xc7\xaa\x02\x4c\xd5\xf1\x5e\x88\xb1\x2f\xdb\x0c\x5b\xd5\xe2\xf3");
	assert_guid(1234, 567891,
		    "\xef\x6d\x6e\xf8\x1c\x6e\xd0\x8b\xb3\xea\xd3\x75\x73\x3b\xcf\x18");
}

TEST(sim_peers_one_process_is_one_peer)
{
	static struct sim_peers peers;
	struct sim_peer *a, *b, *other;

	sim_peers_init(&peers, RATE);
	a = sim_peers_get(&peers, getpid());
	b = sim_peers_get(&peers, getpid());
	other = sim_peers_get(&peers, getppid());
	assert_non_null(a);
	assert_ptr_equal(a, b);
	assert_int_equal(a->connections, 2);
	assert_true(a->start_time > 0);
	assert_ptr_not_equal(a, other);
	assert_memory_not_equal(a->guid, other->guid, 16);
	sim_peers_fini(&peers);
}

/* Reconnecting must not bypass the rate. [E11] */
TEST(sim_peers_bucket_outlives_its_connections)
{
	static struct sim_peers peers;
	struct sim_peer *peer;

	sim_peers_init(&peers, RATE);
	peer = sim_peers_get(&peers, getpid());
	assert_true(kmes_rate_reserve(&peer->bucket, RATE, RATE,
				      kmesp_clock_ns(CLOCK_MONOTONIC)));
	sim_peers_put(peer);
	peer = sim_peers_get(&peers, getpid());
	assert_false(kmes_rate_reserve(&peer->bucket, RATE, RATE,
				       kmesp_clock_ns(CLOCK_MONOTONIC)));
	sim_peers_fini(&peers);
}

/* A reused pid belongs to another process. */
TEST(sim_peers_process_without_a_start_time_is_served)
{
	static struct sim_peers peers;
	struct sim_peer *peer, *again;

	sim_peers_init(&peers, RATE);
	peer = sim_peers_get(&peers, 0);
	assert_non_null(peer);
	assert_int_equal(peer->start_time, 0);
	peer->start_time = 1;
	again = sim_peers_get(&peers, 0);
	assert_ptr_not_equal(peer, again);
	sim_peers_fini(&peers);
}

TEST(sim_memory_refuses_impossible_sizes)
{
	assert_true(sim_memory_has(4096));
	assert_false(sim_memory_has(1ull << 60));
	assert_false(sim_memory_has(UINT64_MAX));
}
