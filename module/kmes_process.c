// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_process.c - events for fork, exec and exit of processes, by the scheduler's
 * tracepoints. Threads are not told of.
 *
 * A process exits when its last thread does, but several threads that exit together may all
 * see themselves as the last when they come here. So a process of several threads is noted
 * when it has been told of, until its leader's task is freed, which is after all of them
 * have passed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/binfmts.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "kmes.h"

#define PAYLOAD_SIZE 384

struct told {
	struct hlist_node node;
	u64 start;
	pid_t tgid;
};

static DEFINE_HASHTABLE(told_processes, 6);
static DEFINE_SPINLOCK(told_lock);

static struct told *find_told(pid_t tgid, u64 start)
{
	struct told *t;

	hash_for_each_possible(told_processes, t, node, tgid)
		if (t->tgid == tgid && t->start == start)
			return t;
	return NULL;
}

/* Whether the exit of this process is told of for the first time. */
static bool tell_once(struct task_struct *task)
{
	struct told *fresh = NULL;
	struct kmes_subject s;
	unsigned long flags;
	bool first;

	kmes_subject_of_task(&s, task);
	/* Without memory a second event of the same exit may come: better than none. */
	if (!thread_group_empty(task))
		fresh = kmalloc(sizeof(*fresh), GFP_ATOMIC);
	spin_lock_irqsave(&told_lock, flags);
	first = !find_told(s.tgid, s.start);
	if (first && fresh) {
		fresh->tgid = s.tgid;
		fresh->start = s.start;
		hash_add(told_processes, &fresh->node, s.tgid);
		fresh = NULL;
	}
	spin_unlock_irqrestore(&told_lock, flags);
	kfree(fresh);
	return first;
}

static void forget(pid_t tgid, u64 start)
{
	struct told *t;
	unsigned long flags;

	spin_lock_irqsave(&told_lock, flags);
	t = find_told(tgid, start);
	if (t)
		hash_del(&t->node);
	spin_unlock_irqrestore(&told_lock, flags);
	kfree(t);
}

static void forget_all(void)
{
	struct hlist_node *next;
	struct told *t;
	int i;

	hash_for_each_safe(told_processes, i, next, t, node) {
		hash_del(&t->node);
		kfree(t);
	}
}

static void pack_number(struct kmes_pack *p, const char *key, s64 value)
{
	kmes_pack_text(p, key);
	kmes_pack_int(p, value);
}

static void pack_comm(struct kmes_pack *p, const struct task_struct *task)
{
	char comm[TASK_COMM_LEN];

	strscpy(comm, task->comm, sizeof(comm));
	kmes_pack_text(p, "comm");
	kmes_pack_text(p, comm);
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	u8 buf[PAYLOAD_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));
	struct kmes_subject s;
	u8 guid[16];

	if (!thread_group_leader(child))
		return;
	kmes_subject_of_task(&s, child);
	kmes_subject_guid(&s, guid);
	kmes_pack_map(&p, 4);
	pack_number(&p, "pid", child->pid);
	pack_number(&p, "ppid", parent->tgid);
	pack_comm(&p, child);
	kmes_pack_text(&p, "child_guid");
	kmes_pack_bin(&p, guid, sizeof(guid));
	kmes_emit_pack(KMES_ORIGIN_HOST, "process.fork", &p);
}

static void send_exec(void *buf, u32 size, const struct task_struct *task,
		      const char *filename, u32 len)
{
	struct kmes_pack p = kmes_pack_begin(buf, size);

	kmes_pack_map(&p, 3);
	pack_number(&p, "pid", task->tgid);
	pack_comm(&p, task);
	kmes_pack_text(&p, "filename");
	kmes_pack_str(&p, filename, len);
	kmes_emit_pack(KMES_ORIGIN_HOST, "process.exec", &p);
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	const u32 rest = 128; /* what all but the name takes */
	u8 small[PAYLOAD_SIZE];
	u32 len = strlen(bprm->filename);
	u8 *large = NULL;

	if (len + rest > sizeof(small))
		large = kmalloc(len + rest, GFP_ATOMIC);
	if (large)
		send_exec(large, len + rest, task, bprm->filename, len);
	else
		/* No memory for a long one: its beginning. */
		send_exec(small, sizeof(small), task, bprm->filename,
			  min_t(u32, len, sizeof(small) - rest));
	kfree(large);
}

/* As a shell would tell it: the exit status, or the signal as a negative number. */
static int exit_code(const struct task_struct *task)
{
	const struct signal_struct *sig = task->signal;
	int status = sig->flags & SIGNAL_GROUP_EXIT ? sig->group_exit_code
						    : task->exit_code;

	return status & 0x7f ? -(status & 0x7f) : status >> 8 & 0xff;
}

/* Newer kernels tell more here, which is passed over. */
static void on_exit(void *data, struct task_struct *task)
{
	u8 buf[PAYLOAD_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	if (atomic_read(&task->signal->live) || !tell_once(task))
		return;
	kmes_pack_map(&p, 3);
	pack_number(&p, "pid", task->tgid);
	pack_comm(&p, task);
	pack_number(&p, "code", exit_code(task));
	kmes_emit_pack(KMES_ORIGIN_HOST, "process.exit", &p);
}

static void on_free(void *data, struct task_struct *task)
{
	if (task->pid == task->tgid)
		forget(task->tgid, task->start_boottime);
}

static struct hook {
	const char *name;
	void *probe;
	struct tracepoint *point;
	bool registered;
} hooks[] = {
	{ "sched_process_free", on_free },
	{ "sched_process_exit", on_exit },
	{ "sched_process_exec", on_exec },
	{ "sched_process_fork", on_fork },
};

static void find_point(struct tracepoint *point, void *arg)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(point->name, hooks[i].name))
			hooks[i].point = point;
}

static void unhook(void)
{
	int i;

	for (i = ARRAY_SIZE(hooks) - 1; i >= 0; i--) {
		if (hooks[i].registered)
			tracepoint_probe_unregister(hooks[i].point, hooks[i].probe, NULL);
		hooks[i].registered = false;
	}
	tracepoint_synchronize_unregister();
	forget_all();
}

static int hook(void)
{
	unsigned int i;

	for_each_kernel_tracepoint(find_point, NULL);
	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		int err = hooks[i].point ? tracepoint_probe_register(hooks[i].point,
								     hooks[i].probe, NULL)
					 : -ENOENT;

		if (err) {
			pr_err("cannot watch %s: %d\n", hooks[i].name, err);
			unhook();
			return err;
		}
		hooks[i].registered = true;
	}
	return 0;
}

/* Turns the events on or off; the caller makes sure that calls do not meet. */
int kmes_process_set(bool on)
{
	static bool is_on;
	int err = 0;

	if (on == is_on)
		return 0;
	if (on)
		err = hook();
	else
		unhook();
	is_on = on && !err;
	return err;
}
