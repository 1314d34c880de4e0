// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_share.c - limits how much memory emitters have staged at a time.
 *
 * Staged memory is in no process's resident set, so the OOM killer does not see who uses
 * it, and every thread may be in a call. Two limits bound it:
 *
 *  - The calls of one process may stage as much as its largest single call needs, or one
 *    ring's capacity, whichever is more. The calling process is charged, also when it
 *    acts for another one, so that no process can use up another's limit. A call waits
 *    for its siblings until it is killed.
 *  - All processes together may stage a sixteenth of the memory, not counting the first
 *    64 KiB of each, so that small emissions never have to wait. A call waits for other
 *    processes for at most a second and then fails: a page fault handler in user space
 *    (userfaultfd) can stop a caller inside a call for any time.
 *
 * A call takes all that it may need at once, before it copies anything, and never waits
 * while it holds some, so there is no deadlock between callers.
 *
 * A process may have any number of waiting threads, at no cost to others. So siblings
 * wait in a queue of their process, and a wake-up removes one waiter from a queue.
 * Every waiter that stops waiting, for whatever reason, wakes the next one.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "kmes_module.h"

#define SHARE_OWN 65536
#define SHARE_OF_RAM 16
#define SHARE_PATIENCE HZ

/* What the calls of one process have taken; exists while there are such calls. */
struct share_account {
	struct hlist_node node;
	/* Cannot be freed: threads of the process are in calls. */
	const struct signal_struct *process;
	unsigned int calls; /* that hold or wait for memory */
	size_t bytes;
	wait_queue_head_t siblings; /* calls that wait for others of the process */
};

enum share_answer { SHARE_GRANTED, SHARE_SIBLINGS, SHARE_OTHERS };

/* The request of one call. */
struct share_claim {
	struct share_account *account;
	size_t bytes;
	size_t process_max;
	enum share_answer answer; /* the latest: granted, or whom to wait for */
};

static DEFINE_SPINLOCK(share_lock); /* protects the accounts and the sum */
static DEFINE_HASHTABLE(share_accounts, 6);
static size_t share_common;		    /* the sum of all accounts' common_part() */
static DECLARE_WAIT_QUEUE_HEAD(share_wait); /* calls waiting for other processes */

static struct share_account *find_account(const struct signal_struct *process)
{
	struct share_account *a;

	hash_for_each_possible(share_accounts, a, node, (unsigned long)process)
		if (a->process == process)
			return a;
	return NULL;
}

/* How much of a process's memory counts towards the common limit. */
static size_t common_part(size_t bytes)
{
	return bytes > SHARE_OWN ? bytes - SHARE_OWN : 0;
}

/* The calling process's account, with one more call. */
static struct share_account *join_account(void)
{
	struct share_account *fresh = kzalloc(sizeof(*fresh), KMES_STAGE_GFP);
	struct share_account *a;

	if (!fresh)
		return NULL;
	fresh->process = current->signal;
	init_waitqueue_head(&fresh->siblings);
	spin_lock(&share_lock);
	a = find_account(current->signal);
	if (!a) {
		a = fresh;
		fresh = NULL;
		hash_add(share_accounts, &a->node, (unsigned long)a->process);
	}
	a->calls++;
	spin_unlock(&share_lock);
	kfree(fresh);
	return a;
}

static void leave_account(struct share_account *a)
{
	spin_lock(&share_lock);
	if (--a->calls)
		a = NULL;
	else
		hash_del(&a->node);
	spin_unlock(&share_lock);
	kfree(a);
}

/* The lock is held. A call that exceeds a limit by itself is granted when it is alone. */
static enum share_answer judge(const struct share_claim *c)
{
	size_t had = c->account->bytes;
	size_t more = common_part(had + c->bytes) - common_part(had);

	if (had && had + c->bytes > c->process_max)
		return SHARE_SIBLINGS;
	if (more && share_common &&
	    share_common + more > totalram_pages() * PAGE_SIZE / SHARE_OF_RAM)
		return SHARE_OTHERS;
	return SHARE_GRANTED;
}

static enum share_answer claim(struct share_claim *c)
{
	struct share_account *a = c->account;

	spin_lock(&share_lock);
	c->answer = judge(c);
	if (c->answer == SHARE_GRANTED) {
		share_common += common_part(a->bytes + c->bytes) - common_part(a->bytes);
		a->bytes += c->bytes;
	}
	spin_unlock(&share_lock);
	return c->answer;
}

/* As wait_event_killable_timeout(), but exclusive. */
static long wait_for_others(struct share_claim *c, long timeout)
{
	return ___wait_event(share_wait, ___wait_cond_timeout(claim(c) != SHARE_OTHERS),
			     TASK_KILLABLE, 1, timeout, __ret = schedule_timeout(__ret));
}

/*
 * A sibling that is woken but must go on waiting does not wake the others: there is a
 * call that holds memory, and it wakes the next one when it returns that.
 */
static int wait_for_share(struct share_claim *c)
{
	long left = SHARE_PATIENCE;

	do {
		int err = wait_event_killable_exclusive(c->account->siblings,
							claim(c) != SHARE_SIBLINGS);

		wake_up(&c->account->siblings);
		if (err)
			return -EINTR;
		if (c->answer == SHARE_OTHERS) {
			left = wait_for_others(c, left);
			wake_up(&share_wait);
		}
	} while (left > 0 && c->answer != SHARE_GRANTED);
	if (left > 0)
		return 0;
	return left ? -EINTR : -ENOMEM;
}

/*
 * Charges `bytes` to the calling process's account, which may have `process_max` at a
 * time. May sleep. 0, -ENOMEM, or -EINTR if the caller is being killed.
 */
int kmes_share_take(size_t bytes, size_t process_max)
{
	struct share_claim c = { .bytes = bytes, .process_max = process_max };
	int err;

	c.account = join_account();
	if (!c.account)
		return -ENOMEM;
	err = wait_for_share(&c);
	if (err)
		leave_account(c.account);
	return err;
}

/* Returns all that the call has taken. */
void kmes_share_give_back(size_t bytes)
{
	struct share_account *a;
	size_t common;

	spin_lock(&share_lock);
	a = find_account(current->signal);
	common = common_part(a->bytes) - common_part(a->bytes - bytes);
	a->bytes -= bytes;
	share_common -= common;
	spin_unlock(&share_lock);
	wake_up(&a->siblings);
	if (common)
		wake_up(&share_wait);
	leave_account(a);
}
