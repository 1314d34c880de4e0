// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_wake.c - wakes the consumers that sleep on a producer page's futex word.
 *
 * A shared futex is known by the page's place in a file, so all producer pages are pages
 * of one shmem file. A thread has that file in a memory map of its own and wakes through
 * it: no consumer's memory takes part, whatever its owner does with it.
 *
 * Any context may ask for a wake: it queues the buffer, with a reference, and raises an
 * irq_work, as the scheduler's locks may be held at that point; that wakes the thread. A
 * system call holds none, so it wakes the thread itself, for two thirds of the price.
 * Requests for one buffer that are still pending are one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/file.h>
#include <linux/idr.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "kmes_module.h"

/* Pages of the file: rings that exist at the same time, old ones included. */
#define WAKE_PAGES BIT(18)
#define WAKE_SIZE (WAKE_PAGES << PAGE_SHIFT)
#define WAKE_BASE 0x10000000ul
#define WAKE_WORD offsetof(struct kmes_producer_page, futex_counter)

static struct file *wake_file;
static DEFINE_IDA(wake_ids);
static LLIST_HEAD(wake_queue);
static struct task_struct *wake_thread;
static DEFINE_PER_CPU(struct irq_work, wake_work);

static void rouse(struct irq_work *work)
{
	wake_up_process(wake_thread);
}

/* Whether the thread has to be woken; else a request is pending, and so is that. */
static bool queue_wake(struct kmes_buffer *b)
{
	/* A full barrier: the futex word has moved before this request is seen. */
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

static void wake_now(const struct kmes_buffer *b)
{
	kmes_futex_wake_all(WAKE_BASE + ((unsigned long)b->wake_id << PAGE_SHIFT) +
			    WAKE_WORD);
}

static void serve_queue(void)
{
	struct llist_node *first = llist_del_all(&wake_queue);
	struct kmes_buffer *b, *next;

	llist_for_each_entry_safe(b, next, first, wake_node) {
		clear_bit(0, &b->wake_queued);
		/* A word that moves after this is queued again; pairs with kmes_wake. */
		smp_mb__after_atomic();
		wake_now(b);
		kmes_buffer_put(b);
	}
}

#ifdef KMES_HAS_MM_GET_AREA
/* The one mapping is at a fixed place. */
static unsigned long fixed_area(struct file *file, unsigned long address,
				unsigned long len, unsigned long pgoff,
				unsigned long flags)
{
	return address;
}
#endif

/*
 * A memory map of the thread's own with the file in it. In the thread, as the map keeps
 * pointing to the task that allocated it.
 */
static int take_mm(void)
{
	struct mm_struct *mm = kmes_mm_alloc();
	unsigned long at;

	if (!mm)
		return -ENOMEM;
#ifdef KMES_HAS_MM_GET_AREA
	mm->get_unmapped_area = fixed_area;
#endif
	kthread_use_mm(mm);
	/* Nobody writes here, but a futex's page is looked up for writing first. */
	at = vm_mmap(wake_file, WAKE_BASE, WAKE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, 0);
	if (!IS_ERR_VALUE(at))
		return 0;
	kthread_unuse_mm(mm);
	mmput(mm);
	return at;
}

static void drop_mm(void)
{
	struct mm_struct *mm = current->mm;

	vm_munmap(WAKE_BASE, WAKE_SIZE);
	kthread_unuse_mm(mm);
	mmput(mm);
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

/* Lives until it is stopped, also without a map. */
static int wake_main(void *arg)
{
	struct wake_start *start = arg;
	int err = take_mm();

	start->err = err;
	complete(&start->done);
	serve();
	if (!err)
		drop_mm();
	return 0;
}

static long read_page(void *index)
{
	return (long)shmem_read_mapping_page_gfp(wake_file->f_mapping, *(u32 *)index,
						 GFP_KERNEL | __GFP_NORETRY |
							 __GFP_NOWARN);
}

/* A page of the file comes from where the one runs who asks first. */
static struct page *read_page_on(int node, u32 index)
{
	unsigned int cpu = nr_cpu_ids;
	long page;

	cpus_read_lock();
	if (node >= 0 && num_online_nodes() > 1)
		cpu = cpumask_any_and(cpumask_of_node(node), cpu_online_mask);
	page = cpu < nr_cpu_ids ? work_on_cpu(cpu, read_page, &index) : read_page(&index);
	cpus_read_unlock();
	return (struct page *)page;
}

/* A producer page of its own, zeroed, if possible of that node; its index in the file. */
struct page *kmes_wake_page_new(int node, u32 *id)
{
	int index = ida_alloc_max(&wake_ids, WAKE_PAGES - 1, GFP_KERNEL);
	struct page *page;

	if (index < 0)
		return ERR_PTR(index == -ENOSPC ? -ENOMEM : index);
	page = read_page_on(node, index);
	if (IS_ERR(page))
		ida_free(&wake_ids, index);
	*id = index;
	return page;
}

void kmes_wake_page_free(struct page *page, u32 id)
{
	loff_t start = (loff_t)id << PAGE_SHIFT;

	put_page(page);
	shmem_truncate_range(file_inode(wake_file), start, start + PAGE_SIZE - 1);
	ida_free(&wake_ids, id);
}

#ifdef KMES_HAS_SHMEM_KERNEL_FILE
/* No security module is asked about a kernel thread's mapping of it. */
#define wake_file_setup shmem_kernel_file_setup
#else
#define wake_file_setup shmem_file_setup
#endif

static struct file *open_wake_file(void)
{
	struct file *file;

	/* Not reserved: it is nearly all holes. */
#ifdef KMES_HAS_VMA_FLAGS_T
	file = wake_file_setup("kmes", WAKE_SIZE, mk_vma_flags(VMA_NORESERVE_BIT));
#else
	file = wake_file_setup("kmes", WAKE_SIZE, VM_NORESERVE);
#endif
	/* So shmem tells that there was no memory for the inode. */
	if (file == ERR_PTR(-ENOSPC))
		return ERR_PTR(-ENOMEM);
	/* A page that was swapped out would not be the page that waiters know. */
	if (!IS_ERR(file))
		mapping_set_unevictable(file->f_mapping);
	return file;
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
	int err = kmes_symbols_find();
	unsigned int cpu;

	if (err)
		return err;
	wake_file = open_wake_file();
	if (IS_ERR(wake_file))
		return PTR_ERR(wake_file);
	for_each_possible_cpu(cpu)
		per_cpu(wake_work, cpu) = IRQ_WORK_INIT_HARD(rouse);
	err = wake_start();
	if (err) {
		pr_err("cannot map the pages to wake consumers through: %d\n", err);
		fput(wake_file);
	}
	return err;
}

/* Nobody emits any more. */
void kmes_wake_fini(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&wake_work, cpu));
	kthread_stop(wake_thread);
	fput(wake_file);
	ida_destroy(&wake_ids);
}
