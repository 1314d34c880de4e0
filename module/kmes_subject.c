// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_subject.c - on whose account a call is made: privileges and identity. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/siphash.h>

#include "kmes.h"

/* Constant from the load on. */
static siphash_key_t guid_key __ro_after_init;

void __init kmes_subjects_init(void)
{
	get_random_bytes(&guid_key, sizeof(guid_key));
}

/* The process of a task that cannot go away meanwhile. */
void kmes_subject_of_task(struct kmes_subject *s, struct task_struct *task)
{
	s->task = NULL;
	s->tgid = task_tgid_nr(task);
	rcu_read_lock();
	s->start = READ_ONCE(task->group_leader)->start_boottime;
	rcu_read_unlock();
}

/*
 * The caller's process. Its leader stays until the caller has been released, and for
 * another grace period, which interrupts off hold up; where RCU does not watch the caller
 * is an idle task and its own leader.
 */
void kmes_subject_self(struct kmes_subject *s)
{
	s->task = NULL;
	s->tgid = task_tgid_nr(current);
	s->start = READ_ONCE(current->group_leader)->start_boottime;
}

/*
 * Whether the caller may act in the name of `task`: it could trace every process, or it is
 * the same user in the same namespace and gains nothing by it.
 */
static bool may_act_for(struct task_struct *task)
{
	const struct cred *mine = current_cred();
	const struct cred *its = get_task_cred(task);
	bool same = its->user_ns == mine->user_ns && uid_eq(its->uid, mine->euid) &&
		    uid_eq(its->euid, mine->euid) && uid_eq(its->suid, mine->euid) &&
		    gid_eq(its->gid, mine->egid) && gid_eq(its->egid, mine->egid) &&
		    gid_eq(its->sgid, mine->egid) &&
		    cap_issubset(its->cap_permitted, mine->cap_permitted);

	put_cred(its);
	return same || capable(CAP_SYS_PTRACE);
}

/*
 * The process behind the caller's pidfd. -EBADF, -ESRCH when it is gone, -EPERM when the
 * caller may not act for it, -EOPNOTSUPP when this kernel does not let us look.
 */
int kmes_subject_of(struct kmes_subject *s, int pidfd)
{
	struct task_struct *task;
	struct pid *pid;

	if (pidfd < 0)
		return -EBADF;
	pid = kmes_pidfd_get_pid(pidfd);
	if (IS_ERR(pid))
		return PTR_ERR(pid);
	task = get_pid_task(pid, PIDTYPE_TGID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	if (!may_act_for(task)) {
		put_task_struct(task);
		return -EPERM;
	}
	kmes_subject_of_task(s, task);
	s->task = task;
	return 0;
}

void kmes_subject_put(struct kmes_subject *s)
{
	if (s->task)
		put_task_struct(s->task);
}

/* As kernels do not export the question for another task, it is asked in its place. */
static bool has_in_its_place(struct task_struct *task, int capability, bool quietly)
{
	const struct cred *its = get_task_cred(task);
	const struct cred *mine = override_creds(its);
	bool has = quietly ? ns_capable_noaudit(&init_user_ns, capability)
			   : capable(capability);

	revert_creds(mine);
	put_cred(its);
	return has;
}

/* In the initial user namespace, as everything here is the whole machine's. */
bool kmes_subject_has(const struct kmes_subject *s, int capability)
{
	return s->task ? has_in_its_place(s->task, capability, false)
		       : capable(capability);
}

/* Without a note in the audit log when it has not: nothing is refused. */
bool kmes_subject_has_quietly(const struct kmes_subject *s, int capability)
{
	return s->task ? has_in_its_place(s->task, capability, true)
		       : ns_capable_noaudit(&init_user_ns, capability);
}

/*
 * The process's GUID: the same for each of its events, another for each process during this
 * load of the module, not to be guessed from what is known of the process. Version 8, in
 * Microsoft's byte order.
 */
void kmes_subject_guid(const struct kmes_subject *s, u8 guid[16])
{
	u64 half = siphash_3u64(s->tgid, s->start, 0, &guid_key);

	memcpy(guid, &half, sizeof(half));
	half = siphash_3u64(s->tgid, s->start, 1, &guid_key);
	memcpy(guid + 8, &half, sizeof(half));
	guid[7] = (guid[7] & 0x0f) | 0x80;
	guid[8] = (guid[8] & 0x3f) | 0x80;
}
