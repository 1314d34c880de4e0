// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * demo.c - --demo: events like those in the audit trail of a small server, a few dozen
 * per second.
 */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "sim.h"

/* The mean time between events. */
#define MEAN_NS 40000000ull

/* xorshift64* */
static uint32_t demo_random(struct sim_demo *demo, uint32_t below)
{
	demo->random ^= demo->random >> 12;
	demo->random ^= demo->random << 25;
	demo->random ^= demo->random >> 27;
	return (uint32_t)((demo->random * 0x2545f4914f6cdd1dull) >> 32) % below;
}

#define PICK(demo, list) (list)[demo_random(demo, sizeof(list) / sizeof((list)[0]))]

struct actor {
	const char *user;
	uint32_t rid; /* the last part of the user's SID; below 1000: S-1-5-rid */
	const char *image;
	uint32_t pid;
};

static const struct actor actors[] = {
	{ "SYSTEM", 18, "/usr/lib/services/registryd", 211 },
	{ "SYSTEM", 18, "/usr/lib/services/backupd", 388 },
	{ "NETWORK", 20, "/usr/lib/services/webd", 402 },
	{ "alice", 1001, "/usr/bin/shell", 2210 },
	{ "alice", 1001, "/usr/bin/editor", 2257 },
	{ "bob", 1002, "/usr/bin/mail", 2901 },
	{ "carol", 1003, "/usr/bin/report", 3120 },
};

static const char *const paths[] = {
	"/etc/hosts",
	"/srv/www/index.html",
	"/srv/www/img/logo.svg",
	"/home/alice/notes.txt",
	"/home/bob/Mail/inbox",
	"/var/lib/registry/machine.hive",
	"/srv/reports/2026/r\xc3\xa9sum\xc3\xa9.pdf",
};
static const char *const hosts[] = { "192.0.2.17", "192.0.2.40", "198.51.100.9",
				     "203.0.113.77", "2001:db8::15" };
static const char *const privileges[] = { "SeBackupPrivilege", "SeAuditPrivilege",
					  "SeDebugPrivilege", "SeShutdownPrivilege" };
static const char *const services[] = { "webd", "backupd", "timed", "printd" };
static const char *const states[] = { "starting", "running", "stopping", "stopped" };
static const uint32_t masks[] = { 0x00120089, 0x00120116, 0x001200a9, 0x001f01ff,
				  0x00010000 };

/* An event being built. */
struct draft {
	struct sim_demo *demo;
	const struct actor *actor;
	struct kmes_pack *out;
};

static void put_text(struct draft *o, const char *key, const char *text)
{
	kmes_pack_text(o->out, key);
	kmes_pack_text(o->out, text);
}

static void put_uint(struct draft *o, const char *key, uint64_t v)
{
	kmes_pack_text(o->out, key);
	kmes_pack_uint(o->out, v);
}

static void put_bool(struct draft *o, const char *key, bool v)
{
	kmes_pack_text(o->out, key);
	kmes_pack_bool(o->out, v);
}

/* A SID in its binary form: revision, count, authority 5, then words. */
static void put_sid(struct draft *o, const char *key)
{
	const uint32_t user[] = { 21, 3623811015, 3361044348, 30300820, o->actor->rid };
	const bool is_user = o->actor->rid >= 1000;
	const uint32_t *words = is_user ? user : &o->actor->rid;
	const uint32_t count = is_user ? 5 : 1;
	uint8_t sid[28] = { 1, (uint8_t)count, 0, 0, 0, 0, 0, 5 };

	memcpy(sid + 8, words, count * sizeof(words[0]));
	kmes_pack_text(o->out, key);
	kmes_pack_bin(o->out, sid, 8 + 4 * count);
}

static void make_login(struct draft *o)
{
	static const char *const methods[] = { "password", "key", "ticket" };

	kmes_pack_map(o->out, 4);
	put_text(o, "user", o->actor->user);
	put_sid(o, "user_sid");
	put_text(o, "method", PICK(o->demo, methods));
	put_text(o, "source", PICK(o->demo, hosts));
}

static void make_failed_login(struct draft *o)
{
	static const char *const users[] = { "admin", "root", "test", "alice" };
	static const char *const reasons[] = { "no such user", "wrong password" };

	kmes_pack_map(o->out, 4);
	put_text(o, "user", PICK(o->demo, users));
	put_text(o, "reason", PICK(o->demo, reasons));
	put_text(o, "source", PICK(o->demo, hosts));
	put_uint(o, "attempt", 1 + demo_random(o->demo, 5));
}

static void make_open(struct draft *o)
{
	kmes_pack_map(o->out, 4);
	put_text(o, "path", PICK(o->demo, paths));
	put_uint(o, "access", PICK(o->demo, masks));
	put_uint(o, "pid", o->actor->pid);
	put_text(o, "image", o->actor->image);
}

static void make_process(struct draft *o)
{
	static const char *const args[] = { "--quiet", "-n", "20", "/srv/reports" };
	unsigned int i, n = demo_random(o->demo, 3);

	kmes_pack_map(o->out, 4);
	put_uint(o, "pid", 4000 + demo_random(o->demo, 28000));
	put_uint(o, "parent", o->actor->pid);
	put_text(o, "image", o->actor->image);
	kmes_pack_text(o->out, "args");
	kmes_pack_array(o->out, n);
	for (i = 0; i < n; i++)
		kmes_pack_text(o->out, PICK(o->demo, args));
}

static void make_connect(struct draft *o)
{
	static const uint16_t ports[] = { 22, 53, 80, 443, 993, 5432 };

	kmes_pack_map(o->out, 3);
	kmes_pack_text(o->out, "remote");
	kmes_pack_map(o->out, 2);
	put_text(o, "address", PICK(o->demo, hosts));
	put_uint(o, "port", PICK(o->demo, ports));
	put_text(o, "protocol", "tcp");
	put_uint(o, "pid", o->actor->pid);
}

static void make_access(struct draft *o)
{
	uint8_t guid[16];

	sim_guid_make(guid, (const uint8_t *)"the demo's files", demo_random(o->demo, 8),
		      0);
	kmes_pack_map(o->out, 5);
	put_sid(o, "subject_sid");
	put_text(o, "object", PICK(o->demo, paths));
	kmes_pack_text(o->out, "object_guid");
	kmes_pack_bin(o->out, guid, sizeof(guid));
	put_uint(o, "desired_access", PICK(o->demo, masks));
	put_bool(o, "granted", demo_random(o->demo, 8) != 0);
}

static void make_privilege(struct draft *o)
{
	kmes_pack_map(o->out, 3);
	put_sid(o, "subject_sid");
	put_text(o, "privilege", PICK(o->demo, privileges));
	put_bool(o, "enabled", demo_random(o->demo, 2));
}

static void make_registry(struct draft *o)
{
	static const char *const keys[] = { "Machine\\System\\Network",
					    "Machine\\System\\Time",
					    "Machine\\Software\\Web" };

	kmes_pack_map(o->out, 4);
	put_text(o, "key", PICK(o->demo, keys));
	put_text(o, "value", "Interval");
	kmes_pack_text(o->out, "old");
	kmes_pack_nil(o->out);
	put_uint(o, "new", demo_random(o->demo, 3600));
}

static void make_service(struct draft *o)
{
	unsigned int state = demo_random(o->demo, 4);

	kmes_pack_map(o->out, 3);
	put_text(o, "service", PICK(o->demo, services));
	put_text(o, "from", states[state]);
	put_text(o, "to", states[(state + 1) % 4]);
}

static void make_clock(struct draft *o)
{
	kmes_pack_map(o->out, 2);
	put_text(o, "server", "time.example");
	kmes_pack_text(o->out, "offset_us");
	kmes_pack_int(o->out, (int)demo_random(o->demo, 4000) - 2000);
}

/* The types of events; the weights add up to 100. */
static const struct {
	const char *type;
	void (*make)(struct draft *o);
	uint8_t origin;
	uint8_t weight;
} kinds[] = {
	{ "file.open", make_open, KMES_ORIGIN_USERSPACE, 30 },
	{ "access.check", make_access, KMES_ORIGIN_KACS, 20 },
	{ "net.connect", make_connect, KMES_ORIGIN_USERSPACE, 14 },
	{ "process.start", make_process, KMES_ORIGIN_USERSPACE, 12 },
	{ "registry.value.set", make_registry, KMES_ORIGIN_LCS, 8 },
	{ "auth.login", make_login, KMES_ORIGIN_USERSPACE, 5 },
	{ "auth.failure", make_failed_login, KMES_ORIGIN_USERSPACE, 4 },
	{ "token.privilege", make_privilege, KMES_ORIGIN_KACS, 4 },
	{ "service.state", make_service, KMES_ORIGIN_USERSPACE, 2 },
	{ "time.adjusted", make_clock, KMES_ORIGIN_USERSPACE, 1 },
};

static void demo_emit(struct sim *sim, unsigned int kind)
{
	struct sim_demo *demo = &sim->demo_state;
	uint32_t slots = sim->slots.count, turns = 1 + demo_random(demo, slots);
	uint8_t buf[512], guid[16];
	struct kmes_pack payload = kmes_pack_begin(buf, sizeof(buf));
	struct draft o = { demo, &PICK(demo, actors), &payload };
	struct sim_ring *ring;

	kinds[kind].make(&o);
	sim_guid_make(guid, sim->peers.key, o.actor->pid, 1);
	do
		ring = sim_slots_ring(&sim->slots, SIM_CPU_ANY);
	while (--turns);
	sim_emit_trusted(sim, ring, kinds[kind].origin, guid, kinds[kind].type, &payload);
}

static unsigned int demo_choose(struct sim_demo *demo)
{
	uint32_t at = demo_random(demo, 100);
	unsigned int kind = 0;

	while (at >= kinds[kind].weight)
		at -= kinds[kind++].weight;
	return kind;
}

/* Mostly single events, sometimes a burst of one type. */
static void demo_ready(struct sim *sim, struct sim_watch *watch)
{
	struct sim_demo *demo = &sim->demo_state;
	unsigned int kind = demo_choose(demo);
	unsigned int n = demo_random(demo, 24) ? 1 : 4 + demo_random(demo, 12);

	while (n--)
		demo_emit(sim, kind);
	sim_slots_wake(&sim->slots);
	sim_timer_set(watch,
		      kmesp_clock_ns(CLOCK_MONOTONIC) + demo_random(demo, 2 * MEAN_NS));
}

int sim_demo_start(struct sim *sim)
{
	int rc;

	memcpy(&sim->demo_state.random, sim->stream_id, sizeof(sim->demo_state.random));
	sim->demo_state.random |= 1;
	sim->demo.ready = demo_ready;
	rc = sim_timer_open(sim, &sim->demo);
	if (rc == 0)
		sim_timer_set(&sim->demo, kmesp_clock_ns(CLOCK_MONOTONIC));
	return rc;
}
