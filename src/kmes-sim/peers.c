// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* peers.c - the processes behind the clients: who they are and how fast they may emit. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	/* Version 8 (made by a rule of our own) stands in the third field, low byte first. */
	guid[7] = (guid[7] & 0x0f) | 0x80;
	guid[8] = (guid[8] & 0x3f) | 0x80;
}

/* The boot's id as a key, so that a process has one identity as long as it can be met. */
static void boot_key(uint8_t key[16])
{
	char text[64] = "";
	unsigned int n = 0;
	const char *c;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(key, 0, 16);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0) {
		for (c = text; *c && n < 32; c++) {
			const char *digits = "0123456789abcdef";
			const char *at = strchr(digits, *c);

			if (at) {
				key[n / 2] |= (at - digits) << (n % 2 ? 0 : 4);
				n++;
			}
		}
	}
	close(fd);
}

/* When the process was started, in ticks since the boot; 0 when it cannot be told. */
static uint64_t start_time_of(pid_t pid)
{
	char path[64], text[1024];
	const char *at;
	ssize_t n;
	int fd, field;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name may hold anything; field 3 begins behind its last parenthesis. */
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

void sim_peers_init(struct sim_peers *peers, uint32_t rate)
{
	memset(peers, 0, sizeof(*peers));
	boot_key(peers->key);
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
 * Forgets processes without connections, but not before their buckets are full again: a
 * fresh connection must not be a way around the rate.
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
	uint64_t now_ns = sim_now_ns();
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
