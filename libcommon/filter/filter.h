/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * filter.h - which events pass: by type, origin, CPU, time and fields of the payload.
 *
 * Compiled from command-line arguments, then applied to each event. Several types, or
 * several origins, are alternatives; conditions of different kinds must all hold.
 */
#ifndef KMES_FILTER_H
#define KMES_FILTER_H

#include "kmes.h"

struct kmes_filter;

/* A filter that passes every event, or NULL: out of memory. */
struct kmes_filter *kmesp_filter_new(void);
void kmesp_filter_free(struct kmes_filter *filter);

/*
 * Adds a condition. 0, -ENOMEM, or -EINVAL: the sentence in `err` says what is wrong and
 * quotes the text.
 *
 * A type is a glob (glob.h); `!GLOB` or `^GLOB` excludes, and takes precedence. An origin
 * is a name as in origin.h. A match is as in match.h; all matches must hold.
 */
int kmesp_filter_add_type(struct kmes_filter *filter, const char *text,
			  struct kmes_error *err);
int kmesp_filter_add_origin(struct kmes_filter *filter, const char *text,
			    struct kmes_error *err);
int kmesp_filter_add_match(struct kmes_filter *filter, const char *text,
			   struct kmes_error *err);

/* Only these CPUs. The caller keeps the set, which must outlive the filter. */
void kmesp_filter_set_cpus(struct kmes_filter *filter, const struct kmes_cpus *cpus);

/* Only events with time stamps from `since_ns` to `until_ns`, inclusive. */
void kmesp_filter_set_times(struct kmes_filter *filter, uint64_t since_ns,
			    uint64_t until_ns);

/* Whether there is any condition, so that an event may be filtered out. */
bool kmesp_filter_is_set(const struct kmes_filter *filter);

bool kmesp_filter_passes(struct kmes_filter *filter, const struct kmes_event *event);

#endif
