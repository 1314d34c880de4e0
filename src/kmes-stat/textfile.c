// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* textfile.c - the metrics in a file that is replaced whole, for the node exporter. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stat.h"

/*
 * The new file has no name until it is whole, so that a kill leaves nothing behind: it is
 * written as an unnamed file and linked. Where the file system has no such files it gets
 * the hidden name at once.
 */
static int open_new(const char *dir, char *temporary, bool *is_named)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);

	*is_named = fd < 0;
	if (fd < 0)
		fd = mkostemp(temporary, O_CLOEXEC);
	return fd;
}

/* Gives the unnamed file the temporary name, from which it can be renamed. */
static int name_new(int fd, char *temporary)
{
	char self[64];
	size_t len = strlen(temporary);
	unsigned int i;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (i = 0; i < 1000; i++) {
		snprintf(temporary + len - 6, 7, "%06x",
			 (unsigned int)(((unsigned int)getpid() * 1000u + i) & 0xffffff));
		if (linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int write_metrics(int fd, const struct stat_sampler *s)
{
	struct cli_out out;
	int r;

	cli_out_init(&out, fd, "metrics");
	stat_prometheus.print(&out, s);
	r = cli_out_flush(&out);
	free(out.buf);
	if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0))
		r = -errno;
	return r;
}

int stat_textfile_write(const char *path, const struct stat_sampler *s,
			struct kmes_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char dir[4096], temporary[4096];
	bool is_named;
	int fd, r;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path + 1) : 2,
		 slash ? path : "./");
	r = snprintf(temporary, sizeof(temporary), "%s.%s.XXXXXX", dir, name);
	if (r >= (int)sizeof(temporary) || !*name)
		return kmes_error_set(err, -ENAMETOOLONG, "%s: not a usable file name",
				      path);
	fd = open_new(dir, temporary, &is_named);
	if (fd < 0)
		return kmes_error_set(err, -errno,
				      "%s: cannot make a file in its folder: %s", path,
				      strerror(errno));
	r = write_metrics(fd, s);
	if (r == 0 && !is_named)
		r = name_new(fd, temporary);
	is_named |= r == 0;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0 && is_named)
		unlink(temporary);
	if (r < 0)
		return kmes_error_set(err, r, "%s: %s", path, strerror(-r));
	return 0;
}
