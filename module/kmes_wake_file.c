// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_wake_file.c - the file that all producer pages belong to, and its mapping.
 *
 * A shared futex is identified by its page's inode and offset, so the producer pages are
 * pages of one shmem file. The thread that wakes consumers maps that file into an mm of
 * its own and wakes through this mapping. Consumers' memory maps are never used, so it
 * does not matter what their owners do to them.
 */
#include <linux/cpu.h>
#include <linux/file.h>
#include <linux/idr.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "kmes_module.h"

/* Pages of the file: rings that exist at the same time, replaced ones included. */
#define WAKE_PAGES BIT(18)
#define WAKE_SIZE (WAKE_PAGES << PAGE_SHIFT)
#define WAKE_BASE 0x10000000ul
#define WAKE_WORD offsetof(struct kmes_producer_page, futex_counter)

static struct file *wake_file;
static DEFINE_IDA(wake_ids);

static long read_page(void *index)
{
	return (long)shmem_read_mapping_page_gfp(wake_file->f_mapping, *(u32 *)index,
						 GFP_KERNEL | __GFP_NORETRY |
							 __GFP_NOWARN);
}

/* shmem allocates a page on the node of the CPU that first asks for it. */
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

/* A zeroed producer page, if possible on that node; `*id` is its index in the file. */
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
/* A private inode: security modules are not asked about the thread's mapping. */
#define wake_file_setup shmem_kernel_file_setup
#else
#define wake_file_setup shmem_file_setup
#endif

static struct file *open_file(void)
{
	struct file *file;

	/* No reservation: the file is sparse. */
#ifdef KMES_HAS_VMA_FLAGS_T
	file = wake_file_setup("kmes", WAKE_SIZE, mk_vma_flags(VMA_NORESERVE_BIT));
#else
	file = wake_file_setup("kmes", WAKE_SIZE, VM_NORESERVE);
#endif
	/* shmem reports a failed allocation of the inode this way. */
	if (file == ERR_PTR(-ENOSPC))
		return ERR_PTR(-ENOMEM);
	/* The writer and the mappings use these very pages: never swap them out. */
	if (!IS_ERR(file))
		mapping_set_unevictable(file->f_mapping);
	return file;
}

int kmes_wake_file_init(void)
{
	wake_file = open_file();
	return PTR_ERR_OR_ZERO(wake_file);
}

/* All rings have been freed. */
void kmes_wake_file_fini(void)
{
	fput(wake_file);
	ida_destroy(&wake_ids);
}

#ifdef KMES_HAS_MM_GET_AREA
/* The only mapping is at a fixed address. */
static unsigned long fixed_area(struct file *file, unsigned long address,
				unsigned long len, unsigned long pgoff,
				unsigned long flags)
{
	return address;
}
#endif

/*
 * Gives the calling kernel thread an mm in which the file is mapped. The thread allocates
 * it by itself, as mm->owner is the task that does.
 */
int kmes_wake_file_map(void)
{
	struct mm_struct *mm = kmes_mm_alloc();
	unsigned long at;

	if (!mm)
		return -ENOMEM;
#ifdef KMES_HAS_MM_GET_AREA
	mm->get_unmapped_area = fixed_area;
#endif
	kthread_use_mm(mm);
	/* Nothing is written here, but futexes first look up their page for writing. */
	at = vm_mmap(wake_file, WAKE_BASE, WAKE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, 0);
	if (!IS_ERR_VALUE(at))
		return 0;
	kthread_unuse_mm(mm);
	mmput(mm);
	return at;
}

void kmes_wake_file_unmap(void)
{
	struct mm_struct *mm = current->mm;

	vm_munmap(WAKE_BASE, WAKE_SIZE);
	kthread_unuse_mm(mm);
	mmput(mm);
}

/* Wakes all waiters on the futex of this page, in the thread that mapped the file. */
void kmes_wake_page_wake(u32 id)
{
	kmes_futex_wake_all(WAKE_BASE + ((unsigned long)id << PAGE_SHIFT) + WAKE_WORD);
}
