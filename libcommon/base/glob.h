/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * glob.h - shell-like patterns over bytes that carry a length.
 *
 * `*` matches any run of bytes, `?` one byte, `[a-z_]` one of a set, `[!...]` or `[^...]`
 * one that is not in it; a backslash quotes the next byte, in a set too. No byte of the
 * text is special, the locale is ignored, and the time is bounded by the product of both
 * lengths.
 */
#ifndef KMES_GLOB_H
#define KMES_GLOB_H
#include <stdbool.h>
#include <stddef.h>

struct kmes_glob;

/*
 * Compiles `len` bytes of pattern. 0, -ENOMEM, or -EINVAL: `*why` is a phrase that says
 * what is wrong with it.
 */
int kmesp_glob_new(struct kmes_glob **out, const char *pattern, size_t len,
		   const char **why);
void kmesp_glob_free(struct kmes_glob *glob);

/* Whether the pattern matches all of the text. */
bool kmesp_glob_matches(const struct kmes_glob *glob, const void *text, size_t len);

#endif
