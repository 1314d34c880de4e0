// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_kick.c - emits from the kernel while it is being loaded, in every context.
 *
 * context=NAME emits one event on CPU `cpu`; context=all emits from all contexts on that
 * CPU for at least `ms` milliseconds; context=drops emits events that must be dropped. In
 * an NMI (context=nmi, and among all), emission must be refused. Loading fails if an
 * emission does not return what it should. A payload is one binary value of equal bytes,
 * so that a torn one can be detected.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/version.h>

#include <asm/apic.h>
#include <asm/nmi.h>

#include "kmes_abi.h"
#include "kmes_kernel.h"

#define BODY 48

static char *context = "process";
module_param(context, charp, 0);
static unsigned int cpu;
module_param(cpu, uint, 0);
static unsigned int ms = 500;
module_param(ms, uint, 0);

/* The number of emissions in each context. */
enum kick {
	KICK_PROCESS,
	KICK_IRQSOFF,
	KICK_SOFTIRQ,
	KICK_HARDIRQ,
	KICK_IPI,
	KICK_TIMER,
	KICKS,
};

static const char *const types[KICKS] = {
	[KICK_PROCESS] = "kick.process", [KICK_IRQSOFF] = "kick.irqsoff",
	[KICK_SOFTIRQ] = "kick.softirq", [KICK_HARDIRQ] = "kick.hardirq",
	[KICK_IPI] = "kick.ipi",	 [KICK_TIMER] = "kick.timer",
};

static atomic_t kicks[KICKS];
static atomic_t sent = ATOMIC_INIT(0);
static atomic_t refused = ATOMIC_INIT(0);
static atomic_t wrong = ATOMIC_INIT(0);

static int count_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read((atomic_t *)kp->arg));
}

static const struct kernel_param_ops count_ops = { .get = count_get };
module_param_cb(sent, &count_ops, &sent, 0444);
module_param_cb(refused, &count_ops, &refused, 0444);
module_param_cb(softirq, &count_ops, &kicks[KICK_SOFTIRQ], 0444);
module_param_cb(hardirq, &count_ops, &kicks[KICK_HARDIRQ], 0444);
module_param_cb(ipi, &count_ops, &kicks[KICK_IPI], 0444);
module_param_cb(timer, &count_ops, &kicks[KICK_TIMER], 0444);
module_param_cb(process, &count_ops, &kicks[KICK_PROCESS], 0444);

static void emit(enum kick kick)
{
	u8 body[2 + BODY] = { 0xc4, BODY };
	struct kmes_kernel_event event = {
		.type = types[kick],
		.type_len = strlen(types[kick]),
		.payload = body,
		.payload_len = sizeof(body),
	};

	memset(body + 2, atomic_inc_return(&sent), BODY);
	atomic_inc(&kicks[kick]);
	if (kmes_emit_kernel(KMES_ORIGIN_LCS, &event))
		atomic_inc(&wrong);
}

static void in_tasklet(struct tasklet_struct *t)
{
	emit(KICK_SOFTIRQ);
}

static DECLARE_TASKLET(tasklet, in_tasklet);

static void in_irq_work(struct irq_work *work)
{
	emit(KICK_HARDIRQ);
}

/* In hard interrupt context also on PREEMPT_RT, where others run in a thread. */
static struct irq_work work = IRQ_WORK_INIT_HARD(in_irq_work);

static struct hrtimer timer;

static enum hrtimer_restart in_timer(struct hrtimer *t)
{
	emit(KICK_TIMER);
	hrtimer_forward_now(t, ms_to_ktime(1));
	return HRTIMER_RESTART;
}

static void init_timer(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, in_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = in_timer;
#endif
}

static void in_ipi(void *all)
{
	emit(KICK_IPI);
	if (all) {
		irq_work_queue(&work);
		tasklet_schedule(&tasklet);
		if (!hrtimer_active(&timer))
			hrtimer_start(&timer, 0, HRTIMER_MODE_REL_PINNED_HARD);
	}
}

/* On each CPU except the sender. */
static int in_nmi_handler(unsigned int type, struct pt_regs *regs)
{
	static const struct kmes_kernel_event event = { .type = "kick.nmi",
							.type_len = 8 };

	if (smp_processor_id() != cpu)
		return NMI_HANDLED;
	if (kmes_emit_kernel(KMES_ORIGIN_LCS, &event) != -EPERM ||
	    kmes_emit_kernel_batch(KMES_ORIGIN_LCS, &event, 1) != -EPERM)
		atomic_inc(&wrong);
	atomic_inc(&refused);
	return NMI_HANDLED;
}

/* Done by hand: no function for this is exported. The test machine has an xAPIC. */
static void send_nmi(void)
{
	if (!x2apic_enabled())
		native_apic_mem_write(APIC_ICR, APIC_DEST_ALLBUT | APIC_DM_NMI);
}

/* The next one is sent after this one has arrived. */
static void nmi_and_wait(void)
{
	unsigned long end = jiffies + 30 * HZ;
	int before = atomic_read(&refused);

	send_nmi();
	while (atomic_read(&refused) == before) {
		if (time_after(jiffies, end)) {
			pr_err("kmes_kick: no NMI arrived\n");
			atomic_inc(&wrong);
			return;
		}
		cpu_relax();
	}
}

static int in_process(void *unused)
{
	while (!kthread_should_stop()) {
		emit(KICK_PROCESS);
		cond_resched();
	}
	return 0;
}

/* Whether each context has emitted often enough, however slow the machine is. */
static bool is_enough(void)
{
	const int enough = 20;

	return atomic_read(&kicks[KICK_PROCESS]) >= enough &&
	       atomic_read(&kicks[KICK_SOFTIRQ]) >= enough &&
	       atomic_read(&kicks[KICK_HARDIRQ]) >= enough &&
	       atomic_read(&kicks[KICK_IPI]) >= enough &&
	       atomic_read(&kicks[KICK_TIMER]) >= enough &&
	       atomic_read(&refused) >= enough;
}

/* All contexts at once on one CPU: emissions are interrupted by others. */
static int all_at_once(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	struct task_struct *task = kthread_create(in_process, NULL, "kmes_kick");

	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	while (time_before(jiffies, end) || !is_enough()) {
		smp_call_function_single(cpu, in_ipi, &cpu, 1);
		nmi_and_wait();
		cond_resched();
	}
	hrtimer_cancel(&timer);
	kthread_stop(task);
	return 0;
}

static int expect(const struct kmes_kernel_event *e, int ret)
{
	int got = kmes_emit_kernel(KMES_ORIGIN_LCS, e);

	if (got == ret)
		return 0;
	pr_err("kmes_kick: an emission returned %d instead of %d\n", got, ret);
	return -EINVAL;
}

/*
 * Dropped: 3 single events and 2 of a batch of 5. Written: 3 of it and one without
 * payload.
 */
static int drops(void)
{
	static const struct kmes_kernel_event bad[] = {
		{ .type = "", .type_len = 0 },
		{ .type = "x", .type_len = 65536 },
		{ .type = "x", .type_len = 1, .payload_len = 0xFFFFFFFFu },
	};
	static const struct kmes_kernel_event batch[] = {
		{ .type = "kick.batch", .type_len = 10 },
		{ .type = "", .type_len = 0 },
		{ .type = "kick.batch",
		  .type_len = 10,
		  .payload = "\xc0",
		  .payload_len = 1 },
		{ .type = "x", .type_len = 1, .payload_len = 1u << 28 },
		{ .type = "kick.batch", .type_len = 10 },
	};
	static const struct kmes_kernel_event empty = { .type = "kick.empty",
							.type_len = 10 };

	if (expect(&bad[0], -EINVAL) || expect(&bad[1], -EINVAL) ||
	    expect(&bad[2], -EINVAL) || expect(&empty, 0))
		return -EINVAL;
	if (kmes_emit_kernel_batch(KMES_ORIGIN_LCS, batch, ARRAY_SIZE(batch)) != 3)
		return -EINVAL;
	return 0;
}

static int once(void)
{
	unsigned long flags;

	if (!strcmp(context, "ipi"))
		return smp_call_function_single(cpu, in_ipi, NULL, 1);
	if (!strcmp(context, "nmi")) {
		nmi_and_wait();
	} else if (!strcmp(context, "irqsoff")) {
		local_irq_save(flags);
		emit(KICK_IRQSOFF);
		local_irq_restore(flags);
	} else if (!strcmp(context, "softirq")) {
		tasklet_schedule(&tasklet);
	} else if (!strcmp(context, "hardirq")) {
		irq_work_queue(&work);
	} else if (!strcmp(context, "process")) {
		emit(KICK_PROCESS);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int __init kick_init(void)
{
	unsigned int here = cpu;
	int err;

	init_timer();
	/* IPIs need another CPU to send them. */
	if (!strcmp(context, "all") || !strcmp(context, "ipi") || !strcmp(context, "nmi"))
		here = (cpu + 1) % num_online_cpus();
	err = set_cpus_allowed_ptr(current, cpumask_of(here));
	if (err)
		return err;
	err = register_nmi_handler(NMI_LOCAL, in_nmi_handler, 0, "kmes_kick");
	if (err)
		return err;
	if (!strcmp(context, "all"))
		err = all_at_once();
	else if (!strcmp(context, "drops"))
		err = drops();
	else
		err = once();
	msleep(20);
	irq_work_sync(&work);
	tasklet_kill(&tasklet);
	unregister_nmi_handler(NMI_LOCAL, "kmes_kick");
	if (!err && atomic_read(&wrong))
		err = -EIO;
	return err;
}

static void __exit kick_exit(void)
{
}

module_init(kick_init);
module_exit(kick_exit);
MODULE_DESCRIPTION("Emission from every context, for tests");
MODULE_LICENSE("Dual MIT/GPL");
