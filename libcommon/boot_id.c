// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* boot_id.c - reads ids that the kernel shows as text. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scan.h"
#include "source.h"

int kmesp_read_id(const char *path, uint8_t id[16])
{
	char text[64];
	unsigned int digits = 0;
	ssize_t n, i;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	close(fd);
	memset(id, 0, 16);
	for (i = 0; i < n && digits < 32; i++) {
		int v = kmesp_hex_digit(text[i]);

		if (v < 0)
			continue;
		id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | v);
		digits++;
	}
	return digits == 32 ? 0 : -EINVAL;
}

int kmes_boot_id(uint8_t id[16])
{
	return kmesp_read_id("/proc/sys/kernel/random/boot_id", id);
}
