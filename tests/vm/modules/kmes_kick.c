// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_kick.c - emits from the kernel while it is loaded, in every context that may.
 *
 * context=NAME emits one event on CPU `cpu`; context=all emits from all of them on that CPU
 * for `ms` milliseconds; context=drops hands in events that have to be dropped. The load
 * fails when an emission does not return what it should. Bodies are one binary value whose
 * bytes are all the same, so that a torn one shows.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "kmes_abi.h"
#include "kmes_kernel.h"

#define BODY 48

static char *context = "process";
module_param(context, charp, 0);
static unsigned int cpu;
module_param(cpu, uint, 0);
static unsigned int ms = 500;
module_param(ms, uint, 0);

static atomic_t sent = ATOMIC_INIT(0);
static atomic_t wrong = ATOMIC_INIT(0);

static int sent_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&sent));
}

static const struct kernel_param_ops sent_ops = { .get = sent_get };
module_param_cb(sent, &sent_ops, NULL, 0444);

static void emit(const char *type)
{
	u8 body[2 + BODY] = { 0xc4, BODY };
	struct kmes_kernel_event event = {
		.type = type,
		.type_len = strlen(type),
		.payload = body,
		.payload_len = sizeof(body),
	};

	memset(body + 2, atomic_inc_return(&sent), BODY);
	if (kmes_emit_kernel(KMES_ORIGIN_LCS, &event))
		atomic_inc(&wrong);
}

static void in_tasklet(struct tasklet_struct *t)
{
	emit("kick.softirq");
}

static DECLARE_TASKLET(tasklet, in_tasklet);

static void in_irq_work(struct irq_work *work)
{
	emit("kick.hardirq");
}

static struct irq_work work;

static void in_ipi(void *all)
{
	emit("kick.ipi");
	if (all) {
		irq_work_queue(&work);
		tasklet_schedule(&tasklet);
	}
}

static int in_process(void *unused)
{
	while (!kthread_should_stop()) {
		emit("kick.process");
		cond_resched();
	}
	return 0;
}

/* Everything at once on one CPU: interrupts come between each other's emissions. */
static int all_at_once(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	struct task_struct *task = kthread_create(in_process, NULL, "kmes_kick");

	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	while (time_before(jiffies, end)) {
		smp_call_function_single(cpu, in_ipi, &cpu, 1);
		cond_resched();
	}
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

/* Dropped: 3 alone and 2 of a batch of 5. Stored: the batch's 3 and one without payload. */
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
	if (!strcmp(context, "irqsoff")) {
		local_irq_save(flags);
		emit("kick.irqsoff");
		local_irq_restore(flags);
	} else if (!strcmp(context, "softirq")) {
		tasklet_schedule(&tasklet);
	} else if (!strcmp(context, "hardirq")) {
		irq_work_queue(&work);
	} else if (!strcmp(context, "process")) {
		emit("kick.process");
	} else {
		return -EINVAL;
	}
	return 0;
}

static int __init kick_init(void)
{
	unsigned int here = cpu;
	int err;

	init_irq_work(&work, in_irq_work);
	/* Interrupts between CPUs need another one to come from. */
	if (!strcmp(context, "all") || !strcmp(context, "ipi"))
		here = (cpu + 1) % num_online_cpus();
	err = set_cpus_allowed_ptr(current, cpumask_of(here));
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
	if (!err && atomic_read(&wrong))
		err = -EIO;
	return err;
}

static void __exit kick_exit(void)
{
}

module_init(kick_init);
module_exit(kick_exit);
MODULE_DESCRIPTION("Emission from every context, for the tests of the test machine");
MODULE_LICENSE("Dual MIT/GPL");
