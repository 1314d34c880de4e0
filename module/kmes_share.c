// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_share.c - how much memory the emitters may have staged at a time.
 *
 * Staged memory belongs to nobody's resident set, so the OOM killer would look for it in
 * vain, and there is a caller for each thread. Two limits bound it:
 *
 *  - the calls of one process stage what its largest single call needs, or one ring's
 *    capacity. It is the calling process that counts, also when it acts for another
 *    one, so that nobody can use up another's. A call waits for its siblings until it
 *    is killed.
 *  - all processes together stage a sixteenth of the memory, not counting the first
 *    64 KiB of each, so that small emissions always have their memory. A call waits for
 *    others for a second and fails then: a caller can be stopped inside a call, by its
 *    own page fault handler, for as long as it likes.
 *
 * A call takes all that it may need at once, before it copies anything, and never waits
 * while it holds some: callers cannot wait for each other in a circle.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "kmes.h"

#define SHARE_OWN 65536
#define SHARE_OF_RAM 16
#define SHARE_PATIENCE HZ

/* What the calls of one process have taken; it exists while that is not 0. */
struct share_account {
	struct hlist_node node;
	const struct signal_struct
		*process; /* its threads are in their calls: it stays */
	size_t bytes;
};

/* One call's wish. */
struct share_claim {
	struct share_account *fresh; /* for the process's first call */
	size_t bytes;
	size_t process_max;
	bool others; /* it was refused for what other processes have */
};

static DEFINE_SPINLOCK(share_lock); /* guards the accounts and the sum */
static DEFINE_HASHTABLE(share_accounts, 6);
static size_t share_common; /* what all have taken, each one's first bytes left out */
static DECLARE_WAIT_QUEUE_HEAD(share_wait);

static struct share_account *find_account(const struct signal_struct *process)
{
	struct share_account *a;

	hash_for_each_possible(share_accounts, a, node, (unsigned long)process)
		if (a->process == process)
			return a;
	return NULL;
}

/* How much of what a process has taken counts for the common limit. */
static size_t common_part(size_t bytes)
{
	return bytes > SHARE_OWN ? bytes - SHARE_OWN : 0;
}

/* The lock is held. What exceeds a limit by itself has to be alone. */
static bool is_allowed(struct share_claim *c, size_t had)
{
	size_t more = common_part(had + c->bytes) - common_part(had);

	c->others = false;
	if (had && had + c->bytes > c->process_max)
		return false;
	c->others = more && share_common &&
		    share_common + more > totalram_pages() * PAGE_SIZE / SHARE_OF_RAM;
	return !c->others;
}

static bool claim(struct share_claim *c)
{
	struct share_account *a;
	size_t had;
	bool allowed;

	spin_lock(&share_lock);
	a = find_account(current->signal);
	had = a ? a->bytes : 0;
	allowed = is_allowed(c, had);
	if (allowed) {
		if (!a) {
			a = c->fresh;
			c->fresh = NULL;
			hash_add(share_accounts, &a->node, (unsigned long)a->process);
		}
		a->bytes += c->bytes;
		share_common += common_part(a->bytes) - common_part(had);
	}
	spin_unlock(&share_lock);
	return allowed;
}

/*
 * Takes `bytes` on the calling process's account, which may have `process_max` at a
 * time. May sleep. -ENOMEM; -EINTR for a caller that is being killed.
 */
int kmes_share_take(size_t bytes, size_t process_max)
{
	struct share_claim c = { .bytes = bytes, .process_max = process_max };
	long left;

	c.fresh = kzalloc(sizeof(*c.fresh), KMES_STAGE_GFP);
	if (!c.fresh)
		return -ENOMEM;
	c.fresh->process = current->signal;
	do
		left = wait_event_killable_timeout(share_wait, claim(&c), SHARE_PATIENCE);
	while (!left && !c.others);
	kfree(c.fresh);
	if (left > 0)
		return 0;
	return left ? -EINTR : -ENOMEM;
}

/* Gives back all that the call has taken. */
void kmes_share_give_back(size_t bytes)
{
	struct share_account *a;
	size_t had;

	spin_lock(&share_lock);
	a = find_account(current->signal);
	had = a->bytes;
	a->bytes -= bytes;
	share_common -= common_part(had) - common_part(a->bytes);
	if (a->bytes)
		a = NULL;
	else
		hash_del(&a->node);
	spin_unlock(&share_lock);
	kfree(a);
	wake_up(&share_wait);
}
