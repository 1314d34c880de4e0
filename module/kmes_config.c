// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_config.c - the values that can be set, at the load as module parameters and later
 * through sysfs.
 *
 * A value that is not acceptable is refused and never bent into its range; what became of
 * a change, or of the attempt, is an event. Readers take single values without a lock.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "kmes.h"
#include "kmes_self.h"

static int apply_capacity(u64 old, u64 value);
static int apply_rate(u64 old, u64 value);
static int apply_process(u64 old, u64 value);

struct setting {
	const char *name; /* as the events tell it */
	u64 min, max, value;
	bool power_of_two;
	int (*apply)(u64 old, u64 value); /* NULL: nothing but the value changes */
	bool refused_at_load;
};

static struct setting settings[KMES_SETTINGS] = {
	[KMES_SET_CAPACITY] = {
		.name = KMES_SELF_CAPACITY,
		.min = KMES_CAPACITY_MIN,
		.max = KMES_CAPACITY_MAX,
		.value = KMES_CAPACITY_DEFAULT,
		.power_of_two = true,
		.apply = apply_capacity,
	},
	[KMES_SET_EVENT_SIZE] = {
		.name = KMES_SELF_EVENT_SIZE,
		.min = KMES_EVENT_SIZE_MIN,
		.max = KMES_EVENT_SIZE_MAX,
		.value = KMES_EVENT_SIZE_DEFAULT,
	},
	[KMES_SET_DEPTH] = {
		.name = KMES_SELF_DEPTH,
		.min = KMES_DEPTH_MIN,
		.max = KMES_DEPTH_MAX,
		.value = KMES_DEPTH_DEFAULT,
	},
	[KMES_SET_RATE] = {
		.name = KMES_SELF_RATE,
		.min = KMES_RATE_MIN,
		.max = KMES_RATE_MAX,
		.value = KMES_RATE_DEFAULT,
		.apply = apply_rate,
	},
	[KMES_SET_PROCESS] = {
		.name = "ProcessEvents",
		.max = 1,
		.apply = apply_process,
	},
};

/* As texts: a bad one is reported when there are rings, and does not stop the load. */
static char *parameters[KMES_SETTINGS];

module_param_named(buffer_capacity, parameters[KMES_SET_CAPACITY], charp, 0);
MODULE_PARM_DESC(buffer_capacity, "bytes of each CPU's ring, a power of two");
module_param_named(max_event_size, parameters[KMES_SET_EVENT_SIZE], charp, 0);
MODULE_PARM_DESC(max_event_size, "bytes of the largest event that a process may emit");
module_param_named(max_nesting_depth, parameters[KMES_SET_DEPTH], charp, 0);
MODULE_PARM_DESC(max_nesting_depth, "levels of maps and arrays in a process's payload");
module_param_named(max_emit_rate_per_process, parameters[KMES_SET_RATE], charp, 0);
MODULE_PARM_DESC(max_emit_rate_per_process, "events a second");
module_param_named(process_events, parameters[KMES_SET_PROCESS], charp, 0);
MODULE_PARM_DESC(process_events, "1: events for fork, exec and exit of processes");

/* Changes come one after the other. */
static DEFINE_MUTEX(config_lock);

u64 kmes_config_get(enum kmes_setting_id id)
{
	return READ_ONCE(settings[id].value);
}

static int apply_rate(u64 old, u64 value)
{
	kmes_rate_set(old, value);
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

	kmes_self_applied(&p, set->name, set->value, kmes_config_get(KMES_SET_CAPACITY));
	kmes_emit_pack(KMES_ORIGIN_KMES, KMES_SELF_APPLIED, &p);
}

/* Why a text was refused: `err` is -EINVAL for no number, else -ERANGE. */
static void send_rejected(const struct setting *set, const char *text, size_t len,
			  int err)
{
	u8 buf[KMES_SELF_SIZE];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));
	struct kmes_self_value v = {
		.name = set->name,
		.min = set->min,
		.max = set->max,
		.stays = READ_ONCE(set->value),
	};
	char number[24];
	u64 value;

	len = min_t(size_t, len, KMES_SELF_TEXT);
	if (err == -EINVAL) {
		kmes_self_wrong_type(&p, &v, text, len);
	} else if (len < sizeof(number) && (memcpy(number, text, len), number[len] = '\0',
					    !kstrtoull(number, 10, &value))) {
		kmes_self_out_of_range(&p, &v, value);
	} else {
		/* A number past u64: told as it was written. */
		kmes_self_rejected_head(&p, &v, "out-of-range");
		kmes_pack_str(&p, text, len);
		kmes_self_rejected_tail(&p, &v);
	}
	kmes_emit_pack(KMES_ORIGIN_KMES, KMES_SELF_REJECTED, &p);
}

/* Decimal digits and nothing else: -EINVAL if not, -ERANGE if not acceptable. */
static int parse(const struct setting *set, const char *text, size_t len, u64 *value)
{
	u64 v = 0;
	size_t i;
	bool over = false;

	for (i = 0; i < len; i++) {
		if (!isdigit(text[i]))
			return -EINVAL;
		over |= v > (U64_MAX - 9) / 10;
		v = v * 10 + (text[i] - '0');
	}
	if (!len)
		return -EINVAL;
	if (over || v < set->min || v > set->max ||
	    (set->power_of_two && !is_power_of_2(v)))
		return -ERANGE;
	*value = v;
	return 0;
}

/* The lock is held. */
static int change(struct setting *set, u64 value)
{
	u64 old = set->value;
	int err = 0;

	if (value == old)
		return 0;
	if (set->apply)
		err = set->apply(old, value);
	if (err)
		return err;
	WRITE_ONCE(set->value, value);
	send_applied(set);
	return 0;
}

/*
 * Sets a value from a text, which may end in a newline. -EPERM, then -EINVAL, then -ERANGE;
 * -ENOMEM when there is no memory for new rings; -EINTR.
 */
int kmes_config_set(enum kmes_setting_id id, const char *text, size_t len)
{
	struct setting *set = &settings[id];
	u64 value;
	int err;

	if (!capable(CAP_AUDIT_CONTROL))
		return -EPERM;
	if (len && text[len - 1] == '\n')
		len--;
	err = parse(set, text, len, &value);
	if (err) {
		send_rejected(set, text, len, err);
		return err;
	}
	if (mutex_lock_interruptible(&config_lock))
		return -EINTR;
	err = change(set, value);
	mutex_unlock(&config_lock);
	return err;
}

/* Takes the parameters that are good, before anything uses them. */
void kmes_config_init(void)
{
	enum kmes_setting_id id;

	for (id = 0; id < KMES_SETTINGS; id++) {
		struct setting *set = &settings[id];

		if (parameters[id] &&
		    parse(set, parameters[id], strlen(parameters[id]), &set->value))
			set->refused_at_load = true;
	}
}

/* Tells about the others, now that there are rings to tell it in. */
void kmes_config_report(void)
{
	enum kmes_setting_id id;
	u64 value;

	for (id = 0; id < KMES_SETTINGS; id++) {
		struct setting *set = &settings[id];
		const char *text = parameters[id];

		if (set->refused_at_load)
			send_rejected(set, text, strlen(text),
				      parse(set, text, strlen(text), &value));
	}
}
