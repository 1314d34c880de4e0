// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_subject.c - on whose account a call is made: privileges and identity. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#ifdef KMES_HAS_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif
#include <linux/sched/task.h>
#include <linux/siphash.h>

#include "kmes_module.h"

/* Constant from the load on. */
static siphash_key_t guid_key __ro_after_init;

void __init kmes_subjects_init(void)
{
	get_random_bytes(&guid_key, sizeof(guid_key));
}

/* The process of a task that cannot go away meanwhile. */
void kmes_subject_of_task(struct kmes_subject *s, struct task_struct *task)
{
	s->cred = NULL;
	s->tgid = task_tgid_nr(task);
	rcu_read_lock();
	s->start = READ_ONCE(task->group_leader)->start_boottime;
	rcu_read_unlock();
}

#ifdef KMES_HAS_EXEC_STATE
static bool is_dumpable(struct task_struct *task)
{
	const struct task_exec_state *state;
	bool dumpable;

	rcu_read_lock();
	state = rcu_dereference(task->exec_state);
	dumpable = state && READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return dumpable;
}
#else
static bool is_dumpable(struct task_struct *task)
{
	return get_dumpable(task->mm) == SUID_DUMP_USER;
}
#endif

/* Whether the task has memory, and lets its user look into it. */
static bool is_open(struct task_struct *task)
{
	bool open;

	task_lock(task);
	open = task->mm && is_dumpable(task);
	task_unlock(task);
	return open;
}

/* Whether the owner of `mine` is the same user and has every privilege of `its`. */
static bool is_equal(const struct cred *mine, const struct cred *its)
{
	return its->user_ns == mine->user_ns && uid_eq(its->uid, mine->euid) &&
	       uid_eq(its->euid, mine->euid) && uid_eq(its->suid, mine->euid) &&
	       gid_eq(its->gid, mine->egid) && gid_eq(its->egid, mine->egid) &&
	       gid_eq(its->sgid, mine->egid) &&
	       cap_issubset(its->cap_permitted, mine->cap_permitted);
}

/*
 * Whether the caller may act on behalf of `task`, whose credentials `its` were a moment
 * ago. If execve(2) has added privileges since, nobody gets them here: the call goes on
 * with `its`. If `its` are what the task has left after giving up privileges, it became
 * undumpable before it got them.
 */
static bool may_act_for(struct task_struct *task, const struct cred *its)
{
	if (is_equal(current_cred(), its)) {
		/* Pairs with the smp_wmb() in commit_creds(). */
		smp_rmb();
		if (is_open(task))
			return true;
	}
	return capable(CAP_SYS_PTRACE);
}

/* `task` leads its process, or did when it was found. */
static int subject_of_leader(struct kmes_subject *s, struct task_struct *task)
{
	s->cred = get_task_cred(task);
	if (!may_act_for(task, s->cred)) {
		put_cred(s->cred);
		return -EPERM;
	}
	s->tgid = task_tgid_nr(task);
	/* Its own, and not its leader's: by now that may be another task, and freed. */
	s->start = task->start_boottime;
	return 0;
}

/*
 * The process of the caller's pidfd, to be given back by kmes_subject_put(). -EBADF;
 * -ESRCH when it is gone; -EPERM when the caller may not act for it; -EOPNOTSUPP when
 * this kernel does not let us look.
 */
int kmes_subject_of(struct kmes_subject *s, int pidfd)
{
	struct task_struct *task;
	struct pid *pid;
	int err;

	if (pidfd < 0)
		return -EBADF;
	pid = kmes_pidfd_get_pid(pidfd);
	if (IS_ERR(pid))
		return PTR_ERR(pid);
	task = get_pid_task(pid, PIDTYPE_TGID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	err = subject_of_leader(s, task);
	put_task_struct(task);
	return err;
}

void kmes_subject_put(struct kmes_subject *s)
{
	put_cred(s->cred);
}

/*
 * Kernels do not export the question for credentials, so it is asked while the caller has
 * them: between assume() and resume() the caller is the subject. The question is about
 * the initial user namespace, as what it protects is the whole machine's.
 */
static const struct cred *assume(const struct kmes_subject *s)
{
	return s->cred ? override_creds(s->cred) : NULL;
}

static void resume(const struct cred *mine)
{
	if (mine)
		revert_creds(mine);
}

bool kmes_subject_has(const struct kmes_subject *s, int capability)
{
	const struct cred *mine = assume(s);
	bool has = capable(capability);

	resume(mine);
	return has;
}

/*
 * Without a record in the audit log when it has not, as nothing is refused. Security
 * modules are asked only about a capability that is there: they may take it away, never
 * add it.
 */
bool kmes_subject_has_quietly(const struct kmes_subject *s, int capability)
{
	const struct cred *mine = assume(s);
	bool has = cap_raised(current_cred()->cap_effective, capability) &&
		   ns_capable_noaudit(&init_user_ns, capability);

	resume(mine);
	return has;
}

struct guid_cache {
	u64 start;
	pid_t tgid;
	u8 guid[16];
};

/* Of the process whose event was the last on a CPU. No process has this id. */
static DEFINE_PER_CPU(struct guid_cache, last_guid) = { .tgid = -1 };

/* Version 8, in Microsoft's byte order. */
static noinline void make_guid(struct guid_cache *c, const struct kmes_subject *s,
			       u8 guid[16])
{
	u64 low = siphash_3u64(s->tgid, s->start, 0, &guid_key);
	u64 high = siphash_3u64(s->tgid, s->start, 1, &guid_key);

	/*
	 * The stores and the copy stand together, and nobody looks at the cache after
	 * the return: a probe in a function called may emit for another process, and
	 * must neither see half of this nor replace it.
	 */
	c->tgid = s->tgid;
	c->start = s->start;
	memcpy(c->guid, &low, sizeof(low));
	memcpy(c->guid + 8, &high, sizeof(high));
	c->guid[7] = (c->guid[7] & 0x0f) | 0x80;
	c->guid[8] = (c->guid[8] & 0x3f) | 0x80;
	memcpy(guid, c->guid, sizeof(c->guid));
}

/*
 * The process's GUID: the same for each of its events, another for each process during
 * this load of the module, not to be guessed from what is known of the process.
 * Interrupts are off, and not for an NMI.
 */
void kmes_subject_guid_irqs_off(const struct kmes_subject *s, u8 guid[16])
{
	struct guid_cache *c = this_cpu_ptr(&last_guid);

	if (likely(c->tgid == s->tgid && c->start == s->start))
		memcpy(guid, c->guid, sizeof(c->guid));
	else
		make_guid(c, s, guid);
}

/* The same in any context but NMI. */
void kmes_subject_guid(const struct kmes_subject *s, u8 guid[16])
{
	unsigned long flags;

	local_irq_save(flags);
	kmes_subject_guid_irqs_off(s, guid);
	local_irq_restore(flags);
}
