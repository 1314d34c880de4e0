// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_rate.c - the token buckets of all processes that emit.
 *
 * A bucket is created when a process first emits and freed after it has been idle for a
 * second: by then it is full, like a new one. Processes are identified by id and start
 * time, so a reused id gets a bucket of its own. See doc/protocol.md, Rate limiting.
 */
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "kmes_module.h"
#include "kmes_rate.h"

#define RATE_BITS 8
#define RATE_REAP_MS 2000

struct rate_entry {
	struct hlist_node node;
	u64 start;
	pid_t tgid;
	struct kmes_rate_bucket bucket;
};

/* A hash chain of buckets and the rate that applies to them. */
struct rate_chain {
	spinlock_t lock; /* protects the fields below and the buckets */
	u32 rate;
	struct hlist_head head;
};

static struct rate_chain rate_chains[1 << RATE_BITS] = {
	[0 ... (1 << RATE_BITS) - 1] = {
		.lock = __SPIN_LOCK_UNLOCKED(rate_chains.lock),
	},
};

static atomic_t rate_entries = ATOMIC_INIT(0);

static void rate_reap(struct work_struct *work);
static DECLARE_DELAYED_WORK(rate_reaper, rate_reap);

static struct rate_chain *chain_of(const struct kmes_subject *s)
{
	return &rate_chains[hash_32(s->tgid, RATE_BITS)];
}

static struct rate_entry *find_entry(struct rate_chain *chain,
				     const struct kmes_subject *s)
{
	struct rate_entry *e;

	hlist_for_each_entry(e, &chain->head, node)
		if (e->tgid == s->tgid && e->start == s->start)
			return e;
	return NULL;
}

/* Takes tokens. 1: done; 0: too few; -ENOENT: there is no bucket and no `fresh` one. */
static int take(const struct kmes_subject *s, u32 count, struct rate_entry *fresh)
{
	struct rate_chain *chain = chain_of(s);
	struct rate_entry *e;
	int taken = -ENOENT;

	spin_lock(&chain->lock);
	e = find_entry(chain, s);
	if (!e && fresh) {
		e = fresh;
		kmes_rate_init(&e->bucket, chain->rate, ktime_get_ns());
		hlist_add_head(&e->node, &chain->head);
		atomic_inc(&rate_entries);
		fresh = NULL;
	}
	if (e)
		taken = kmes_rate_reserve(&e->bucket, chain->rate, count, ktime_get_ns());
	spin_unlock(&chain->lock);
	kfree(fresh);
	return taken;
}

/* Reserves tokens, all or none: 0, -EAGAIN, or -ENOMEM if a new bucket is needed. */
int kmes_rate_take(const struct kmes_subject *s, u32 count)
{
	struct rate_entry *fresh;
	int taken = take(s, count, NULL);

	if (taken == -ENOENT) {
		fresh = kzalloc(sizeof(*fresh), KMES_STAGE_GFP);
		if (!fresh)
			return -ENOMEM;
		fresh->tgid = s->tgid;
		fresh->start = s->start;
		taken = take(s, count, fresh);
		schedule_delayed_work(&rate_reaper, msecs_to_jiffies(RATE_REAP_MS));
	}
	return taken ? 0 : -EAGAIN;
}

/* Returns unused tokens. If the bucket has been reaped meanwhile, it was full anyway. */
void kmes_rate_give_back(const struct kmes_subject *s, u32 count)
{
	struct rate_chain *chain = chain_of(s);
	struct rate_entry *e;

	if (!count)
		return;
	spin_lock(&chain->lock);
	e = find_entry(chain, s);
	if (e)
		kmes_rate_refund(&e->bucket, chain->rate, count);
	spin_unlock(&chain->lock);
}

static void drop_entry(struct rate_entry *e)
{
	hlist_del(&e->node);
	kfree(e);
	atomic_dec(&rate_entries);
}

/* Drops the idle entries of a chain, or all. */
static void reap_chain(struct rate_chain *chain, bool all)
{
	struct rate_entry *e;
	struct hlist_node *next;

	spin_lock(&chain->lock);
	hlist_for_each_entry_safe(e, next, &chain->head, node)
		if (all || kmes_rate_is_idle(&e->bucket, ktime_get_ns()))
			drop_entry(e);
	spin_unlock(&chain->lock);
}

static void rate_reap(struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rate_chains); i++)
		reap_chain(&rate_chains[i], false);
	if (atomic_read(&rate_entries))
		schedule_delayed_work(&rate_reaper, msecs_to_jiffies(RATE_REAP_MS));
}

/* Sets the rate, also of existing buckets. The caller serializes calls. */
void kmes_rate_set(u32 rate)
{
	struct rate_chain *chain;
	struct rate_entry *e;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rate_chains); i++) {
		chain = &rate_chains[i];
		spin_lock(&chain->lock);
		hlist_for_each_entry(e, &chain->head, node)
			kmes_rate_change(&e->bucket, chain->rate, rate, ktime_get_ns());
		chain->rate = rate;
		spin_unlock(&chain->lock);
	}
}

/* There are no emitters any more. */
void kmes_rate_fini(void)
{
	unsigned int i;

	cancel_delayed_work_sync(&rate_reaper);
	for (i = 0; i < ARRAY_SIZE(rate_chains); i++)
		reap_chain(&rate_chains[i], true);
}
