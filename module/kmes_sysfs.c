// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes_sysfs.c - /sys/kernel/kmes: configuration, stream id, and counters per CPU. */
#include <linux/random.h>
#include <linux/sysfs.h>

#include "kmes_module.h"

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

/* A CPU's counter: a u64 in the writer of its current ring. */
struct counter_attribute {
	struct kobj_attribute attr;
	size_t offset;
};

/* The directory is named for the CPU. */
static ssize_t counter_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct counter_attribute, attr)->offset;
	const void *writer;
	unsigned int cpu;
	u64 value;

	if (sscanf(kobject_name(kobj), "cpu%u", &cpu) != 1)
		return -EIO;
	rcu_read_lock();
	writer = &rcu_dereference(kmes_slots[cpu]->buffer)->w;
	value = READ_ONCE(*(const u64 *)(writer + offset));
	rcu_read_unlock();
	return sysfs_emit(buf, "%llu\n", value);
}

#define COUNTER(title, member)                                                           \
	static struct counter_attribute counter_##title = {                              \
		.attr = __ATTR(title, 0444, counter_show, NULL),                         \
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
	&counter_generation.attr.attr,
	&counter_capacity.attr.attr,
	&counter_emitted_events.attr.attr,
	&counter_emitted_bytes.attr.attr,
	&counter_overwritten_events.attr.attr,
	&counter_dropped_events.attr.attr,
	&counter_corrupt_resyncs.attr.attr,
	&counter_wakes.attr.attr,
	NULL,
};

static const struct attribute_group counter_group = { .attrs = counter_attrs };

/* Removes it from sysfs now: the core may delay the release. */
static void remove(struct kobject *kobj)
{
	kobject_del(kobj);
	kobject_put(kobj);
}

static int add_slot(struct kmes_slot *slot)
{
	char name[16];

	snprintf(name, sizeof(name), "cpu%u", slot->cpu);
	slot->kobj = kobject_create_and_add(name, root);
	return slot->kobj ? sysfs_create_group(slot->kobj, &counter_group) : -ENOMEM;
}

int kmes_sysfs_init(void)
{
	unsigned int cpu;
	int err;

	get_random_bytes(stream_id, sizeof(stream_id));
	root = kobject_create_and_add("kmes", kernel_kobj);
	if (!root)
		return -ENOMEM;
	err = sysfs_create_files(root, root_attrs);
	for_each_possible_cpu(cpu)
		if (!err)
			err = add_slot(kmes_slots[cpu]);
	if (err)
		kmes_sysfs_fini();
	return err;
}

void kmes_sysfs_fini(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		remove(kmes_slots[cpu]->kobj);
	remove(root);
}
