// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_stage.c - the kernel's own copies of a batch's texts, until they are written.
 *
 * A batch may hold a gigabyte while the ring takes some megabytes, so the oldest copies
 * go as soon as newer ones of the same batch would overwrite them anyway. Copies stand in
 * chunks, several events to one, and go chunk by chunk.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kmes.h"

#define CHUNK_MAX 65536u

struct chunk {
	struct list_head list;
	u32 end; /* the first record that is not in here */
	u32 size, used;
	u8 bytes[];
};

/* For `count` events, meant for a ring of `capacity` bytes. */
int kmes_stage_init(struct kmes_stage *st, u32 count, u64 capacity)
{
	INIT_LIST_HEAD(&st->chunks);
	st->count = 0;
	st->gone = 0;
	st->capacity = capacity;
	st->live = 0;
	st->records = kvmalloc_array(count, sizeof(*st->records), GFP_KERNEL_ACCOUNT);
	return st->records ? 0 : -ENOMEM;
}

static void free_chunk(struct chunk *c)
{
	list_del(&c->list);
	kvfree(c);
}

void kmes_stage_fini(struct kmes_stage *st)
{
	struct chunk *c, *next;

	list_for_each_entry_safe(c, next, &st->chunks, list)
		free_chunk(c);
	kvfree(st->records);
}

static struct chunk *new_chunk(struct kmes_stage *st, u32 size)
{
	struct chunk *c = kvmalloc(sizeof(*c) + size, GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->size = size;
	c->used = 0;
	list_add_tail(&c->list, &st->chunks);
	return c;
}

/* Room for `len` bytes, in the newest chunk or in a new one for what is expected. */
static struct chunk *chunk_with_room(struct kmes_stage *st, u32 len, u64 expected)
{
	struct chunk *c = list_last_entry(&st->chunks, struct chunk, list);

	if (!list_empty(&st->chunks) && c->size - c->used >= len)
		return c;
	return new_chunk(st, max_t(u64, len, min_t(u64, expected, CHUNK_MAX)));
}

/*
 * Copies one event's texts in and makes a record of them; lengths have been checked.
 * `expected` is how many bytes of text may still come, this event's included. -ENOMEM,
 * -EFAULT.
 */
int kmes_stage_add(struct kmes_stage *st, u64 type, u16 type_len, u64 payload,
		   u32 payload_len, u64 expected)
{
	struct kmes_record *r = &st->records[st->count];
	struct chunk *c = chunk_with_room(st, type_len + payload_len, expected);
	u8 *at;

	if (!c)
		return -ENOMEM;
	at = c->bytes + c->used;
	if (copy_from_user(at, u64_to_user_ptr(type), type_len) ||
	    copy_from_user(at + type_len, u64_to_user_ptr(payload), payload_len))
		return -EFAULT;
	r->type = at;
	r->type_len = type_len;
	r->payload = at + type_len;
	r->payload_len = payload_len;
	c->used += type_len + payload_len;
	c->end = ++st->count;
	st->live += kmes_record_size(type_len, payload_len);
	return 0;
}

/* Frees the oldest chunks whose events cannot survive their own batch. */
void kmes_stage_expire(struct kmes_stage *st)
{
	struct chunk *c, *next;

	list_for_each_entry_safe(c, next, &st->chunks, list) {
		u64 bytes = 0;
		u32 i;

		for (i = st->gone; i < c->end; i++)
			bytes += kmes_record_size(st->records[i].type_len,
						  st->records[i].payload_len);
		if (c->end == st->count || st->live - bytes < st->capacity)
			return;
		st->gone = c->end;
		st->live -= bytes;
		free_chunk(c);
	}
}
