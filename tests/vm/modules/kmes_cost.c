// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_cost.c - emits from the kernel whenever one of its parameters is read.
 *
 * `single` and `batch` read as the ticks of the time stamp counter that EVENTS events
 * took, `empty` as those of the loop without events. In a guest whose clock counts
 * instructions, ticks are instructions.
 */
#include <linux/module.h>
#include <linux/timex.h>

#include "kmes_abi.h"
#include "kmes_kernel.h"

#define EVENTS 64

static const u8 payload[64] = { 0xc4, 62 };
static struct kmes_kernel_event events[EVENTS];

static void emit_nothing(void)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		barrier_data(&events[i]);
}

static void emit_singly(void)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		kmes_emit_kernel(KMES_ORIGIN_LCS, &events[i]);
}

static void emit_batch(void)
{
	kmes_emit_kernel_batch(KMES_ORIGIN_LCS, events, EVENTS);
}

static int ticks_get(char *buf, const struct kernel_param *kp)
{
	void (*emit)(void) = kp->arg;
	cycles_t start = get_cycles();

	emit();
	return sysfs_emit(buf, "%llu\n", (u64)(get_cycles() - start));
}

static const struct kernel_param_ops ticks_ops = { .get = ticks_get };
module_param_cb(empty, &ticks_ops, emit_nothing, 0444);
module_param_cb(single, &ticks_ops, emit_singly, 0444);
module_param_cb(batch, &ticks_ops, emit_batch, 0444);

static int __init cost_init(void)
{
	unsigned int i;

	for (i = 0; i < EVENTS; i++)
		events[i] = (struct kmes_kernel_event){
			.type = "cost.event",
			.type_len = 10,
			.payload = payload,
			.payload_len = sizeof(payload),
		};
	return 0;
}

static void __exit cost_exit(void)
{
}

module_init(cost_init);
module_exit(cost_exit);
MODULE_DESCRIPTION("Counts the cost of an emission from the kernel");
MODULE_LICENSE("Dual MIT/GPL");
