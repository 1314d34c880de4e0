// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_wake.c - the thread that wakes consumers sleeping on a ring's futex.
 *
 * A wake can be requested in any context, also with scheduler locks held: the request
 * queues the buffer, with a reference, and raises an irq_work, which wakes the thread. A
 * system call holds no such lock and wakes the thread directly, at two thirds of the
 * cost. Requests for a buffer that is still queued are merged.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "kmes_module.h"

static LLIST_HEAD(wake_queue);
static struct task_struct *wake_thread;
static DEFINE_PER_CPU(struct irq_work, wake_work);

static void rouse(struct irq_work *work)
{
	wake_up_process(wake_thread);
}

/* Whether the thread has to be woken: not if a request is already pending. */
static bool queue_wake(struct kmes_buffer *b)
{
	/* A full barrier: the new futex_counter is visible before the request is. */
	if (test_and_set_bit(0, &b->wake_queued))
		return false;
	kmes_buffer_get(b);
	llist_add(&b->wake_node, &wake_queue);
	return true;
}

void kmes_wake(struct kmes_buffer *b)
{
	if (queue_wake(b))
		irq_work_queue(this_cpu_ptr(&wake_work));
}

void kmes_wake_from_call(struct kmes_buffer *b)
{
	if (queue_wake(b))
		wake_up_process(wake_thread);
}

static void serve_queue(void)
{
	struct llist_node *first = llist_del_all(&wake_queue);
	struct kmes_buffer *b, *next;

	llist_for_each_entry_safe(b, next, first, wake_node) {
		clear_bit(0, &b->wake_queued);
		/* Pairs with queue_wake(): a later change of the counter queues again. */
		smp_mb__after_atomic();
		kmes_wake_page_wake(b->wake_id);
		kmes_buffer_put(b);
	}
}

struct wake_start {
	struct completion done;
	int err;
};

static void serve(void)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (llist_empty(&wake_queue)) {
			if (kthread_should_stop())
				break;
			schedule();
		}
		__set_current_state(TASK_RUNNING);
		serve_queue();
	}
	__set_current_state(TASK_RUNNING);
}

/* Runs until it is stopped, even if the file could not be mapped. */
static int wake_main(void *arg)
{
	struct wake_start *start = arg;
	int err = kmes_wake_file_map();

	start->err = err;
	complete(&start->done);
	serve();
	if (!err)
		kmes_wake_file_unmap();
	return 0;
}

static int wake_start(void)
{
	struct wake_start start = {
		.done = COMPLETION_INITIALIZER_ONSTACK(start.done),
	};

	wake_thread = kthread_create(wake_main, &start, "kmes_wake");
	if (IS_ERR(wake_thread))
		return PTR_ERR(wake_thread);
	sched_set_fifo_low(wake_thread);
	wake_up_process(wake_thread);
	wait_for_completion(&start.done);
	if (start.err)
		kthread_stop(wake_thread);
	return start.err;
}

int kmes_wake_init(void)
{
	unsigned int cpu;
	int err;

	for_each_possible_cpu(cpu)
		per_cpu(wake_work, cpu) = IRQ_WORK_INIT_HARD(rouse);
	err = wake_start();
	if (err)
		pr_err("cannot map the pages to wake consumers through: %d\n", err);
	return err;
}

/* There are no emitters any more. */
void kmes_wake_fini(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&wake_work, cpu));
	kthread_stop(wake_thread);
}
