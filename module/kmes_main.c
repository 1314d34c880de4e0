// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_main.c - initialization in order, exit in reverse order, and the device's ioctls.
 *
 * An open /dev/kmes or ring and a mapped ring hold a reference to the module. So at exit
 * the only emitters left are the module's own process events, which are stopped first.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "kmes_module.h"
#include "kmes_version.h"

/* The arguments of the *_for calls begin with those of the plain calls. */
union argument {
	struct kmes_ioc_attach attach;
	struct kmes_ioc_emit emit;
	struct kmes_ioc_batch batch;
	struct kmes_ioc_attach_for attach_for;
	struct kmes_ioc_emit_for emit_for;
	struct kmes_ioc_batch_for batch_for;
};

static __always_inline long call_as(const struct kmes_subject *s, unsigned int cmd,
				    const union argument *arg)
{
	switch (cmd) {
	case KMES_IOC_ATTACH:
	case KMES_IOC_ATTACH_FOR:
		return kmes_attach(s, &arg->attach);
	case KMES_IOC_EMIT:
	case KMES_IOC_EMIT_FOR:
		return kmes_emit(s, &arg->emit);
	default:
		return kmes_emit_batch(s, &arg->batch);
	}
}

/* On behalf of another process; the three structures have the same tail. */
static noinline long call_for(unsigned int cmd, const union argument *arg)
{
	struct kmes_subject s __uninitialized;
	long ret;

	BUILD_BUG_ON(offsetof(struct kmes_ioc_emit_for, pidfd) !=
			     offsetof(struct kmes_ioc_attach_for, pidfd) ||
		     offsetof(struct kmes_ioc_batch_for, pidfd) !=
			     offsetof(struct kmes_ioc_attach_for, pidfd));
	if (arg->attach_for.reserved)
		return -EINVAL;
	ret = kmes_subject_of(&s, arg->attach_for.pidfd);
	if (ret)
		return ret;
	ret = call_as(&s, cmd, arg);
	kmes_subject_put(&s);
	return ret;
}

/* Copies by constant sizes, so that the compiler checks that the argument has room. */
static long device_ioctl(struct file *file, unsigned int cmd, unsigned long address)
{
	const void __user *from = (void __user *)address;
	union argument arg __uninitialized;
	struct kmes_subject s __uninitialized;

	BUILD_BUG_ON(sizeof(arg.attach) != sizeof(arg.emit) ||
		     sizeof(arg.batch) != sizeof(arg.emit) ||
		     sizeof(arg.attach_for) != sizeof(arg.emit_for) ||
		     sizeof(arg.batch_for) != sizeof(arg.emit_for));
	switch (cmd) {
	case KMES_IOC_ATTACH:
	case KMES_IOC_EMIT:
	case KMES_IOC_BATCH:
		if (copy_from_user(&arg.emit, from, sizeof(arg.emit)))
			return -EFAULT;
		kmes_subject_self(&s);
		return call_as(&s, cmd, &arg);
	case KMES_IOC_ATTACH_FOR:
	case KMES_IOC_EMIT_FOR:
	case KMES_IOC_BATCH_FOR:
		if (copy_from_user(&arg.emit_for, from, sizeof(arg.emit_for)))
			return -EFAULT;
		return call_for(cmd, &arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kmes",
	.fops = &device_fops,
	.mode = 0666,
};

/* Each step that fails undoes the ones before it. */
static int __init kmes_init(void)
{
	int err;

	kmes_config_init();
	kmes_rate_set(kmes_config_get(KMES_SET_RATE));
	kmes_subjects_init();
	err = kmes_symbols_find();
	if (err)
		return err;
	err = kmes_wake_file_init();
	if (err)
		return err;
	err = kmes_wake_init();
	if (err)
		goto err_wake_file;
	err = kmes_heal_init();
	if (err)
		goto err_wake;
	err = kmes_slots_init(kmes_config_get(KMES_SET_CAPACITY));
	if (err) {
		pr_err("no memory for rings of %llu bytes\n",
		       kmes_config_get(KMES_SET_CAPACITY));
		goto err_heal;
	}
	/* Before sysfs, which can set this too. */
	err = kmes_process_set(kmes_config_get(KMES_SET_PROCESS));
	if (err)
		goto err_slots;
	err = kmes_sysfs_init();
	if (err)
		goto err_process;
	err = misc_register(&device);
	if (err)
		goto err_sysfs;
	kmes_config_report();
	return 0;

err_sysfs:
	kmes_sysfs_fini();
err_process:
	kmes_process_set(false);
err_slots:
	kmes_slots_fini();
err_heal:
	kmes_heal_fini();
err_wake:
	kmes_wake_fini();
err_wake_file:
	kmes_wake_file_fini();
	return err;
}

static void __exit kmes_exit(void)
{
	misc_deregister(&device);
	kmes_sysfs_fini();
	kmes_process_set(false);
	kmes_rate_fini();
	kmes_slots_fini();
	kmes_heal_fini();
	kmes_wake_fini();
	kmes_wake_file_fini();
}

module_init(kmes_init);
module_exit(kmes_exit);
MODULE_DESCRIPTION("KMES event rings on an ordinary kernel");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(KMES_VERSION);
