// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * seccomp.c - the seccomp filter: three call numbers go to the listener, all others pass.
 *
 * A seccomp(2) call that installs a listener goes there, too, only to report why the
 * kernel refuses it; it is then continued.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmes_abi.h"
#include "run.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "kmes-run does not know this machine's calls"
#endif

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1UL << 2)
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define LOAD(field)                                                                      \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The lower half of an argument, on little-endian machines. */
#define LOAD_ARG(n)                                                                      \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
/* Skips the given number of statements. */
#define IF_EQUAL(value, then, otherwise)                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define IF_ANY_OF(bits, then, otherwise)                                                 \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (then), (otherwise))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))

int run_filter_install(void)
{
	struct sock_filter code[] = {
		LOAD(arch),
		IF_EQUAL(NATIVE_ARCH, 0, 7),
		LOAD(nr),
		IF_EQUAL(KMES_NR_EMIT, 6, 0),
		IF_EQUAL(KMES_NR_ATTACH, 5, 0),
		IF_EQUAL(KMES_NR_EMIT_BATCH, 4, 0),
		IF_EQUAL(SYS_seccomp, 0, 2),
		LOAD_ARG(1),
		IF_ANY_OF(SECCOMP_FILTER_FLAG_NEW_LISTENER, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	/*
	 * WAIT_KILLABLE_RECV: only a fatal signal interrupts a call that was received, so
	 * that none is repeated. SPEC_ALLOW: this is not a sandbox, so the program does
	 * not need the mitigations that slow it down.
	 */
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER |
			      SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV |
			      SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	long fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		return -errno;
	/* Serve each call on the CPU of its sleeping caller; since Linux 6.6. */
	ioctl((int)fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return (int)fd;
}
