// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source.c - opens a source by its name, and passes calls on to its kind. */
#include "source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sim_client.h"

static const struct kmes_source_ops *const kinds[] = {
	&kmesp_source_native,
	&kmesp_source_dev,
	&kmesp_source_sim,
#ifdef KMES_HAVE_TRACEEVENT
	&kmesp_source_tracefs,
#endif
};

/* How many of `kinds`, from the first, "auto" tries. */
#define AUTO_KINDS 3

/* Does not exist here, as opposed to: exists and refuses. */
static bool is_absent(int error)
{
	return error == -ENOSYS || error == -ENOENT;
}

static int open_auto(struct kmes_source **out, const volatile sig_atomic_t *stop,
		     struct kmes_error *err)
{
	struct kmes_error why[AUTO_KINDS];
	unsigned int i;

	for (i = 0; i < AUTO_KINDS; i++) {
		int r;

		why[i].text[0] = '\0';
		r = kinds[i]->open(out, NULL, stop, &why[i]);
		if (r == 0)
			return 0;
		if (!is_absent(r)) {
			if (err)
				*err = why[i];
			return r;
		}
	}
	return kmes_error_set(err, -ENODEV,
			      "no source of events: native: %.100s; dev: %.100s; sim: "
			      "%.140s (start the simulator with 'kmes-sim &')",
			      why[0].text, why[1].text, why[2].text);
}

/* The kind whose name is `name` up to a colon; `*arg` is what follows it, or NULL. */
static const struct kmes_source_ops *find_kind(const char *name, const char **arg)
{
	size_t len = strcspn(name, ":");
	unsigned int i;

	*arg = name[len] ? name + len + 1 : NULL;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i]->name) == len && !memcmp(kinds[i]->name, name, len))
			return kinds[i];
	return NULL;
}

int kmes_source_open(struct kmes_source **out, const char *name,
		     const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	const struct kmes_source_ops *kind;
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
	if (kind)
		return kind->open(out, arg, stop, err);
	if (!strncmp(name, "tracefs", strcspn(name, ":")))
		return kmes_error_set(err, -EOPNOTSUPP,
				      "tracefs: built without libtraceevent");
	return kmes_error_set(err, -EINVAL,
			      "no such source (auto, native, dev[:PATH], "
			      "sim[:SOCKET], tracefs[:EVENTS])");
}

void kmes_source_close(struct kmes_source *src)
{
	if (src)
		src->ops->close(src);
}

const char *kmes_source_name(const struct kmes_source *src)
{
	return src->ops->name;
}

const uint8_t *kmes_source_stream_id(const struct kmes_source *src)
{
	return src->stream_id;
}

static const char *reason(const struct kmes_source *src, int error)
{
	return src->ops == &kmesp_source_sim ? kmesp_sim_reason(error) : strerror(-error);
}

int kmes_source_slots(struct kmes_source *src, struct kmes_error *err)
{
	int n = src->ops->slots(src);

	if (n < 0)
		return kmes_error_set(err, n, "%s: cannot ask for the slot count: %s%s",
				      src->ops->name, reason(src, n),
				      n == -EPERM ? kmesp_source_attach_hint(src) : "");
	return n;
}

const char *kmesp_source_attach_hint(const struct kmes_source *src)
{
	if (src->ops == &kmesp_source_native)
		return " (needs SeSecurityPrivilege)";
	if (src->ops == &kmesp_source_dev)
		return " (needs CAP_AUDIT_READ)";
	if (!strcmp(src->ops->name, "sim"))
		return " (the simulator denies attaching to this user)";
	return "";
}

int kmes_source_fd(const struct kmes_source *src)
{
	return src->fd;
}

int kmes_source_alive(struct kmes_source *src)
{
	return src->ops->alive ? src->ops->alive(src) : 1;
}

int kmes_source_emit(struct kmes_source *src, int cpu, const struct kmes_record *record)
{
	return src->ops->emit ? src->ops->emit(src, cpu, record) : -EOPNOTSUPP;
}

int kmes_source_emit_batch(struct kmes_source *src, int cpu,
			   const struct kmes_record *records, uint32_t count,
			   uint32_t *emitted)
{
	*emitted = 0;
	if (!src->ops->emit_batch)
		return -EOPNOTSUPP;
	return src->ops->emit_batch(src, cpu, records, count, emitted);
}

int kmes_source_counters(struct kmes_source *src, uint16_t cpu,
			 struct kmes_counters *counters)
{
	return src->ops->counters ? src->ops->counters(src, cpu, counters) : -EOPNOTSUPP;
}

int kmes_source_capacity(struct kmes_source *src, uint64_t *capacity,
			 struct kmes_error *err)
{
	if (!src->ops->capacity)
		return kmes_error_set(err, -EOPNOTSUPP,
				      "%s: rings have no capacity to ask for",
				      src->ops->name);
	return src->ops->capacity(src, capacity, err);
}

int kmes_source_set_capacity(struct kmes_source *src, uint64_t capacity,
			     struct kmes_error *err)
{
	if (!src->ops->set_capacity)
		return kmes_error_set(err, -EOPNOTSUPP, "%s: rings cannot be resized",
				      src->ops->name);
	return src->ops->set_capacity(src, capacity, err);
}
