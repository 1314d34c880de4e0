/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* member.h - finds where a damaged file of gzip members is sound again; library-private. */
#ifndef KMES_MEMBER_H
#define KMES_MEMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of a member's bytes tells whether it begins as it should. */
#define KMES_MEMBER_HEAD 128

struct kmes_member_search {
	int fd;	     /* a file */
	uint64_t at; /* look from here on; then where the member is */
	/*
	 * Bytes that may be taken in, and unpacked, of what turns out not to be one. A file
	 * cannot make us go through the same bytes over and over.
	 */
	uint64_t budget;
	bool (*is_start)(void *arg, const uint8_t *bytes, size_t len);
	void *arg;
};

#define KMES_MEMBER_BUDGET (1ull << 30)

/*
 * Finds the next member that is sound to its checksum, or to the end of the file, and
 * begins as it should: 1; 0: there is none; -EINTR: none yet, the caller may look around
 * and go on; -ENOMEM.
 */
int kmesp_member_find(struct kmes_member_search *search);

#endif
