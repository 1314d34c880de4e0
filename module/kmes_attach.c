// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_attach.c - a ring's descriptor, which can only be mapped and closed.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include "kmes_module.h"

/*
 * The mapping. Every page is first mapped read-only. A store then calls page_mkwrite,
 * which allows it for the consumer page only, whatever the flags of the mapping. The core
 * also calls it for stores by ptrace, /proc/PID/mem and system calls.
 */

/*
 * Inserts the page instead of returning it: a producer page may be part of a huge page of
 * the wake file, and the core would map all of that.
 */
static vm_fault_t ring_fault(struct vm_fault *vmf)
{
	struct kmes_buffer *b = vmf->vma->vm_private_data;
	struct page *page = kmes_buffer_page(b, vmf->pgoff);

	if (!page)
		return VM_FAULT_SIGBUS;
	return vmf_insert_page(vmf->vma, vmf->address, page);
}

static vm_fault_t ring_mkwrite(struct vm_fault *vmf)
{
	if (vmf->pgoff != KMES_CONSUMER_OFFSET >> PAGE_SHIFT)
		return VM_FAULT_SIGSEGV;
	/* The core takes an unlocked page without a file for a truncated one. */
	lock_page(vmf->page);
	return VM_FAULT_LOCKED;
}

static vm_fault_t ring_pfn_mkwrite(struct vm_fault *vmf)
{
	return VM_FAULT_SIGSEGV;
}

/* Also called by fork, and by an mremap that is about to fail, then with a close. */
static void ring_open(struct vm_area_struct *vma)
{
	struct kmes_buffer *b = vma->vm_private_data;

	spin_lock(&b->lock);
	if (!b->mappings++)
		kmes_heal_mapped(b);
	spin_unlock(&b->lock);
}

static void ring_close(struct vm_area_struct *vma)
{
	struct kmes_buffer *b = vma->vm_private_data;
	struct kmes_consumer_page *page = page_address(b->consumer_page);

	/* A consumer killed in its sleep would cost the writer a wake per event. */
	spin_lock(&b->lock);
	if (!--b->mappings) {
		kmes_store_relaxed(&page->need_wake, 0);
		kmes_heal_unmapped(b);
	}
	spin_unlock(&b->lock);
}

static int ring_refuse_split(struct vm_area_struct *vma, unsigned long address)
{
	return -EINVAL;
}

static int ring_refuse_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct ring_vm_ops = {
	.open = ring_open,
	.close = ring_close,
	.may_split = ring_refuse_split,
	.mremap = ring_refuse_mremap,
	.fault = ring_fault,
	.page_mkwrite = ring_mkwrite,
	.pfn_mkwrite = ring_pfn_mkwrite,
};

static void set_flags(struct vm_area_struct *vma)
{
	const unsigned long flags = VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP;

#ifdef KMES_HAS_VM_FLAGS_SET
	vm_flags_set(vma, flags);
	vm_flags_clear(vma, VM_MAYEXEC);
#else
	vma->vm_flags |= flags;
	vma->vm_flags &= ~VM_MAYEXEC;
#endif
}

static int ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kmes_buffer *b = file->private_data;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC || vma->vm_pgoff ||
	    vma->vm_end - vma->vm_start != KMES_MAPPING_SIZE(b->w.capacity))
		return -EINVAL;
	vma->vm_private_data = b;
	vma->vm_ops = &ring_vm_ops;
	set_flags(vma);
	ring_open(vma);
	return 0;
}

static int ring_release(struct inode *inode, struct file *file)
{
	kmes_buffer_put(file->private_data);
	return 0;
}

static const struct file_operations ring_fops = {
	.owner = THIS_MODULE,
	.mmap = ring_mmap,
	.release = ring_release,
};

/* A file for the buffer; takes over the caller's reference, even on failure. */
static struct file *ring_file(struct kmes_buffer *b)
{
	struct file *file;
	char name[24];

	snprintf(name, sizeof(name), "[kmes-cpu%u]", b->w.cpu_id);
	file = anon_inode_getfile(name, &ring_fops, b, O_RDWR | O_CLOEXEC);
	if (IS_ERR(file))
		kmes_buffer_put(b);
	return file;
}

static int put_user_u64(u64 value, u64 pointer)
{
	return put_user(value, (u64 __user *)u64_to_user_ptr(pointer));
}

/* The descriptor is installed only after all results have been stored. */
static long attach_buffer(struct kmes_buffer *b, const struct kmes_ioc_attach *call)
{
	u64 generation = b->w.generation;
	u64 capacity = b->w.capacity;
	struct file *file = ring_file(b);
	int fd;

	if (IS_ERR(file))
		return PTR_ERR(file);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		fput(file);
		return fd;
	}
	if (put_user_u64(capacity, call->capacity_ptr) ||
	    (call->generation_ptr && put_user_u64(generation, call->generation_ptr))) {
		put_unused_fd(fd);
		fput(file);
		return -EFAULT;
	}
	fd_install(fd, file);
	return fd;
}

long kmes_attach(const struct kmes_subject *s, const struct kmes_ioc_attach *call)
{
	struct kmes_buffer *b;

	if (!kmes_subject_has(s, CAP_AUDIT_READ))
		return -EPERM;
	if (call->reserved)
		return -EINVAL;
	if (call->cpu == KMES_ATTACH_QUERY_SLOTS)
		return put_user_u64(nr_cpu_ids, call->capacity_ptr);
	b = kmes_slot_get_buffer(call->cpu);
	if (!b)
		return -EINVAL;
	return attach_buffer(b, call);
}
