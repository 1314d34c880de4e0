// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * compat_native.c - a 32-bit program that makes the native calls, which do not exist
 * for it.
 */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "kmes_abi.h"

_Static_assert(sizeof(void *) == 4, "this one is for 32 bits");

static int is_missing(long result)
{
	return result == -1 && errno == ENOSYS;
}

int main(void)
{
	struct kmes_batch_entry entry = { .event_type_len = 0 };
	uint64_t capacity = 0;
	uint32_t emitted = 0;

	return !is_missing(syscall(KMES_NR_EMIT, "compat", 6, "\x80", 1)) ||
	       !is_missing(syscall(KMES_NR_ATTACH, 0, &capacity)) ||
	       !is_missing(syscall(KMES_NR_EMIT_BATCH, &entry, 1, &emitted));
}
