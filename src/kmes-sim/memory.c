// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* memory.c - memory available for rings: of the machine and of our control groups. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scan.h"
#include "sim.h"

/* Left for other processes. */
#define RESERVE_BYTES (32ull << 20)

/* Reads a small file, terminated. False: it cannot be read. */
static bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += n;
	buf[len] = '\0';
	close(fd);
	return len > 0;
}

/* Reads a file with one number. False: "max", or no such file. */
static bool read_number(const char *dir, const char *name, uint64_t *v)
{
	char path[4200], text[64];
	const char *at = text;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!read_text(path, text, sizeof(text)))
		return false;
	return kmesp_scan_number(&at, NULL, v) == 0;
}

static uint64_t machine_available(void)
{
	char text[8192];
	const char *line;

	if (!read_text("/proc/meminfo", text, sizeof(text)))
		return UINT64_MAX;
	line = strstr(text, "MemAvailable:");
	return line ? kmesp_leading_number(line + strlen("MemAvailable:")) * 1024
		    : UINT64_MAX;
}

/* The minimum over our control group (version 2) and its ancestors. */
static uint64_t group_available(void)
{
	char text[4096], dir[4160], *path, *slash;
	uint64_t available = UINT64_MAX, max, used;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return available;
	path = strstr(text, "0::/");
	if (!path)
		return available;
	path += strlen("0::");
	path[strcspn(path, "\n")] = '\0';
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup%s", path);
	while (strlen(dir) >= strlen("/sys/fs/cgroup")) {
		if (read_number(dir, "memory.max", &max) &&
		    read_number(dir, "memory.current", &used) &&
		    available > (max > used ? max - used : 0))
			available = max > used ? max - used : 0;
		slash = strrchr(dir, '/');
		*slash = '\0';
	}
	return available;
}

bool sim_memory_has(uint64_t bytes)
{
	uint64_t machine = machine_available();
	uint64_t group = group_available();
	uint64_t available = machine < group ? machine : group;

	return available > RESERVE_BYTES && bytes <= available - RESERVE_BYTES;
}
