// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_heal.c - releases consumers that mistook a replaced ring for the current one.
 *
 * A consumer detects a replacement by a generation that differs from the first one it
 * loaded. If the ring is replaced after attaching but before that first load, the
 * consumer has already loaded the new generation and would wait on the dead ring
 * forever. So the generation of a dead ring is incremented again, and its sleepers are
 * woken, as long as it is mapped: after one second, then at intervals that double up to
 * 64 seconds, because a consumer may have been stopped between mapping the ring and
 * loading the generation. See doc/protocol.md, Replacement, Healing.
 *
 * A pending step holds a reference to the buffer. The last unmapping cancels it, so
 * that a dead ring's memory is freed with its last descriptor or mapping.
 */
#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "kmes_module.h"

#define FIRST_SECONDS 1
#define MAX_SECONDS 64

static struct workqueue_struct *heal_queue;

/* The buffer's lock is held, and the buffer cannot go away. */
static void queue_step(struct kmes_buffer *b, unsigned int seconds)
{
	b->heal_seconds = seconds;
	if (queue_delayed_work(heal_queue, &b->heal, seconds * HZ))
		kmes_buffer_get(b);
}

static void step(struct kmes_buffer *b)
{
	unsigned long flags;

	local_irq_save(flags);
	if (kmes_ring_retire_again(&b->w))
		kmes_wake(b);
	local_irq_restore(flags);
}

static void heal(struct work_struct *work)
{
	struct kmes_buffer *b =
		container_of(to_delayed_work(work), struct kmes_buffer, heal);

	step(b);
	spin_lock(&b->lock);
	if (b->mappings)
		queue_step(b, min(2 * b->heal_seconds, (unsigned int)MAX_SECONDS));
	spin_unlock(&b->lock);
	kmes_buffer_put(b);
}

void kmes_heal_init_buffer(struct kmes_buffer *b)
{
	INIT_DELAYED_WORK(&b->heal, heal);
}

/* The buffer has been replaced; the caller has a reference. */
void kmes_heal_replaced(struct kmes_buffer *b)
{
	spin_lock(&b->lock);
	b->replaced = true;
	if (b->mappings)
		queue_step(b, FIRST_SECONDS);
	spin_unlock(&b->lock);
}

/* Called for the first mapping, with the buffer's lock held. */
void kmes_heal_mapped(struct kmes_buffer *b)
{
	if (b->replaced)
		queue_step(b, FIRST_SECONDS);
}

/* Called for the last unmapping, with the buffer's lock and a reference held. */
void kmes_heal_unmapped(struct kmes_buffer *b)
{
	if (cancel_delayed_work(&b->heal))
		kmes_buffer_put(b);
}

int kmes_heal_init(void)
{
	heal_queue = alloc_workqueue("kmes_heal", WQ_UNBOUND, 0);
	return heal_queue ? 0 : -ENOMEM;
}

/* Nothing is mapped, so no step is pending; one may still be finishing. */
void kmes_heal_fini(void)
{
	destroy_workqueue(heal_queue);
}
