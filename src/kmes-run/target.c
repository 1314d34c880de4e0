// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* target.c - memory, name, capabilities and CPUs of the process that made a call. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/scan.h"
#include "cli/cli.h"
#include "run.h"

bool run_targets_are_visible(void)
{
	char text[16] = "";

	return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
	       (pid_t)kmesp_leading_number(text) == getpid();
}

/* Reads a small file of /proc/TID, terminated. Returns its length or -ESRCH. */
static ssize_t read_about(pid_t tid, const char *name, char *text, size_t size)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	return n;
}

/* The process that a thread belongs to, or -errno. */
static pid_t process_of(pid_t tid)
{
	static const char key[] = "\nTgid:";
	char text[1024];
	const char *at;

	if (read_about(tid, "status", text, sizeof(text)) < 0)
		return -ESRCH;
	at = strstr(text, key);
	return at ? (pid_t)kmesp_leading_number(at + strlen(key)) : -ESRCH;
}

void run_target_name(pid_t tid, char *name, size_t size)
{
	ssize_t n = read_about(tid, "comm", name, size);

	if (n > 0)
		name[strcspn(name, "\n")] = '\0';
	else
		snprintf(name, size, "?");
}

/* The first thread has the id of its process; that of others is looked up. */
static long open_pidfd(pid_t tid, bool *is_first)
{
	long fd = syscall(SYS_pidfd_open, tid, 0);
	pid_t tgid;

	*is_first = fd >= 0;
	if (fd >= 0 || errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return fd;
	tgid = process_of(tid);
	if (tgid >= 0)
		return syscall(SYS_pidfd_open, tgid, 0);
	errno = ESRCH;
	return -1;
}

int run_target_open(struct run_target *target, pid_t tid)
{
	bool is_first;
	long fd = open_pidfd(tid, &is_first);

	if (fd < 0)
		return -errno;
	target->tid = tid;
	target->pidfd = (int)fd;
	target->is_first = is_first;
	return 0;
}

void run_target_close(struct run_target *target)
{
	close(target->pidfd);
}

bool run_target_has(const struct run_target *target, int capability)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
						 target->tid };
	struct __user_cap_data_struct data[2];

	return target->is_first ||
	       (syscall(SYS_capget, &head, data) == 0 &&
		data[capability / 32].effective & 1u << capability % 32);
}

/* Missing permission is an error of the setup, not of the program: report it once. */
static void complain_once(pid_t tid)
{
	static bool done;

	if (done || !run_can_report())
		return;
	cli_error("cannot reach the memory of process %d: %s (kmes-run needs "
		  "CAP_SYS_PTRACE)",
		  (int)tid, strerror(EPERM));
	done = true;
}

static size_t copied(const struct run_target *target, ssize_t n)
{
	if (n < 0 && errno == EPERM)
		complain_once(target->tid);
	return n < 0 ? 0 : (size_t)n;
}

size_t run_target_gather(const struct run_target *target, void *to, size_t len,
			 const struct iovec *from, unsigned long count)
{
	struct iovec local = { to, len };

	return copied(target, process_vm_readv(target->tid, &local, 1, from, count, 0));
}

int run_target_read(const struct run_target *target, void *to, uint64_t from, size_t len)
{
	struct iovec remote = { (void *)(uintptr_t)from, len };

	return run_target_gather(target, to, len, &remote, 1) == len ? 0 : -EFAULT;
}

int run_target_write(const struct run_target *target, uint64_t to, const void *from,
		     size_t len)
{
	struct iovec local = { (void *)(uintptr_t)from, len };
	struct iovec remote = { (void *)(uintptr_t)to, len };
	ssize_t n = process_vm_writev(target->tid, &local, 1, &remote, 1, 0);

	return copied(target, n) == len ? 0 : -EFAULT;
}

/* The largest NR_CPUS of any kernel. */
struct cpus {
	unsigned long bits[8192 / (8 * sizeof(unsigned long))];
};

/* Do we run on one of them, even if our affinity was changed from outside? */
static bool are_ours(const struct cpus *cpus)
{
	size_t cpu = (size_t)sched_getcpu(), bits = 8 * sizeof(cpus->bits[0]);

	return cpu < 8 * sizeof(*cpus) && cpus->bits[cpu / bits] & 1ul << cpu % bits;
}

void run_target_join(const struct run_target *target)
{
	static struct cpus ours, its;
	long size = syscall(SYS_sched_getaffinity, target->tid, sizeof(its), &its);

	if (size <= 0 || (!memcmp(&its, &ours, (size_t)size) && are_ours(&its)))
		return;
	syscall(SYS_sched_setaffinity, 0, (size_t)size, &its);
	ours = its;
}
