// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_alloc.c - while it is loaded, an ordinary thread on each CPU allocates and frees
 * 32 bytes in a loop. On PREEMPT_RT, these threads are sometimes preempted inside the
 * allocator; code that then allocates the same size in atomic context has to sleep,
 * which makes the kernel panic.
 */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>

/* More than the per-CPU lists hold, so that the shared lists are used, too. */
#define BURST 512

static DEFINE_PER_CPU(struct task_struct *, allocator);

static int allocate(void *unused)
{
	void **kept = kmalloc_array(BURST, sizeof(*kept), GFP_KERNEL);
	unsigned int i;

	while (!kthread_should_stop()) {
		for (i = 0; kept && i < BURST; i++)
			kept[i] = kmalloc(32, GFP_KERNEL);
		for (i = 0; kept && i < BURST; i++)
			kfree(kept[i]);
		cond_resched();
	}
	kfree(kept);
	return 0;
}

static void stop_all(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (per_cpu(allocator, cpu))
			kthread_stop(per_cpu(allocator, cpu));
}

static int __init alloc_init(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct task_struct *t =
			kthread_create(allocate, NULL, "kmes_alloc/%u", cpu);

		if (IS_ERR(t)) {
			stop_all();
			return PTR_ERR(t);
		}
		kthread_bind(t, cpu);
		per_cpu(allocator, cpu) = t;
		wake_up_process(t);
	}
	return 0;
}

static void __exit alloc_exit(void)
{
	stop_all();
}

module_init(alloc_init);
module_exit(alloc_exit);
MODULE_DESCRIPTION("Small allocations during tests");
MODULE_LICENSE("Dual MIT/GPL");
