/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * filter.h - which events pass: by type, origin, CPU, time and fields of the payload.
 *
 * Compiled from the texts that users give, then asked event by event. Several types, or
 * several origins, are alternatives; different kinds of conditions must all hold.
 */
#ifndef KMES_FILTER_H
#define KMES_FILTER_H

#include "kmes.h"

struct kmes_filter;

/* A filter that lets everything pass; NULL when there is no memory. */
struct kmes_filter *kmesp_filter_new(void);
void kmesp_filter_free(struct kmes_filter *filter);

/*
 * One more condition. -EINVAL: the sentence in `err` says what is wrong and quotes the
 * text; -ENOMEM.
 *
 * A type is a glob (glob.h); `!GLOB` or `^GLOB` excludes, whatever else lets it pass.
 * An origin is a word in any case or its number, `77` or `c77`. A match is as in match.h;
 * all matches must hold.
 */
int kmesp_filter_add_type(struct kmes_filter *filter, const char *text,
			  struct kmes_error *err);
int kmesp_filter_add_origin(struct kmes_filter *filter, const char *text,
			    struct kmes_error *err);
int kmesp_filter_add_match(struct kmes_filter *filter, const char *text,
			   struct kmes_error *err);

/* Only these CPUs; the set stays the caller's and must outlive the filter. */
void kmesp_filter_set_cpus(struct kmes_filter *filter, const struct kmes_cpus *cpus);

/* Only events stamped from `since_ns` to `until_ns`, both included. */
void kmesp_filter_set_times(struct kmes_filter *filter, uint64_t since_ns,
			    uint64_t until_ns);

/* Whether any condition was set, so that an event may be hidden. */
bool kmesp_filter_is_set(const struct kmes_filter *filter);

bool kmesp_filter_passes(struct kmes_filter *filter, const struct kmes_event *event);

#endif
