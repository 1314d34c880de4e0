/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * glob.h - shell-like patterns over bytes that carry a length.
 *
 * `*` any run of bytes, `?` one byte, `[a-z_]` one of a set, `[!...]` or `[^...]` one that
 * is not, a backslash takes the next byte as it is, also within a set. No byte is special
 * in the text, the locale plays no part, and matching takes no longer than the product
 * of both lengths.
 */
#ifndef KMES_GLOB_H
#define KMES_GLOB_H
#include <stdbool.h>
#include <stddef.h>

struct kmes_glob;

/*
 * Compiles `len` bytes of pattern. -EINVAL: `*why` says in a few words what is wrong with
 * it; -ENOMEM.
 */
int kmesp_glob_new(struct kmes_glob **out, const char *pattern, size_t len,
		   const char **why);
void kmesp_glob_free(struct kmes_glob *glob);

/* Does the pattern match all of the text? */
bool kmesp_glob_matches(const struct kmes_glob *glob, const void *text, size_t len);

#endif
