// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * trace_select.c - matches names of trace events, and suggests names similar to a wrong
 * one.
 */
#include "trace/trace_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

#define NAME_MAX_LEN 128u
#define NEAREST 3u

/* One element of EVENTS. */
struct want {
	const char *text;
	size_t len, system_len; /* system_len == len: no event given */
	struct kmes_glob *system, *event;
};

void kmesp_trace_names_free(struct kmes_trace_names *names)
{
	free(names->name);
	free(names->text);
	memset(names, 0, sizeof(*names));
}

/* Splits all names, one per line as "system:event", in a copy. */
static int split_names(struct kmes_trace_names *all, const char *available)
{
	size_t lines = 0;
	const char *newline;
	char *at, *save;

	memset(all, 0, sizeof(*all));
	for (newline = strchr(available, '\n'); newline;
	     newline = strchr(newline + 1, '\n'))
		lines++;
	all->text = strdup(available);
	all->name = calloc(lines + 2, sizeof(*all->name));
	if (!all->text || !all->name) {
		kmesp_trace_names_free(all);
		return -ENOMEM;
	}
	for (at = strtok_r(all->text, "\n", &save); at;
	     at = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(at, ':');

		if (!colon)
			continue;
		*colon = '\0';
		all->name[all->count].system = at;
		all->name[all->count++].event = colon + 1;
	}
	return 0;
}

static void want_fini(struct want *w)
{
	kmesp_glob_free(w->system);
	kmesp_glob_free(w->event);
}

static int want_init(struct want *w, const char *text, size_t len, struct kmes_error *err)
{
	const char *why = "out of memory";
	int rc;

	memset(w, 0, sizeof(*w));
	w->text = text;
	w->len = len;
	w->system_len = strcspn(text, "/:,");
	rc = kmesp_glob_new(&w->system, text, w->system_len, &why);
	if (rc == 0 && w->system_len < len)
		rc = kmesp_glob_new(&w->event, text + w->system_len + 1,
				    len - w->system_len - 1, &why);
	if (rc < 0)
		kmes_error_set(err, rc, "tracefs: '%.*s': %s", (int)len, text, why);
	return rc;
}

static bool is_match(const struct kmes_glob *glob, const char *text)
{
	return kmesp_glob_matches(glob, text, strlen(text));
}

/* Marks the matching names; returns their number. */
static size_t mark(const struct want *w, const struct kmes_trace_names *all, bool *marks)
{
	size_t i, found = 0;
	bool by_event = false;

	for (;; by_event = true) {
		for (i = 0; i < all->count; i++) {
			const struct kmes_trace_name *n = &all->name[i];
			bool hit = is_match(w->system, by_event ? n->event : n->system) &&
				   (!w->event || is_match(w->event, n->event));

			marks[i] |= hit;
			found += hit;
		}
		if (found || by_event || w->event)
			return found;
	}
}

/* The Levenshtein distance. */
static unsigned int distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned int row[NAME_MAX_LEN + 1];
	size_t i, k;

	/* Too long to compare: the maximum. */
	if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
		return (unsigned int)(a_len + b_len);
	for (k = 0; k <= b_len; k++)
		row[k] = (unsigned int)k;
	for (i = 1; i <= a_len; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (k = 1; k <= b_len; k++) {
			unsigned int best = diagonal + (a[i - 1] != b[k - 1]);

			diagonal = row[k];
			if (row[k] + 1 < best)
				best = row[k] + 1;
			if (row[k - 1] + 1 < best)
				best = row[k - 1] + 1;
			row[k] = best;
		}
	}
	return row[b_len];
}

/* The distance between a name and what was requested, perhaps the event alone. */
static unsigned int name_distance(const struct want *w, const struct kmes_trace_name *n)
{
	size_t system_len = strlen(n->system), event_len = strlen(n->event);

	if (w->system_len == w->len) {
		unsigned int by_event = distance(w->text, w->len, n->event, event_len);
		unsigned int by_system = distance(w->text, w->len, n->system, system_len);

		return by_event < by_system ? by_event : by_system;
	}
	return distance(w->text, w->system_len, n->system, system_len) +
	       distance(w->text + w->system_len + 1, w->len - w->system_len - 1, n->event,
			event_len);
}

static int report_nearest(const struct want *w, const struct kmes_trace_names *all,
			  struct kmes_error *err)
{
	size_t nearest[NEAREST], found = 0, i, k;
	unsigned int far[NEAREST];
	char names[320] = "";
	int used = 0;

	for (i = 0; i < all->count; i++) {
		unsigned int d = name_distance(w, &all->name[i]);

		if (d > w->len / 3 + 1 || (found == NEAREST && d >= far[NEAREST - 1]))
			continue;
		k = found < NEAREST ? found++ : NEAREST - 1;
		for (; k > 0 && far[k - 1] > d; k--) {
			far[k] = far[k - 1];
			nearest[k] = nearest[k - 1];
		}
		far[k] = d;
		nearest[k] = i;
	}
	for (i = 0; i < found; i++) {
		const struct kmes_trace_name *n = &all->name[nearest[i]];
		int len = snprintf(names + used, sizeof(names) - (size_t)used, "%s%s/%s",
				   i ? ", " : "; similar: ", n->system, n->event);

		if ((size_t)len >= sizeof(names) - (size_t)used) {
			names[used] = '\0';
			break;
		}
		used += len;
	}
	return kmes_error_set(err, -ENOENT, "tracefs: no such event: '%.*s'%s",
			      w->len > NAME_MAX_LEN ? (int)NAME_MAX_LEN : (int)w->len,
			      w->text, names);
}

static int mark_all(const char *wanted, const struct kmes_trace_names *all, bool *marks,
		    struct kmes_error *err)
{
	const char *at = wanted;

	for (;;) {
		size_t len = strcspn(at, ",");
		struct want w;
		int rc;

		if (!len)
			return kmes_error_set(err, -EINVAL,
					      "tracefs: an empty name in '%.200s'",
					      wanted);
		rc = want_init(&w, at, len, err);
		if (rc == 0 && !mark(&w, all, marks))
			rc = report_nearest(&w, all, err);
		want_fini(&w);
		if (rc < 0 || !at[len])
			return rc;
		at += len + 1;
	}
}

int kmesp_trace_select(struct kmes_trace_names *out, const char *available,
		       const char *wanted, struct kmes_error *err)
{
	size_t i, kept = 0;
	bool *marks;
	int rc = split_names(out, available);

	if (rc < 0)
		return rc;
	marks = calloc(out->count + 1, sizeof(*marks));
	rc = marks ? mark_all(wanted, out, marks, err) : -ENOMEM;
	for (i = 0; rc == 0 && i < out->count; i++)
		if (marks[i])
			out->name[kept++] = out->name[i];
	out->count = kept;
	free(marks);
	if (rc < 0)
		kmesp_trace_names_free(out);
	return rc;
}
