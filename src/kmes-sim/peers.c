// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* peers.c - the client processes: their identities and rate limits. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/process.h"
#include "sim.h"

#define ROTATE(v, n) ((v) << (n) | (v) >> (64 - (n)))

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[0] = ROTATE(v[0], 32);
	v[2] += v[3];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[2] = ROTATE(v[2], 32);
}

/* SipHash-2-4 of `count` little-endian words. */
static uint64_t sip_hash(const uint64_t key[2], const uint64_t *words, unsigned int count)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575,
		key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261,
		key[1] ^ 0x7465646279746573,
	};
	unsigned int i;

	for (i = 0; i <= count; i++) {
		uint64_t m = i < count ? words[i] : (uint64_t)count * 8 << 56;

		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void sim_guid_make(uint8_t guid[16], const uint8_t key[16], uint64_t pid,
		   uint64_t start_time)
{
	uint64_t k[2], half[2], words[3] = { pid, start_time, 0 };
	unsigned int i;

	memcpy(k, key, sizeof(k));
	for (i = 0; i < 2; i++) {
		words[2] = i;
		half[i] = sip_hash(k, words, 3);
	}
	memcpy(guid, half, 16);
	/* Version 8 (custom); the third field is stored low byte first. */
	guid[7] = (guid[7] & 0x0f) | 0x80;
	guid[8] = (guid[8] & 0x3f) | 0x80;
}

/* The start time, or 0 if unknown. */
static uint64_t start_time_of(pid_t pid)
{
	uint64_t ticks;

	return kmesp_process_start(pid, &ticks) < 0 ? 0 : ticks;
}

void sim_peers_init(struct sim_peers *peers, uint32_t rate)
{
	memset(peers, 0, sizeof(*peers));
	/* Keyed by the boot, so that a process has one identity in all simulators. */
	kmes_boot_id(peers->key);
	peers->rate = rate;
}

void sim_peers_fini(struct sim_peers *peers)
{
	unsigned int i;

	for (i = 0; i < SIM_PEER_CHAINS; i++) {
		while (peers->chains[i]) {
			struct sim_peer *peer = peers->chains[i];

			peers->chains[i] = peer->next;
			free(peer);
		}
	}
}

/*
 * Removes processes without connections once their buckets are full again: reconnecting
 * must not reset the rate limit.
 */
static void chain_reap(struct sim_peer **at, uint64_t now_ns)
{
	while (*at) {
		struct sim_peer *peer = *at;

		if (peer->connections || !kmes_rate_is_idle(&peer->bucket, now_ns)) {
			at = &peer->next;
			continue;
		}
		*at = peer->next;
		free(peer);
	}
}

struct sim_peer *sim_peers_get(struct sim_peers *peers, pid_t pid)
{
	struct sim_peer **chain = &peers->chains[(unsigned int)pid % SIM_PEER_CHAINS];
	uint64_t now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	uint64_t start_time = start_time_of(pid);
	struct sim_peer *peer;

	chain_reap(chain, now_ns);
	for (peer = *chain; peer; peer = peer->next)
		if (peer->pid == pid && peer->start_time == start_time)
			break;
	if (!peer) {
		peer = calloc(1, sizeof(*peer));
		if (!peer)
			return NULL;
		peer->pid = pid;
		peer->start_time = start_time;
		sim_guid_make(peer->guid, peers->key, (uint64_t)pid, start_time);
		kmes_rate_init(&peer->bucket, peers->rate, now_ns);
		peer->next = *chain;
		*chain = peer;
	}
	peer->connections++;
	return peer;
}

void sim_peers_put(struct sim_peer *peer)
{
	peer->connections--;
}
