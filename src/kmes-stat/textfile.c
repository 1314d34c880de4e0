// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* textfile.c - replaces a file of metrics atomically, for the node exporter. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"

/* Hexadecimal digits that hold any process id. */
#define DIGITS 6

#define FD_FOLDER "/proc/self/fd"

/* The directory, and the temporary file in it: `.NAME.` and our process id. */
struct place {
	char dir[PATH_MAX];
	char temporary[PATH_MAX];
	size_t prefix; /* length of `temporary` without the six digits */
};

static int find_place(struct place *place, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int n = snprintf(place->dir, sizeof(place->dir), "%.*s",
			 slash ? (int)(slash - path + 1) : 2, slash ? path : "./");

	if (n >= (int)sizeof(place->dir))
		return -ENAMETOOLONG;
	n = snprintf(place->temporary, sizeof(place->temporary), "%s.%s.", place->dir,
		     name);
	if (n + DIGITS >= (int)sizeof(place->temporary))
		return -ENAMETOOLONG;
	place->prefix = (size_t)n;
	snprintf(place->temporary + n, DIGITS + 1, "%06x", (unsigned int)getpid());
	return 0;
}

/* Is this the temporary file of a process that has exited? */
static bool is_stale(const struct place *place, const char *name)
{
	const char *prefix = place->temporary + strlen(place->dir);
	size_t len = place->prefix - strlen(place->dir);

	return !strncmp(name, prefix, len) && strlen(name + len) == DIGITS &&
	       strspn(name + len, "0123456789abcdef") == DIGITS &&
	       kill((pid_t)strtoul(name + len, NULL, 16), 0) < 0 && errno == ESRCH;
}

/* A process killed between link and rename leaves its file; the next one removes it. */
static void remove_stale(const struct place *place)
{
	DIR *dir = opendir(place->dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_stale(place, entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

int stat_textfile_check(const char *path, struct kmes_error *err)
{
	struct place place;
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return kmes_error_set(err, -EEXIST, "%s exists and is not a file", path);
	if (find_place(&place, path) == 0)
		remove_stale(&place);
	return 0;
}

/*
 * Writes an unnamed file (O_TMPFILE) and links it through /proc when it is complete, so
 * that a kill leaves nothing. Where the file system has no unnamed files, or /proc is not
 * mounted, the file has its temporary name from the start.
 */
static int open_new(const struct place *place, bool *is_named)
{
	int fd = -1;

	if (access(FD_FOLDER, X_OK) == 0)
		fd = open(place->dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	*is_named = fd < 0;
	if (fd >= 0)
		return fd;
	/* Left by an earlier process with our id. */
	unlink(place->temporary);
	return open(place->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
}

/* Gives the unnamed file the temporary name, from which it can be renamed. */
static int name_new(int fd, const struct place *place)
{
	char self[64];

	snprintf(self, sizeof(self), FD_FOLDER "/%d", fd);
	unlink(place->temporary);
	return linkat(AT_FDCWD, self, AT_FDCWD, place->temporary, AT_SYMLINK_FOLLOW) < 0
		       ? -errno
		       : 0;
}

static int write_metrics(int fd, const struct stat_sampler *s)
{
	struct cli_out out;
	int rc;

	cli_out_init(&out, fd, "metrics");
	stat_prometheus.print(&out, s);
	rc = cli_out_flush(&out);
	free(out.buf.data);
	if (rc == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0))
		rc = -errno;
	return rc;
}

int stat_textfile_write(const char *path, const struct stat_sampler *s,
			struct kmes_error *err)
{
	struct place place;
	bool is_named;
	int fd, rc = find_place(&place, path);

	if (rc < 0)
		return kmes_error_set(err, rc, "%s: %s", path, strerror(-rc));
	fd = open_new(&place, &is_named);
	if (fd < 0)
		return kmes_error_set(err, -errno,
				      "%s: cannot create a file in its directory: %s",
				      path, strerror(errno));
	rc = write_metrics(fd, s);
	if (rc == 0 && !is_named)
		rc = name_new(fd, &place);
	is_named |= rc == 0;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(place.temporary, path) < 0)
		rc = -errno;
	if (rc < 0 && is_named)
		unlink(place.temporary);
	if (rc < 0)
		return kmes_error_set(err, rc, "%s: %s", path, strerror(-rc));
	return 0;
}
