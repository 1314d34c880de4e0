/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* fdpath.h - the file of a descriptor. */
#ifndef KMES_PRELOAD_FDPATH_H
#define KMES_PRELOAD_FDPATH_H

#include <stdio.h>
#include <unistd.h>

/* Stores its name in `path`; empty if it has none. */
static inline void fd_path(int fd, char path[4096])
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, 4095);
	path[len < 0 ? 0 : len] = '\0';
}

#endif
