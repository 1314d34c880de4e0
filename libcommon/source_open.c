// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source_open.c - the table of the kinds of sources, and opening one by its name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

static const struct source_kind {
	const struct kmes_source_ops *ops;
	bool takes_argument;
} kinds[] = {
#define KIND(name, argument) { &kmesp_source_##name, sizeof(argument) > 1 },
	KMESP_SOURCE_KINDS(KIND)
#undef KIND
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

#ifndef KMES_HAVE_TRACEEVENT
static int open_not_built(struct kmes_source **out, const char *arg,
			  const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	(void)out;
	(void)arg;
	(void)stop;
	return kmes_error_set(err, -EOPNOTSUPP, "tracefs: built without libtraceevent");
}

const struct kmes_source_ops kmesp_source_tracefs = {
	.name = "tracefs",
	.is_explicit = true,
	.open = open_not_built,
};
#endif

/* Does not exist on this machine, as opposed to: exists and refuses. */
static bool is_absent(int error)
{
	return error == -ENOSYS || error == -ENOENT;
}

static int open_auto(struct kmes_source **out, const volatile sig_atomic_t *stop,
		     struct kmes_error *err)
{
	char reasons[400] = "";
	size_t i, len = 0;

	for (i = 0; i < KIND_COUNT; i++) {
		const struct kmes_source_ops *ops = kinds[i].ops;
		struct kmes_error why = { "" };
		int rc;

		if (ops->is_explicit)
			continue;
		rc = ops->open(out, NULL, stop, &why);
		if (rc == 0)
			return 0;
		if (!is_absent(rc)) {
			if (err)
				*err = why;
			return rc;
		}
		snprintf(reasons + len, sizeof(reasons) - len, "%s%s: %.120s",
			 len ? "; " : "", ops->name, why.text);
		len = strlen(reasons);
	}
	return kmes_error_set(err, -ENODEV,
			      "no source of events: %s (start the simulator with "
			      "'kmes-sim &')",
			      reasons);
}

/* The kind that is named up to a colon, or NULL; `*arg` is what follows it, or NULL. */
static const struct source_kind *find_kind(const char *name, const char **arg)
{
	size_t i, len = strcspn(name, ":");

	*arg = name[len] ? name + len + 1 : NULL;
	for (i = 0; i < KIND_COUNT; i++) {
		const char *word = kinds[i].ops->name;

		if (strlen(word) == len && !memcmp(word, name, len))
			return &kinds[i];
	}
	return NULL;
}

bool kmesp_source_is_name(const char *name)
{
	const char *arg;
	const struct source_kind *kind = find_kind(name, &arg);

	if (!strcmp(name, "auto"))
		return true;
	return kind && (!arg || (kind->takes_argument && *arg));
}

const struct kmes_source_ops *kmesp_source_ops(const char *name)
{
	const char *arg;
	const struct source_kind *kind = find_kind(name, &arg);

	return kind ? kind->ops : NULL;
}

int kmes_source_open(struct kmes_source **out, const char *name,
		     const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	const struct source_kind *kind;
	const char *arg;

	if (err)
		err->text[0] = '\0';
	if (sysconf(_SC_PAGESIZE) != KMES_PAGE_SIZE)
		return kmes_error_set(err, -EOPNOTSUPP,
				      "rings have pages of %d bytes, this machine of %ld",
				      KMES_PAGE_SIZE, sysconf(_SC_PAGESIZE));
	if (!strcmp(name, "auto"))
		return open_auto(out, stop, err);
	kind = find_kind(name, &arg);
	if (!kind)
		return kmes_error_set(err, -EINVAL,
				      "no such source (" KMESP_SOURCE_NAMES ")");
	if (arg && !kind->takes_argument)
		return kmes_error_set(err, -EINVAL, "%s: takes no argument",
				      kind->ops->name);
	return kind->ops->open(out, arg, stop, err);
}
