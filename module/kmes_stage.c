// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_stage.c - copies types and payloads from user space before they are written.
 *
 * User memory cannot be accessed while a ring is being written, and checked bytes must
 * not change. So everything is first copied to an area that is allocated in one step. A
 * batch may be larger than the ring; the area is then used as a ring itself, and newer
 * events overwrite those that would not survive in the ring anyway.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "kmes_module.h"

/* Up to this size, kmalloc() is tried first. */
#define BLOCK_MAX 65536

/*
 * The size of the area for these entries. Of a batch larger than the ring, the newest
 * events that fill the ring must not be overwritten in the area. An entry being copied
 * overwrites at most as many bytes as the largest one has, and fewer than that remain
 * unused at the end of the area when it wraps.
 */
static size_t area_size(const struct kmes_batch_entry *entries, u32 count, u64 capacity)
{
	size_t sum = 0, largest = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		size_t len = entries[i].event_type_len + entries[i].payload_len;

		sum += len;
		largest = max(largest, len);
	}
	return min_t(size_t, sum, capacity + 2 * largest);
}

static int alloc_pages_of(struct kmes_stage *st, unsigned long count)
{
	st->pages = kmes_kvmalloc(count * sizeof(*st->pages), KMES_STAGE_GFP);
	if (!st->pages)
		return -ENOMEM;
	for (; st->page_count < count; st->page_count++) {
		struct page *page = alloc_page(KMES_STAGE_GFP);

		if (!page)
			return -ENOMEM;
		st->pages[st->page_count] = page;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Single pages: large blocks are scarce, and come in powers of two only. */
static int map_pages(struct kmes_stage *st, size_t size)
{
	int err = kmes_buffer_check_memory(size, 1);

	if (!err)
		err = alloc_pages_of(st, size >> PAGE_SHIFT);
	if (err)
		return err;
	st->bytes = kmes_vmap(st->pages, st->page_count);
	return st->bytes ? 0 : -ENOMEM;
}

static void free_pages_of(struct kmes_stage *st)
{
	vunmap(st->bytes);
	while (st->page_count) {
		__free_page(st->pages[--st->page_count]);
		cond_resched();
	}
	kvfree(st->pages);
}

/* Charges the size actually allocated to the process's account if more than a page. */
static int alloc_area(struct kmes_stage *st)
{
	size_t size = PAGE_ALIGN(st->size);
	int err;

	if (size > PAGE_SIZE) {
		if (size <= BLOCK_MAX)
			size = PAGE_SIZE << get_order(size);
		err = kmes_share_take(size, st->capacity);
		if (err)
			return err;
		st->share = size;
	}
	if (size <= BLOCK_MAX)
		st->bytes = kmalloc(st->size, KMES_STAGE_GFP);
	return st->bytes ? 0 : map_pages(st, PAGE_ALIGN(st->size));
}

/* Prepares an area large enough for these entries. */
static int reserve(struct kmes_stage *st, const struct kmes_batch_entry *entries,
		   u32 count)
{
	st->used = 0;
	st->wrapped = false;
	st->share = 0;
	st->pages = NULL;
	st->page_count = 0;
	st->size = area_size(entries, count, st->capacity);
	st->bytes = st->small;
	if (likely(st->size <= sizeof(st->small)))
		return 0;
	st->bytes = NULL;
	return alloc_area(st);
}

/* Copies type and payload to `at`, in one step if they are adjacent in user memory. */
static bool copy_from_entry(u8 *at, const struct kmes_batch_entry *e)
{
	if (e->payload == e->event_type + e->event_type_len)
		return !copy_from_user(at, u64_to_user_ptr(e->event_type),
				       e->event_type_len + e->payload_len);
	return !copy_from_user(at, u64_to_user_ptr(e->event_type), e->event_type_len) &&
	       !copy_from_user(at + e->event_type_len, u64_to_user_ptr(e->payload),
			       e->payload_len);
}

/* Copies an entry's bytes after the others and makes a record of them. */
static int copy_entry(struct kmes_stage *st, const struct kmes_batch_entry *e,
		      struct kmes_record *r)
{
	size_t len = e->event_type_len + e->payload_len;
	u8 *at;

	if (len > st->size - st->used) {
		st->used = 0;
		st->wrapped = true;
	}
	at = st->bytes + st->used;
	if (!copy_from_entry(at, e))
		return -EFAULT;
	st->used += len;
	r->type = at;
	r->type_len = e->event_type_len;
	r->payload = at + e->event_type_len;
	r->payload_len = e->payload_len;
	return 0;
}

/*
 * Copies and checks entries up to the first invalid one; their lengths have been checked.
 * The caller sets the limits and the capacity in `st`, provides `records`, and always
 * calls kmes_stage_fini() afterwards. st->count is the number of complete records. May
 * sleep. Returns 0, or why it stopped: -EFAULT, -EINVAL, -ENOMEM, -EINTR.
 */
int kmes_stage(struct kmes_stage *st, const struct kmes_batch_entry *entries,
	       struct kmes_record *records, u32 count)
{
	struct kmes_mp_scratch scratch __uninitialized;
	int err;

	st->count = 0;
	err = reserve(st, entries, count);
	while (!err && st->count < count) {
		struct kmes_record *r = &records[st->count];

		err = copy_entry(st, &entries[st->count], r);
		if (!err)
			err = kmes_emit_check_content(&st->limits, r, &scratch);
		if (err || ++st->count == count)
			break;
		cond_resched();
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	return err;
}

void kmes_stage_free(struct kmes_stage *st)
{
	if (st->pages)
		free_pages_of(st);
	else
		kfree(st->bytes);
	if (st->share)
		kmes_share_give_back(st->share);
}
