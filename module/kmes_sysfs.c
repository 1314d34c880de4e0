// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_sysfs.c - /sys/kernel/kmes: the values, the stream's id, each CPU's counters. */
#include <linux/random.h>
#include <linux/sysfs.h>

#include "kmes.h"

static struct kobject *root;
static u8 stream_id[16];

struct value_attribute {
	struct kobj_attribute attr;
	enum kmes_setting_id id;
};

#define to_value(a) container_of(a, struct value_attribute, attr)

static ssize_t value_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", kmes_config_get(to_value(attr)->id));
}

static ssize_t value_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	int err = kmes_config_set(to_value(attr)->id, buf, count);

	return err ? err : count;
}

#define VALUE(name, which)                                                               \
	static struct value_attribute value_##name = {                                   \
		.attr = __ATTR(name, 0644, value_show, value_store),                     \
		.id = which,                                                             \
	}

VALUE(buffer_capacity, KMES_SET_CAPACITY);
VALUE(max_event_size, KMES_SET_EVENT_SIZE);
VALUE(max_nesting_depth, KMES_SET_DEPTH);
VALUE(max_emit_rate_per_process, KMES_SET_RATE);
VALUE(process_events, KMES_SET_PROCESS);

static ssize_t stream_id_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%pUb\n", stream_id);
}

static ssize_t longest_swap_ns_show(struct kobject *kobj, struct kobj_attribute *attr,
				    char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(kmes_slots_swap_ns));
}

static struct kobj_attribute stream_id_attr = __ATTR_RO(stream_id);
static struct kobj_attribute longest_swap_ns_attr = __ATTR_RO(longest_swap_ns);

static const struct attribute *const root_attrs[] = {
	&value_buffer_capacity.attr.attr,   &value_max_event_size.attr.attr,
	&value_max_nesting_depth.attr.attr, &value_max_emit_rate_per_process.attr.attr,
	&value_process_events.attr.attr,    &stream_id_attr.attr,
	&longest_swap_ns_attr.attr,	    NULL,
};

/* A CPU's counter: a u64 of the ring's writer, which goes on over replacements. */
struct counter_attribute {
	struct attribute attr;
	size_t offset;
};

#define COUNTER(title, member)                                                           \
	static struct counter_attribute counter_##title = {                              \
		.attr = { .name = #title, .mode = 0444 },                                \
		.offset = offsetof(struct kmes_ring_writer, member),                     \
	}

COUNTER(generation, generation);
COUNTER(capacity, capacity);
COUNTER(emitted_events, counts.emitted_events);
COUNTER(emitted_bytes, counts.emitted_bytes);
COUNTER(overwritten_events, counts.overwritten_events);
COUNTER(dropped_events, counts.dropped_events);
COUNTER(corrupt_resyncs, counts.corrupt_resyncs);
COUNTER(wakes, counts.wakes);

static struct attribute *counter_attrs[] = {
	&counter_generation.attr,
	&counter_capacity.attr,
	&counter_emitted_events.attr,
	&counter_emitted_bytes.attr,
	&counter_overwritten_events.attr,
	&counter_dropped_events.attr,
	&counter_corrupt_resyncs.attr,
	&counter_wakes.attr,
	NULL,
};
ATTRIBUTE_GROUPS(counter);

static ssize_t counter_show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct kmes_slot *slot = container_of(kobj, struct kmes_slot, kobj);
	size_t offset = container_of(attr, struct counter_attribute, attr)->offset;
	const void *writer;
	u64 value;

	rcu_read_lock();
	writer = &rcu_dereference(slot->buffer)->w;
	value = READ_ONCE(*(const u64 *)(writer + offset));
	rcu_read_unlock();
	return sysfs_emit(buf, "%llu\n", value);
}

static const struct sysfs_ops counter_ops = { .show = counter_show };

/* The slots stay until the module goes, which takes the directories down first. */
static void slot_release(struct kobject *kobj)
{
}

static const struct kobj_type slot_type = {
	.sysfs_ops = &counter_ops,
	.default_groups = counter_groups,
	.release = slot_release,
};

static void remove_slots(unsigned int end)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (cpu < end)
			kobject_put(&kmes_slots[cpu]->kobj);
}

static int add_slots(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		int err = kobject_init_and_add(&kmes_slots[cpu]->kobj, &slot_type, root,
					       "cpu%u", cpu);

		if (err) {
			remove_slots(cpu + 1);
			return err;
		}
	}
	return 0;
}

int kmes_sysfs_init(void)
{
	int err;

	get_random_bytes(stream_id, sizeof(stream_id));
	root = kobject_create_and_add("kmes", kernel_kobj);
	if (!root)
		return -ENOMEM;
	err = sysfs_create_files(root, root_attrs);
	if (!err)
		err = add_slots();
	if (err)
		kobject_put(root);
	return err;
}

void kmes_sysfs_fini(void)
{
	remove_slots(nr_cpu_ids);
	kobject_put(root);
}
