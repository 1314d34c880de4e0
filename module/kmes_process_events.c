// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_process_events.c - events for fork, exec and exit of processes, from the
 * scheduler's tracepoints. Threads are not reported.
 *
 * Up to 6.12, probes are called with preemption disabled; later kernels do not disable
 * it. The probes never sleep, allocate or free, on PREEMPT_RT either: all that they use
 * is static, of bounded size, and protected by raw spinlocks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/binfmts.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "kmes_module.h"

#define PAYLOAD_SIZE 384
/* Bytes of a payload besides the file name. */
#define PAYLOAD_REST 128
/* The longest file name of an exec: a path below "/dev/fd/N/". */
#define NAME_MAX_SIZE (PATH_MAX + 32)

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

static void emit_exec(void *buf, u32 size, const struct task_struct *task,
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

/*
 * For names that are too long for the stack. One buffer serves all CPUs: such names are
 * rare, and copying one takes far less time than the exec that waits for it.
 */
static void emit_long_exec(const struct task_struct *task, const char *filename, u32 len)
{
	static DEFINE_RAW_SPINLOCK(lock);
	static u8 buf[NAME_MAX_SIZE + PAYLOAD_REST];
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	emit_exec(buf, sizeof(buf), task, filename, len);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	u32 len = strnlen(bprm->filename, NAME_MAX_SIZE);
	u8 buf[PAYLOAD_SIZE];

	if (len + PAYLOAD_REST > sizeof(buf))
		emit_long_exec(task, bprm->filename, len);
	else
		emit_exec(buf, sizeof(buf), task, bprm->filename, len);
}

/* The exit status, or the number of the fatal signal, negated. */
static int exit_code(const struct task_struct *task)
{
	/* The last thread sets it unless it has been set before. */
	int status = task->signal->group_exit_code;

	return status & 0x7f ? -(status & 0x7f) : status >> 8 & 0xff;
}

static void emit_exit(const struct task_struct *task)
{
	u8 buf[PAYLOAD_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	kmes_pack_map(&p, 3);
	pack_number(&p, "pid", task->tgid);
	pack_comm(&p, task);
	pack_number(&p, "code", exit_code(task));
	kmes_emit_pack(KMES_ORIGIN_HOST, "process.exit", &p);
}

#ifdef KMES_HAS_GROUP_DEAD
static void on_exit(void *data, struct task_struct *task, bool group_dead)
{
	if (group_dead)
		emit_exit(task);
}
#else
/*
 * A process exits with its last thread, but threads that exit concurrently may each
 * find that no thread is live. The first of them claims the exit. A claim is needed
 * only until the others have passed here, which is soon, so each set keeps the newest
 * few. If a claim is evicted too early, the exit is reported twice; it is never missed.
 */
#define CLAIM_BITS 8
#define CLAIM_WAYS 8

struct claim {
	u64 start;
	pid_t tgid;
};

static struct claim_set {
	struct claim claims[CLAIM_WAYS];
	unsigned int next;
} claim_sets[1 << CLAIM_BITS];
static DEFINE_RAW_SPINLOCK(claim_lock);

static bool is_claimed(const struct claim_set *set, const struct kmes_subject *s)
{
	unsigned int i;

	for (i = 0; i < CLAIM_WAYS; i++)
		if (set->claims[i].tgid == s->tgid && set->claims[i].start == s->start)
			return true;
	return false;
}

/* Whether the caller is the thread that reports the exit of its process. */
static bool claim_exit(struct task_struct *task)
{
	struct claim_set *set;
	struct kmes_subject s;
	unsigned long flags;
	bool first;

	kmes_subject_of_task(&s, task);
	set = &claim_sets[hash_32(s.tgid, CLAIM_BITS)];
	raw_spin_lock_irqsave(&claim_lock, flags);
#ifdef KMES_TEST_LOCK_US
	udelay(KMES_TEST_LOCK_US);
#endif
	first = !is_claimed(set, &s);
	/* There is no later thread to see a claim of the last one. */
	if (first && !thread_group_empty(task))
		set->claims[set->next++ % CLAIM_WAYS] = (struct claim){
			.start = s.start,
			.tgid = s.tgid,
		};
	raw_spin_unlock_irqrestore(&claim_lock, flags);
	return first;
}

static void on_exit(void *data, struct task_struct *task)
{
	if (!atomic_read(&task->signal->live) && claim_exit(task))
		emit_exit(task);
}
#endif

static struct hook {
	const char *name;
	void *probe;
	struct tracepoint *point;
	bool registered;
} hooks[] = {
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
}

static int hook(void)
{
	unsigned int i;

	/* Compile-time checks of the probes' prototypes. */
	check_trace_callback_type_sched_process_fork(on_fork);
	check_trace_callback_type_sched_process_exec(on_exec);
	check_trace_callback_type_sched_process_exit(on_exit);
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

/* Turns the events on or off; the caller serializes calls. */
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
