// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_buffer.c - the memory of a ring: pages on its CPU's node, mapped for the writer.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "kmes_module.h"

/* A failed allocation is reported as an error and never invokes the OOM killer. */
#define KMES_GFP (GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Pages used for one buffer's page array, page tables and marks, rounded up. */
static unsigned long overhead_pages(unsigned long page_count)
{
	unsigned long marks = kmes_ring_mark_count((u64)page_count << PAGE_SHIFT);

	return 2 * (2 * page_count * sizeof(struct page *) / PAGE_SIZE + 2) +
	       PFN_UP(marks * sizeof(struct kmes_mark));
}

/*
 * Whether to try to allocate `count` more rings: -ENOMEM if they need more memory than is
 * available, so that the attempt does not cause a shortage for others.
 */
int kmes_buffer_check_memory(u64 capacity, unsigned int count)
{
	unsigned long pages = capacity >> PAGE_SHIFT;
	unsigned long wanted = (pages + overhead_pages(pages)) * count;
	long available = si_mem_available();

	return available < 0 || wanted > (unsigned long)available ? -ENOMEM : 0;
}

/*
 * kvmalloc() and vmap() for allocations that must not invoke the OOM killer. Page tables
 * are allocated with GFP_KERNEL regardless of the caller's flags; within a GFP_NOFS scope
 * the OOM killer is not invoked for them either.
 */
void *kmes_kvmalloc(size_t size, gfp_t gfp)
{
	unsigned int scope = memalloc_nofs_save();
	void *p = kvmalloc(size, gfp);

	memalloc_nofs_restore(scope);
	return p;
}

void *kmes_vmap(struct page **pages, unsigned long count)
{
	unsigned int scope = memalloc_nofs_save();
	void *p = vmap(pages, count, VM_MAP, PAGE_KERNEL);

	memalloc_nofs_restore(scope);
	return p;
}

static struct page *new_page(int node)
{
	return alloc_pages_node(node, KMES_GFP | __GFP_ZERO, 0);
}

/* Allocates the data pages, zeroed; -EINTR if the caller is being killed. */
static int alloc_data_pages(struct kmes_buffer *b, unsigned long count, int node)
{
	unsigned long i;

	b->pages = kmes_kvmalloc(2 * count * sizeof(*b->pages), KMES_GFP);
	if (!b->pages)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		struct page *page = new_page(node);

		if (!page)
			return -ENOMEM;
		b->pages[i] = page;
		b->pages[i + count] = page;
		b->page_count++;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Maps the data twice in a row, so that no write has to handle a wrap. */
static void *map_data(struct kmes_buffer *b)
{
	/* Allocating page tables never fails but waits for memory: check before. */
	if (si_mem_available() < (long)overhead_pages(b->page_count))
		return NULL;
	return kmes_vmap(b->pages, 2 * b->page_count);
}

static void free_pages_of(struct kmes_buffer *b)
{
	unsigned long i;

	for (i = 0; i < b->page_count; i++) {
		__free_page(b->pages[i]);
		cond_resched();
	}
	kvfree(b->pages);
	if (b->consumer_page)
		__free_page(b->consumer_page);
	if (b->producer_page)
		kmes_wake_page_free(b->producer_page, b->wake_id);
}

static void free_buffer(struct kmes_buffer *b)
{
	vunmap(b->w.data);
	kvfree(b->w.marks);
	free_pages_of(b);
	/* Counters may still be being read. */
	kfree_rcu(b, rcu);
}

static int alloc_parts(struct kmes_buffer *b, unsigned int cpu, u64 capacity)
{
	int node = cpu_to_node(cpu);
	int err = alloc_data_pages(b, capacity >> PAGE_SHIFT, node);

	if (err)
		return err;
	b->consumer_page = new_page(node);
	if (!b->consumer_page)
		return -ENOMEM;
	b->producer_page = kmes_wake_page_new(node, &b->wake_id);
	if (IS_ERR(b->producer_page)) {
		err = PTR_ERR(b->producer_page);
		b->producer_page = NULL;
		return err;
	}
	b->w.marks = kmes_kvmalloc(kmes_ring_mark_count(capacity) * sizeof(*b->w.marks),
				   KMES_GFP | __GFP_ZERO);
	if (!b->w.marks)
		return -ENOMEM;
	b->w.data = map_data(b);
	return b->w.data ? 0 : -ENOMEM;
}

/*
 * An empty ring for a CPU, with one reference, or an error pointer. May sleep. The caller
 * calls kmes_heal_init_buffer() before it lets others use the buffer.
 */
struct kmes_buffer *kmes_buffer_new(unsigned int cpu, u64 capacity, u64 generation)
{
	struct kmes_buffer *b = kzalloc_node(sizeof(*b), KMES_GFP, cpu_to_node(cpu));
	int err;

	if (!b)
		return ERR_PTR(-ENOMEM);
	kref_init(&b->ref);
	spin_lock_init(&b->lock);
	err = alloc_parts(b, cpu, capacity);
	if (err) {
		free_buffer(b);
		return ERR_PTR(err);
	}
	kmes_ring_init(&b->w, page_address(b->producer_page),
		       page_address(b->consumer_page), b->w.data, b->w.marks, capacity,
		       cpu, generation);
	return b;
}

static void release(struct kref *ref)
{
	free_buffer(container_of(ref, struct kmes_buffer, ref));
}

/* Drops a reference; the last one frees the buffer, which may sleep. */
void kmes_buffer_put(struct kmes_buffer *b)
{
	if (b)
		kref_put(&b->ref, release);
}

/* The page at this page offset of the mapping, or NULL. */
struct page *kmes_buffer_page(const struct kmes_buffer *b, unsigned long index)
{
	if (index == 0)
		return b->producer_page;
	if (index == 1)
		return b->consumer_page;
	return index - 2 < 2 * b->page_count ? b->pages[index - 2] : NULL;
}
