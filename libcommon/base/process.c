// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* process.c - reads the start time of a process from /proc. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int kmesp_process_start(pid_t pid, uint64_t *ticks)
{
	char path[64], text[1024];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	/* The command name may contain anything; the last parenthesis ends it. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
			  "%*u %*d %*d %*d %*d %*d %*d %" SCNu64,
			  ticks) != 1)
		return -ESRCH;
	return 0;
}
