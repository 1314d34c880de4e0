// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_trouble.c - faults on demand, to prove that the virtual machine detects them. */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *kind = "none";
module_param(kind, charp, 0);
MODULE_PARM_DESC(kind, "none, warn, oops, pinned, sleep, deadlock, overrun, leak, race");

static DEFINE_SPINLOCK(lock_a);
static DEFINE_SPINLOCK(lock_b);

static void trouble_sleep(void)
{
	spin_lock(&lock_a);
	msleep(1);
	spin_unlock(&lock_a);
}

static void trouble_deadlock(void)
{
	spin_lock(&lock_a);
	spin_lock(&lock_b);
	spin_unlock(&lock_b);
	spin_unlock(&lock_a);
	spin_lock(&lock_b);
	spin_lock(&lock_a);
	spin_unlock(&lock_a);
	spin_unlock(&lock_b);
}

static void trouble_overrun(void)
{
	char *p = kmalloc(40, GFP_KERNEL);

	if (p) {
		OPTIMIZER_HIDE_VAR(p);
		WRITE_ONCE(p[40], 1);
		kfree(p);
	}
}

static void trouble_leak(void)
{
	unsigned int i;

	/* More than one, as a stale pointer somewhere could hide a single leak. */
	for (i = 0; i < 10; i++) {
		char *p = kmalloc(1000, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
	}
}

static int trouble_racer(void *word)
{
	unsigned int *n = word;

	while (!kthread_should_stop()) {
		++*n;
		OPTIMIZER_HIDE_VAR(n);
		cond_resched();
	}
	return 0;
}

static void trouble_race(void)
{
	static unsigned int word;
	struct task_struct *racers[2];
	int i;

	for (i = 0; i < 2; i++)
		racers[i] = kthread_run(trouble_racer, &word, "kmes_racer%d", i);
	msleep(3000);
	for (i = 0; i < 2; i++)
		if (!IS_ERR(racers[i]))
			kthread_stop(racers[i]);
}

static int __init trouble_init(void)
{
	WARN(!strcmp(kind, "warn"), "as asked for");
	BUG_ON(!strcmp(kind, "oops"));
	if (!strcmp(kind, "pinned"))
		__module_get(THIS_MODULE);
	if (!strcmp(kind, "sleep"))
		trouble_sleep();
	if (!strcmp(kind, "deadlock"))
		trouble_deadlock();
	if (!strcmp(kind, "overrun"))
		trouble_overrun();
	if (!strcmp(kind, "leak"))
		trouble_leak();
	if (!strcmp(kind, "race"))
		trouble_race();
	return 0;
}

static void __exit trouble_exit(void)
{
}

module_init(trouble_init);
module_exit(trouble_exit);
MODULE_DESCRIPTION("Faults on demand, for tests");
MODULE_LICENSE("Dual MIT/GPL");
