// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_subject.c - identity and credentials of the process that a call is made for. */
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

/* Drawn when the module is loaded. */
static siphash_key_t guid_key __ro_after_init;

void __init kmes_subjects_init(void)
{
	get_random_bytes(&guid_key, sizeof(guid_key));
}

/* The process of a task; the caller makes sure that the task is not freed. */
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

/* Whether the task has an mm that its user may inspect. */
static bool is_inspectable(struct task_struct *task)
{
	bool inspectable;

	task_lock(task);
	inspectable = task->mm && is_dumpable(task);
	task_unlock(task);
	return inspectable;
}

/* Whether `mine` are of the same user as `its` and include all their capabilities. */
static bool is_superset(const struct cred *mine, const struct cred *its)
{
	return its->user_ns == mine->user_ns && uid_eq(its->uid, mine->euid) &&
	       uid_eq(its->euid, mine->euid) && uid_eq(its->suid, mine->euid) &&
	       gid_eq(its->gid, mine->egid) && gid_eq(its->egid, mine->egid) &&
	       gid_eq(its->sgid, mine->egid) &&
	       cap_issubset(its->cap_permitted, mine->cap_permitted);
}

/*
 * Whether the caller may act on behalf of `task`, whose credentials were `its` a moment
 * ago. Privileges added by an execve(2) since then are not available to the caller: the
 * call proceeds with `its`. If `its` result from giving up privileges, the task became
 * undumpable before it got them.
 */
static bool may_act_for(struct task_struct *task, const struct cred *its)
{
	if (is_superset(current_cred(), its)) {
		/* Pairs with the smp_wmb() in commit_creds(). */
		smp_rmb();
		if (is_inspectable(task))
			return true;
	}
	return capable(CAP_SYS_PTRACE);
}

/* `task` is the leader of its process, or was when it was looked up. */
static int subject_of_leader(struct kmes_subject *s, struct task_struct *task)
{
	s->cred = get_task_cred(task);
	if (!may_act_for(task, s->cred)) {
		put_cred(s->cred);
		return -EPERM;
	}
	s->tgid = task_tgid_nr(task);
	/* Not its group_leader's: that may be another task by now, and freed. */
	s->start = task->start_boottime;
	return 0;
}

/*
 * The process that a pidfd of the caller refers to; the caller then calls
 * kmes_subject_put(). 0; -EBADF; -ESRCH: the process has exited; -EPERM: the caller may
 * not act for it; -EOPNOTSUPP: this kernel has no function to look it up.
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
 * No function to check the capabilities of given credentials is exported, so the caller
 * takes them on for the check: between assume() and resume() it has the subject's. The
 * check is against the initial user namespace, because the rings belong to the whole
 * machine.
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
 * The same without an audit record if it is missing, because nothing is refused then.
 * Security modules are asked only about an effective capability: they may deny it, but
 * never grant it.
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

/* The GUID of the last process that emitted on a CPU. No process has the id -1. */
static DEFINE_PER_CPU(struct guid_cache, last_guid) = { .tgid = -1 };

/* Version 8, in Microsoft's byte order. */
static noinline void make_guid(struct guid_cache *c, const struct kmes_subject *s,
			       u8 guid[16])
{
	u64 low = siphash_3u64(s->tgid, s->start, 0, &guid_key);
	u64 high = siphash_3u64(s->tgid, s->start, 1, &guid_key);

	/*
	 * No function is called between the first store and the copy, and the caller
	 * does not use the cache after the return: a probe in a called function may emit
	 * for another process, and must neither see a half-filled cache nor replace it
	 * before it is copied.
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
 * The process's GUID: constant for the process, unique while the module is loaded, and
 * not predictable from public properties of the process. Interrupts are off; not for
 * NMIs.
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
