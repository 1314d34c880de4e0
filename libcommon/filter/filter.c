// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* filter.c - the conditions on an event, cheap ones first. */
#include "filter/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "filter/match.h"
#include "print/origin.h"

struct globs {
	struct kmes_glob **list;
	size_t count;
};

struct kmes_filter {
	bool is_set;
	bool has_origins;
	uint64_t since_ns, until_ns;
	uint64_t origins[256 / 64];
	const struct kmes_cpus *cpus;
	struct globs wanted, unwanted;
	struct kmes_match **matches;
	size_t match_count;
};

struct kmes_filter *kmesp_filter_new(void)
{
	struct kmes_filter *filter = calloc(1, sizeof(*filter));

	if (filter)
		filter->until_ns = UINT64_MAX;
	return filter;
}

static void free_globs(struct globs *globs)
{
	size_t i;

	for (i = 0; i < globs->count; i++)
		kmesp_glob_free(globs->list[i]);
	free(globs->list);
}

void kmesp_filter_free(struct kmes_filter *filter)
{
	size_t i;

	if (!filter)
		return;
	free_globs(&filter->wanted);
	free_globs(&filter->unwanted);
	for (i = 0; i < filter->match_count; i++)
		kmesp_match_free(filter->matches[i]);
	free(filter->matches);
	free(filter);
}

static int no_memory(struct kmes_error *err)
{
	return kmes_error_set(err, -ENOMEM, "out of memory");
}

/* Room for one more pointer in a list. */
static void *grow(void *list, size_t count)
{
	return realloc(list, (count + 1) * sizeof(void *));
}

int kmesp_filter_add_type(struct kmes_filter *filter, const char *text,
			  struct kmes_error *err)
{
	bool excludes = *text == '!' || *text == '^';
	struct globs *globs = excludes ? &filter->unwanted : &filter->wanted;
	const char *pattern = text + excludes;
	struct kmes_glob **list = grow(globs->list, globs->count);
	const char *why;
	int rc;

	if (!list)
		return no_memory(err);
	globs->list = list;
	if (!*pattern)
		return kmes_error_set(err, -EINVAL, "empty type: '%s'", text);
	rc = kmesp_glob_new(&list[globs->count], pattern, strlen(pattern), &why);
	if (rc == -EINVAL)
		return kmes_error_set(err, rc, "%s in the type: '%s'", why, text);
	if (rc)
		return no_memory(err);
	globs->count++;
	filter->is_set = true;
	return 0;
}

int kmesp_filter_add_origin(struct kmes_filter *filter, const char *text,
			    struct kmes_error *err)
{
	int origin = kmesp_origin_parse(text);

	if (origin < 0)
		return kmes_error_set(err, -EINVAL, "unknown origin: '%s'", text);
	filter->origins[origin / 64] |= 1ull << (origin % 64);
	filter->has_origins = true;
	filter->is_set = true;
	return 0;
}

int kmesp_filter_add_match(struct kmes_filter *filter, const char *text,
			   struct kmes_error *err)
{
	struct kmes_match **list = grow(filter->matches, filter->match_count);
	int rc;

	if (!list)
		return no_memory(err);
	filter->matches = list;
	rc = kmesp_match_new(&list[filter->match_count], text, err);
	if (rc)
		return rc;
	filter->match_count++;
	filter->is_set = true;
	return 0;
}

void kmesp_filter_set_cpus(struct kmes_filter *filter, const struct kmes_cpus *cpus)
{
	filter->cpus = cpus;
	filter->is_set = true;
}

void kmesp_filter_set_times(struct kmes_filter *filter, uint64_t since_ns,
			    uint64_t until_ns)
{
	filter->since_ns = since_ns;
	filter->until_ns = until_ns;
	filter->is_set = true;
}

bool kmesp_filter_is_set(const struct kmes_filter *filter)
{
	return filter->is_set;
}

static bool any_matches(const struct globs *globs, const struct kmes_event *event)
{
	size_t i;

	for (i = 0; i < globs->count; i++)
		if (kmesp_glob_matches(globs->list[i], event->type, event->type_len))
			return true;
	return false;
}

static bool head_passes(const struct kmes_filter *filter, const struct kmes_event *event)
{
	if (event->ts_ns < filter->since_ns || event->ts_ns > filter->until_ns)
		return false;
	if (filter->cpus && !kmes_cpus_has(filter->cpus, event->cpu))
		return false;
	if (filter->has_origins &&
	    !(filter->origins[event->origin / 64] >> (event->origin % 64) & 1))
		return false;
	if (any_matches(&filter->unwanted, event))
		return false;
	return !filter->wanted.count || any_matches(&filter->wanted, event);
}

bool kmesp_filter_passes(struct kmes_filter *filter, const struct kmes_event *event)
{
	size_t i;

	if (!filter->is_set)
		return true;
	if (!head_passes(filter, event))
		return false;
	for (i = 0; i < filter->match_count; i++)
		if (!kmesp_match_passes(filter->matches[i], event->payload,
					event->payload_len))
			return false;
	return true;
}
