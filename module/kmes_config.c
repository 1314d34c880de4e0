// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_config.c - the configuration: module parameters at load time, sysfs afterwards.
 *
 * An invalid value is rejected, never clamped. Every change and every rejection emits an
 * event. Readers load single values without a lock.
 */
#include <linux/capability.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "kmes_module.h"
#include "kmes_self.h"

static int apply_capacity(u64 old, u64 value);
static int apply_rate(u64 old, u64 value);
static int apply_process(u64 old, u64 value);

struct setting {
	const char *name; /* as in the events */
	u64 min, max;
	bool power_of_two;
	int (*apply)(u64 old, u64 value); /* NULL: only the value changes */
};

static struct setting settings[KMES_SETTINGS] = {
	[KMES_SET_CAPACITY] = {
		.name = KMES_SELF_CAPACITY,
		.min = KMES_CAPACITY_MIN,
		.max = KMES_CAPACITY_MAX,
		.power_of_two = true,
		.apply = apply_capacity,
	},
	[KMES_SET_EVENT_SIZE] = {
		.name = KMES_SELF_EVENT_SIZE,
		.min = KMES_EVENT_SIZE_MIN,
		.max = KMES_EVENT_SIZE_MAX,
	},
	[KMES_SET_DEPTH] = {
		.name = KMES_SELF_DEPTH,
		.min = KMES_DEPTH_MIN,
		.max = KMES_DEPTH_MAX,
	},
	[KMES_SET_RATE] = {
		.name = KMES_SELF_RATE,
		.min = KMES_RATE_MIN,
		.max = KMES_RATE_MAX,
		.apply = apply_rate,
	},
	[KMES_SET_PROCESS] = {
		.name = "ProcessEvents",
		.max = 1,
		.apply = apply_process,
	},
};

u64 kmes_config_values[KMES_SETTINGS] = {
	[KMES_SET_CAPACITY] = KMES_CAPACITY_DEFAULT,
	[KMES_SET_EVENT_SIZE] = KMES_EVENT_SIZE_DEFAULT,
	[KMES_SET_DEPTH] = KMES_DEPTH_DEFAULT,
	[KMES_SET_RATE] = KMES_RATE_DEFAULT,
};

static u64 *value_of(const struct setting *set)
{
	return &kmes_config_values[set - settings];
}

/* Strings: an invalid one is reported once there are rings and does not fail the load. */
static char *parameters[KMES_SETTINGS];

module_param_named(buffer_capacity, parameters[KMES_SET_CAPACITY], charp, 0);
MODULE_PARM_DESC(buffer_capacity, "bytes of data in each CPU's ring, a power of two");
module_param_named(max_event_size, parameters[KMES_SET_EVENT_SIZE], charp, 0);
MODULE_PARM_DESC(max_event_size, "size in bytes of the largest event a process may emit");
module_param_named(max_nesting_depth, parameters[KMES_SET_DEPTH], charp, 0);
MODULE_PARM_DESC(max_nesting_depth, "nesting depth of the payload a process may emit");
module_param_named(max_emit_rate_per_process, parameters[KMES_SET_RATE], charp, 0);
MODULE_PARM_DESC(max_emit_rate_per_process, "events per second");
module_param_named(process_events, parameters[KMES_SET_PROCESS], charp, 0);
MODULE_PARM_DESC(process_events, "1: emit events for fork, exec and exit of processes");

/* Serializes changes. */
static DEFINE_MUTEX(config_lock);

static int apply_rate(u64 old, u64 value)
{
	kmes_rate_set(value);
	return 0;
}

static int apply_process(u64 old, u64 value)
{
	return kmes_process_set(value);
}

static int apply_capacity(u64 old, u64 value)
{
	u8 buf[KMES_SELF_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));
	int err = kmes_slots_replace(value);

	if (!err)
		return 0;
	kmes_self_swap_failed(&p, value, old, err);
	kmes_emit_pack(KMES_ORIGIN_KMES, KMES_SELF_SWAP_FAILED, &p);
	return err;
}

static void send_applied(const struct setting *set)
{
	u8 buf[KMES_SELF_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	kmes_self_applied(&p, set->name, *value_of(set),
			  kmes_config_get(KMES_SET_CAPACITY));
	kmes_emit_pack(KMES_ORIGIN_KMES, KMES_SELF_APPLIED, &p);
}

/* A requested value, parsed once. */
struct request {
	const char *text;
	size_t len;
	u64 value;
	bool is_number; /* only decimal digits */
	bool fits;	/* into value */
};

/* The text is NUL-terminated and may have a newline before the NUL. */
static struct request read_request(const char *text, size_t len)
{
	struct request r = { .text = text, .len = len };

	if (len && text[len - 1] == '\n')
		r.len--;
	r.is_number = r.len && strspn(text, "0123456789") == r.len;
	r.fits = r.is_number && !kstrtoull(text, 10, &r.value);
	return r;
}

/* 0, or why it is rejected: -EINVAL, -ERANGE. */
static int check_request(const struct setting *set, const struct request *r)
{
	if (!r->is_number)
		return -EINVAL;
	if (!r->fits || r->value < set->min || r->value > set->max ||
	    (set->power_of_two && !is_power_of_2(r->value)))
		return -ERANGE;
	return 0;
}

static void send_rejected(const struct setting *set, const struct request *r)
{
	u8 buf[KMES_SELF_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));
	struct kmes_self_value v = {
		.name = set->name,
		.min = set->min,
		.max = set->max,
		.current_value = READ_ONCE(*value_of(set)),
	};
	u32 len = min_t(size_t, r->len, KMES_SELF_TEXT);

	if (!r->is_number) {
		kmes_self_wrong_type(&p, &v, r->text, len);
	} else if (r->fits) {
		kmes_self_out_of_range(&p, &v, r->value);
	} else {
		kmes_self_rejected_head(&p, &v, "out-of-range");
		kmes_pack_str(&p, r->text, len);
		kmes_self_rejected_tail(&p, &v);
	}
	kmes_emit_pack(KMES_ORIGIN_KMES, KMES_SELF_REJECTED, &p);
}

/* The lock is held. */
static int change(struct setting *set, u64 value)
{
	u64 old = *value_of(set);
	int err = 0;

	if (value == old)
		return 0;
	if (set->apply)
		err = set->apply(old, value);
	if (err)
		return err;
	WRITE_ONCE(*value_of(set), value);
	send_applied(set);
	return 0;
}

/*
 * Sets a value from text: 0, -EPERM, -EINVAL, -ERANGE, checked in this order; -ENOMEM if
 * there is no memory for new rings. Restarted after a signal: nothing has been done yet.
 */
int kmes_config_set(enum kmes_setting_id id, const char *text, size_t len)
{
	struct setting *set = &settings[id];
	struct request r;
	int err;

	if (!capable(CAP_AUDIT_CONTROL))
		return -EPERM;
	r = read_request(text, len);
	err = check_request(set, &r);
	if (err) {
		send_rejected(set, &r);
		return err;
	}
	if (mutex_lock_interruptible(&config_lock))
		return -ERESTARTSYS;
	err = change(set, r.value);
	mutex_unlock(&config_lock);
	return err;
}

/* Rejected module parameters; text is NULL for the others. */
static struct request rejected[KMES_SETTINGS];

/* Applies the valid parameters, before anything uses them. */
void kmes_config_init(void)
{
	enum kmes_setting_id id;

	for (id = 0; id < KMES_SETTINGS; id++) {
		struct request r;

		if (!parameters[id])
			continue;
		r = read_request(parameters[id], strlen(parameters[id]));
		if (check_request(&settings[id], &r))
			rejected[id] = r;
		else
			kmes_config_values[id] = r.value;
	}
}

/* Emits events for the invalid parameters, now that there are rings. */
void kmes_config_report(void)
{
	enum kmes_setting_id id;

	for (id = 0; id < KMES_SETTINGS; id++)
		if (rejected[id].text)
			send_rejected(&settings[id], &rejected[id]);
}
