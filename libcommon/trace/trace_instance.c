// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* trace_instance.c - creates and removes instances of the kernel's tracing. */
#include "trace/trace_instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

#define TRACEFS_MAGIC_NUMBER 0x74726163

/* A process that looks at the instance keeps it busy for a moment. */
#define REMOVE_TRIES 50
#define REMOVE_NAP_NS 10000000

int kmesp_trace_root(char *root, struct kmes_error *err)
{
	static const char *const places[] = { "/sys/kernel/tracing",
					      "/sys/kernel/debug/tracing" };
	struct statfs fs;
	unsigned int i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (statfs(places[i], &fs) < 0 || fs.f_type != TRACEFS_MAGIC_NUMBER)
			continue;
		snprintf(root, KMES_TRACE_PATH, "%s", places[i]);
		return 0;
	}
	return kmes_error_set(err, -ENOENT,
			      "tracefs: not mounted at %s "
			      "(mount -t tracefs tracefs %s)",
			      places[0], places[0]);
}

static int open_file(const char *folder, const char *name, int flags)
{
	char path[2 * KMES_TRACE_PATH];
	int fd, n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	if ((size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Reads to the end, terminated; the caller frees it. 0 or -errno. */
static int read_all(int fd, char **text, size_t *len)
{
	size_t size = 8192, used = 0;
	char *buf = malloc(size);

	while (buf) {
		ssize_t n = read(fd, buf + used, size - used - 1);
		char *more;

		if (n <= 0) {
			int rc = n < 0 ? -errno : 0;

			buf[used] = '\0';
			*text = buf;
			*len = used;
			if (rc < 0)
				free(buf);
			return rc;
		}
		used += (size_t)n;
		if (used + 1 < size)
			continue;
		more = realloc(buf, size *= 2);
		if (!more)
			free(buf);
		buf = more;
	}
	return -ENOMEM;
}

int kmesp_trace_read(const char *folder, const char *name, char **text, size_t *len)
{
	int rc, fd = open_file(folder, name, O_RDONLY);

	if (fd < 0)
		return fd;
	rc = read_all(fd, text, len);
	close(fd);
	return rc;
}

int kmesp_trace_write(const char *folder, const char *name, const char *text)
{
	int rc = 0, fd = open_file(folder, name, O_WRONLY);

	if (fd < 0)
		return fd;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int kmesp_trace_cpus(const char *folder)
{
	char path[2 * KMES_TRACE_PATH];
	struct dirent *entry;
	int cpus = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/per_cpu", folder);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		int cpu;

		if (sscanf(entry->d_name, "cpu%d", &cpu) == 1 && cpu >= cpus &&
		    cpu < 65536)
			cpus = cpu + 1;
	}
	closedir(dir);
	return cpus;
}

static bool is_stale(const char *name)
{
	uint64_t started, now;
	int pid, end = 0;

	if (sscanf(name, "kmes-%d-%" SCNu64 "%n", &pid, &started, &end) != 2 || name[end])
		return false;
	return kmesp_process_start(pid, &now) < 0 || now != started;
}

void kmesp_trace_sweep(const char *root)
{
	char path[KMES_TRACE_PATH];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/instances", root);
	dir = opendir(path);
	if (!dir)
		return;
	/* What cannot be removed is in use, or will be removed next time. */
	while ((entry = readdir(dir)) != NULL)
		if (is_stale(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	closedir(dir);
}

/* Creates a directory that cannot be removed while the descriptor is open. */
static int make_busy(const char *path)
{
	int fd;

	if (mkdir(path, 0700) < 0)
		return -errno;
	fd = open_file(path, "tracing_on", O_RDONLY);
	if (fd < 0)
		rmdir(path);
	return fd;
}

int kmesp_trace_instance_make(const char *root, char *path, struct kmes_error *err)
{
	uint64_t started = 0;
	int rc, n;

	kmesp_process_start(getpid(), &started);
	n = snprintf(path, KMES_TRACE_PATH, "%s/instances/kmes-%d-%" PRIu64, root,
		     (int)getpid(), started);
	if (n >= KMES_TRACE_PATH)
		return kmes_error_set(err, -ENAMETOOLONG, "tracefs: path too long");
	rc = make_busy(path);
	if (rc >= 0)
		return rc;
	if (rc == -EACCES || rc == -EPERM)
		return kmes_error_set(err, rc,
				      "tracefs: cannot create %s: %s (needs root)", path,
				      strerror(-rc));
	return kmes_error_set(err, rc, "tracefs: cannot create %s: %s", path,
			      strerror(-rc));
}

int kmesp_trace_instance_remove(const char *path, int fd)
{
	const struct timespec nap = { .tv_nsec = REMOVE_NAP_NS };
	unsigned int i;

	close(fd);
	for (i = 0; i < REMOVE_TRIES; i++) {
		if (rmdir(path) == 0)
			return 0;
		if (errno != EBUSY)
			break;
		nanosleep(&nap, NULL);
	}
	return -errno;
}
