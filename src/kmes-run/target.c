/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* target.c - the memory and the name of the process that made a call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "run.h"

/* A small file about a thread, terminated: its length, or -ESRCH. */
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
	return at ? (pid_t)strtol(at + strlen(key), NULL, 10) : -ESRCH;
}

/* The 39th field; the second one is a name in parentheses that may hold anything. */
int run_target_cpu(const struct run_target *target)
{
	char text[1024];
	const char *at;
	int field;

	if (read_about(target->tid, "stat", text, sizeof(text)) < 0)
		return -1;
	at = strrchr(text, ')');
	for (field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (int)strtol(at + 1, NULL, 10) : -1;
}

int run_target_open(struct run_target *target, pid_t tid)
{
	pid_t tgid = process_of(tid);
	long fd;

	if (tgid < 0)
		return tgid;
	fd = syscall(SYS_pidfd_open, tgid, 0);
	if (fd < 0)
		return -errno;
	target->tid = tid;
	target->pidfd = (int)fd;
	return 0;
}

void run_target_close(struct run_target *target)
{
	close(target->pidfd);
}

int run_target_read(const struct run_target *target, void *to, uint64_t from, size_t len)
{
	struct iovec local = { to, len };
	struct iovec remote = { (void *)(uintptr_t)from, len };

	if (!len)
		return 0;
	return process_vm_readv(target->tid, &local, 1, &remote, 1, 0) == (ssize_t)len
		       ? 0
		       : -EFAULT;
}

int run_target_write(const struct run_target *target, uint64_t to, const void *from,
		     size_t len)
{
	struct iovec local = { (void *)(uintptr_t)from, len };
	struct iovec remote = { (void *)(uintptr_t)to, len };

	return process_vm_writev(target->tid, &local, 1, &remote, 1, 0) == (ssize_t)len
		       ? 0
		       : -EFAULT;
}

bool run_target_is_writable(const struct run_target *target, uint64_t at, size_t len)
{
	uint8_t old[16];

	return len <= sizeof(old) && run_target_read(target, old, at, len) == 0 &&
	       run_target_write(target, at, old, len) == 0;
}
