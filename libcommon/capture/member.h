/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* member.h - finds the next valid member in a damaged gzip file. */
#ifndef KMES_MEMBER_H
#define KMES_MEMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a member that are passed to is_start. */
#define KMES_MEMBER_HEAD 128

struct kmes_member_search {
	int fd;	     /* a file */
	uint64_t at; /* start of the search; then the offset of the member */
	/*
	 * Bytes that may be read and unpacked of candidates that turn out invalid; bounds
	 * the work that a hostile file can cause.
	 */
	uint64_t budget;
	bool (*is_start)(void *arg, const uint8_t *bytes, size_t len);
	void *arg;
};

#define KMES_MEMBER_BUDGET (1ull << 30)

/*
 * Finds the next member that is valid up to its checksum or the end of the file and has
 * the expected start: 1; 0: there is none; -EINTR: none yet, check for signals and call
 * again; -ENOMEM.
 */
int kmesp_member_find(struct kmes_member_search *search);

#endif
