// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_slot.c - a slot for each possible CPU, and the replacement of the buffers. */
#include <linux/cpu.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "kmes_module.h"

/* Try the switch when at most this is left to copy: some tens of microseconds. */
#define KMES_SWAP_REST 65536u
/* Try it anyway after copying this multiple of the old capacity. */
#define KMES_SWAP_LAPS 4
/* Attempts to keep all that fits when the writer is faster than the copying. */
#define KMES_SWAP_TRIES 8

/* Held while a slot's buffer is replaced. */
static DEFINE_MUTEX(swap_lock);

struct kmes_slot **kmes_slots;
u64 kmes_slots_swap_ns;

/* The buffer of a CPU, with a reference, or NULL if there is no such slot. */
struct kmes_buffer *kmes_slot_get_buffer(unsigned int cpu)
{
	struct kmes_buffer *b;

	if (cpu >= nr_cpu_ids)
		return NULL;
	/* `cpu` is untrusted. */
	cpu = array_index_nospec(cpu, nr_cpu_ids);
	if (!kmes_slots[cpu])
		return NULL;
	rcu_read_lock();
	do
		b = rcu_dereference(kmes_slots[cpu]->buffer);
	while (!kref_get_unless_zero(&b->ref));
	rcu_read_unlock();
	return b;
}

/* One replacement of one slot's buffer; lives on the replacer's stack. */
struct kmes_swap {
	struct kmes_slot *slot;
	struct kmes_buffer *old, *new;
	struct kmes_move move;
	u64 keep; /* bytes */
	bool done;
	void (*step)(struct kmes_swap *s);
	u64 off_ns;
};

static void swap_begin(struct kmes_swap *s)
{
	kmes_move_begin(&s->move, &s->old->w, s->new->w.capacity);
}

/*
 * The switch: from here on, events go to the new ring. The old ring's page announces it
 * only after the new one can be attached to. If too many events have been written since
 * the last copy, closes the ring to processes instead; they wait.
 */
static void swap_switch(struct kmes_swap *s)
{
	if (!kmes_move_finish(&s->move, &s->new->w, &s->old->w, s->keep)) {
		s->old->closed = true;
		return;
	}
	rcu_assign_pointer(s->slot->buffer, s->new);
	if (kmes_ring_retire(&s->old->w, &s->new->w))
		kmes_wake(s->old);
	s->done = true;
}

/* Runs on the slot's CPU with interrupts off, or for an offline CPU. */
static void swap_step(void *arg)
{
	struct kmes_swap *s = arg;
	u64 start = ktime_get_mono_fast_ns();

	s->step(s);
	s->off_ns = max(s->off_ns, ktime_get_mono_fast_ns() - start);
}

/*
 * Runs `step` so that it excludes emissions on the slot's CPU. The hotplug lock is
 * held, so an offline CPU stays offline and emits nothing.
 */
static void on_slot_cpu(struct kmes_swap *s, void (*step)(struct kmes_swap *))
{
	unsigned long flags;

	s->step = step;
	if (!smp_call_function_single(s->slot->cpu, swap_step, s, 1))
		return;
	local_irq_save(flags);
	swap_step(s);
	local_irq_restore(flags);
}

/* Copies while the writer runs, until little is left or the writer is too fast. */
static void swap_copy(struct kmes_swap *s)
{
	u64 chunks = KMES_SWAP_LAPS * (s->old->w.capacity / KMES_MOVE_CHUNK);

	while (kmes_move_step(&s->move, &s->new->w, &s->old->w) > KMES_SWAP_REST &&
	       --chunks)
		cond_resched();
}

/*
 * Processes wait once the ring is closed, so only kernel code could outrun the copying
 * repeatedly. In that case, less is kept, so that the time with interrupts off is
 * bounded.
 */
static void swap_slot(struct kmes_slot *slot, struct kmes_buffer *new)
{
	struct kmes_swap s = {
		.slot = slot,
		/* Only replacements change it, and they are serialized. */
		.old = rcu_dereference_protected(slot->buffer, 1),
		.new = new,
		.keep = new->w.capacity,
	};
	int tries = KMES_SWAP_TRIES;

	mutex_lock(&swap_lock);
	cpus_read_lock();
	on_slot_cpu(&s, swap_begin);
	while (!s.done) {
		swap_copy(&s);
		if (!tries--)
			s.keep = min_t(u64, KMES_MOVE_REST, s.keep);
		on_slot_cpu(&s, swap_switch);
	}
	cpus_read_unlock();
	mutex_unlock(&swap_lock);
	if (s.off_ns > kmes_slots_swap_ns)
		WRITE_ONCE(kmes_slots_swap_ns, s.off_ns);
	kmes_heal_replaced(s.old);
	kmes_buffer_put(s.old);
}

/*
 * Waits until a ring that was found closed has been replaced by an open one; -EINTR if
 * the process is being killed.
 */
int kmes_slots_wait(void)
{
	int err = mutex_lock_killable(&swap_lock);

	if (!err)
		mutex_unlock(&swap_lock);
	return err;
}

static void put_all(struct kmes_buffer **buffers)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		kmes_buffer_put(buffers[cpu]);
	kfree(buffers);
}

/* A new buffer for each slot: generation 1 if `first`, otherwise the slot's next. */
static struct kmes_buffer **alloc_all(u64 capacity, bool first)
{
	struct kmes_buffer **buffers;
	unsigned int cpu;

	if (kmes_buffer_check_memory(capacity, num_possible_cpus()))
		return ERR_PTR(-ENOMEM);
	buffers = kcalloc(nr_cpu_ids, sizeof(struct kmes_buffer *), GFP_KERNEL);
	if (!buffers)
		return ERR_PTR(-ENOMEM);
	for_each_possible_cpu(cpu) {
		u64 generation = 1;
		struct kmes_buffer *b;

		if (!first)
			generation +=
				rcu_dereference_protected(kmes_slots[cpu]->buffer, 1)
					->w.generation;
		b = kmes_buffer_new(cpu, capacity, generation);
		if (IS_ERR(b)) {
			put_all(buffers);
			return ERR_CAST(b);
		}
		kmes_heal_init_buffer(b);
		buffers[cpu] = b;
	}
	return buffers;
}

/*
 * Gives every slot a ring of the new capacity, or fails (-ENOMEM, -EINTR) and changes
 * nothing. The caller serializes calls.
 */
int kmes_slots_replace(u64 capacity)
{
	struct kmes_buffer **buffers = alloc_all(capacity, false);
	unsigned int cpu;

	if (IS_ERR(buffers))
		return PTR_ERR(buffers);
	for_each_possible_cpu(cpu)
		swap_slot(kmes_slots[cpu], buffers[cpu]);
	kfree(buffers);
	return 0;
}

static void free_slots(void)
{
	unsigned int cpu;

	if (kmes_slots)
		for_each_possible_cpu(cpu)
			kfree(kmes_slots[cpu]);
	kfree(kmes_slots);
	kmes_slots = NULL;
}

static int alloc_slots(void)
{
	unsigned int cpu;

	kmes_slots = kcalloc(nr_cpu_ids, sizeof(struct kmes_slot *), GFP_KERNEL);
	if (!kmes_slots)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct kmes_slot *slot =
			kzalloc_node(sizeof(*slot), GFP_KERNEL, cpu_to_node(cpu));

		if (!slot)
			return -ENOMEM;
		slot->cpu = cpu;
		kmes_slots[cpu] = slot;
	}
	return 0;
}

/* Offline CPUs get their ring here, too: the set of rings never changes. */
int kmes_slots_init(u64 capacity)
{
	struct kmes_buffer **buffers;
	unsigned int cpu;

	if (alloc_slots()) {
		free_slots();
		return -ENOMEM;
	}
	buffers = alloc_all(capacity, true);
	if (IS_ERR(buffers)) {
		free_slots();
		return PTR_ERR(buffers);
	}
	for_each_possible_cpu(cpu)
		rcu_assign_pointer(kmes_slots[cpu]->buffer, buffers[cpu]);
	kfree(buffers);
	return 0;
}

void kmes_slots_fini(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		kmes_buffer_put(rcu_dereference_protected(kmes_slots[cpu]->buffer, 1));
	free_slots();
}
