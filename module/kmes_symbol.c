// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kmes_symbol.c - kernel functions that are not exported to modules.
 *
 * Their addresses are found by a kprobe that is registered disabled, so no text is
 * patched. They are called by static calls: indirect branch tracking does not trap a
 * direct call, even to a function without a landing pad.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mutex.h>
#include <linux/futex.h>
#include <linux/kprobes.h>
#include <linux/kallsyms.h>
#include <linux/limits.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/static_call.h>

#include "kmes_module.h"

static long no_futex(const struct pt_regs *regs)
{
	return -EOPNOTSUPP;
}

static struct mm_struct *no_mm_alloc(void)
{
	return NULL;
}

static struct pid *no_pidfd_get_pid(unsigned int fd, unsigned int *flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

DEFINE_STATIC_CALL(kmes_sc_futex, no_futex);
DEFINE_STATIC_CALL(kmes_sc_mm_alloc, no_mm_alloc);
DEFINE_STATIC_CALL(kmes_sc_pidfd_get_pid, no_pidfd_get_pid);

/* The entry function of a system call takes its arguments from a struct pt_regs. */
#if defined(CONFIG_X86_64)
#define FUTEX_SYSCALL "__x64_sys_futex"
static void set_arguments(struct pt_regs *regs, unsigned long a, unsigned long b,
			  unsigned long c)
{
	regs->di = a;
	regs->si = b;
	regs->dx = c;
}
#elif defined(CONFIG_ARM64)
#define FUTEX_SYSCALL "__arm64_sys_futex"
static void set_arguments(struct pt_regs *regs, unsigned long a, unsigned long b,
			  unsigned long c)
{
	regs->regs[0] = a;
	regs->regs[1] = b;
	regs->regs[2] = c;
}
#else
#error "the naming of system calls is not known for this architecture"
#endif

/* The start of a function. The address of a kprobe is after a possible landing pad. */
static unsigned long find(const char *name)
{
	struct kprobe kp = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	char text[KSYM_SYMBOL_LEN];
	unsigned long address, offset = 0;
	const char *plus;

	if (register_kprobe(&kp))
		return 0;
	address = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	sprint_symbol(text, address);
	plus = strrchr(text, '+');
	if (!plus || sscanf(plus, "+%lx", &offset) != 1)
		return 0;
	return address - offset;
}

/* -EOPNOTSUPP if sleepers could never be woken; pidfd_get_pid() is optional. */
int kmes_symbols_find(void)
{
	unsigned long futex = find(FUTEX_SYSCALL);
	unsigned long mm_alloc = find("mm_alloc");
	unsigned long pidfd_get_pid = find("pidfd_get_pid");

	if (!futex || !mm_alloc) {
		pr_err("cannot find %s, which is needed to wake consumers (is CONFIG_KPROBES set?)\n",
		       futex ? "mm_alloc" : FUTEX_SYSCALL);
		return -EOPNOTSUPP;
	}
	static_call_update(kmes_sc_futex, (typeof(no_futex) *)futex);
	static_call_update(kmes_sc_mm_alloc, (typeof(no_mm_alloc) *)mm_alloc);
	if (pidfd_get_pid)
		static_call_update(kmes_sc_pidfd_get_pid,
				   (typeof(no_pidfd_get_pid) *)pidfd_get_pid);
	else
		pr_warn("cannot find pidfd_get_pid: no calls on behalf of other processes\n");
	return 0;
}

/* A new, empty mm, or NULL. */
struct mm_struct *kmes_mm_alloc(void)
{
	return static_call(kmes_sc_mm_alloc)();
}

/*
 * Wakes all waiters on the shared futex at this address of the current mm; returns their
 * number, or -errno.
 */
int kmes_futex_wake_all(unsigned long address)
{
	struct pt_regs regs = {};

	set_arguments(&regs, address, FUTEX_WAKE, INT_MAX);
	return static_call(kmes_sc_futex)(&regs);
}

/* The struct pid of the caller's pidfd, with a reference, or an error pointer. */
struct pid *kmes_pidfd_get_pid(unsigned int fd)
{
	unsigned int flags;

	return static_call(kmes_sc_pidfd_get_pid)(fd, &flags);
}
