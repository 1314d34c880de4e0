// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * source_tracefs.c - trace events of a stock kernel: an instance with the selected events
 * enabled, and one mapped buffer per CPU.
 *
 * The instance is created when the first ring is opened, so that a query has no side
 * effects.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source.h"
#include "trace/trace_instance.h"
#include "trace/trace_ring.h"
#include "trace/trace_select.h"

#define EVENTS_DEFAULT "sched/sched_process_*"
/* Per CPU, the default capacity of a KMES ring. */
#define BUFFER_KB "4096"
/* Four pages: fewer swaps of sub-buffers for reader and writer. */
#define SUBBUF_KB "16"
/* The inode of the initial pid namespace, on every kernel. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

struct trace_source {
	struct kmes_source base;
	char *wanted;
	char root[KMES_TRACE_PATH];
	char instance[KMES_TRACE_PATH]; /* "": not created yet */
	int instance_fd;
	struct kmes_trace_formats *formats;
	struct kmes_trace_clock clock;
	struct kmes_trace_map *maps; /* one per slot */
	int slots;
};

static struct trace_source *trace_of(struct kmes_source *src)
{
	return (struct trace_source *)src;
}

static int trace_open(struct kmes_source **out, const char *arg,
		      const volatile sig_atomic_t *stop, struct kmes_error *err)
{
	struct trace_source *t = calloc(1, sizeof(*t));
	int i, rc;

	(void)stop;
	if (!t)
		return -ENOMEM;
	t->base.ops = &kmesp_source_tracefs;
	t->base.fd = -1;
	rc = kmesp_trace_root(t->root, err);
	if (rc == 0) {
		t->slots = kmesp_trace_cpus(t->root);
		rc = t->slots;
		if (rc < 0)
			kmes_error_set(err, rc, "tracefs: %s: %s%s", t->root,
				       strerror(-rc),
				       rc == -EACCES ? " (needs root)" : "");
	}
	if (rc >= 0) {
		t->wanted = strdup(arg ? arg : EVENTS_DEFAULT);
		t->maps = calloc((size_t)t->slots + 1, sizeof(*t->maps));
		rc = t->wanted && t->maps ? 0 : -ENOMEM;
	}
	for (i = 0; rc == 0 && i < t->slots; i++)
		t->maps[i].fd = -1;
	if (rc == 0 && getrandom(t->base.stream_id, sizeof(t->base.stream_id), 0) < 0)
		rc = -errno;
	if (rc < 0) {
		t->slots = 0;
		t->base.ops->close(&t->base);
		return rc;
	}
	*out = &t->base;
	return 0;
}

static void trace_close(struct kmes_source *src)
{
	struct trace_source *t = trace_of(src);
	int i;

	/* Also for rings that a tool did not close because of an error. */
	for (i = 0; i < t->slots; i++)
		kmesp_trace_unmap(&t->maps[i]);
	/* An instance that is busy is removed by the next run. */
	if (*t->instance)
		kmesp_trace_instance_remove(t->instance, t->instance_fd);
	kmesp_trace_formats_free(t->formats);
	free(t->maps);
	free(t->wanted);
	free(t);
}

static int trace_slots(struct kmes_source *src)
{
	return trace_of(src)->slots;
}

/* ---- the instance ---- */

static int set(const struct trace_source *t, const char *file, const char *text,
	       struct kmes_error *err)
{
	int rc = kmesp_trace_write(t->instance, file, text);

	if (rc == -ENOENT)
		return kmes_error_set(err, rc,
				      "tracefs: this kernel has no %s (needs Linux 6.10)",
				      file);
	if (rc < 0)
		return kmes_error_set(err, rc, "tracefs: cannot set %s to %s: %s", file,
				      text, strerror(-rc));
	return 0;
}

/* The reader must not trace itself: reading would produce events to read. */
static int hide_self(const struct trace_source *t, struct kmes_error *err)
{
	struct stat ns;
	char pid[16];

	/* The kernel expects the id in the initial namespace, which we do not know. */
	if (stat("/proc/self/ns/pid", &ns) < 0 || ns.st_ino != FIRST_PID_NAMESPACE)
		return 0;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return set(t, "set_event_notrace_pid", pid, err);
}

static int set_up(const struct trace_source *t, struct kmes_error *err)
{
	static const struct {
		const char *file, *text;
	} settings[] = {
		{ "tracing_on", "0" },	   /* until all events are enabled */
		{ "buffer_percent", "0" }, /* else a few events do not wake the reader */
		{ "trace_clock", "mono" }, /* the same on all CPUs */
		/* If it were off, new records would be dropped without being counted. */
		{ "options/overwrite", "1" },
		{ "buffer_subbuf_size_kb", SUBBUF_KB },
		{ "buffer_size_kb", BUFFER_KB },
	};
	unsigned int i;
	int rc = 0;

	for (i = 0; rc == 0 && i < sizeof(settings) / sizeof(settings[0]); i++)
		rc = set(t, settings[i].file, settings[i].text, err);
	return rc < 0 ? rc : hide_self(t, err);
}

/* Adds the event's format, then enables the event. */
static int enable(struct trace_source *t, const struct kmes_trace_name *name,
		  struct kmes_error *err)
{
	char path[KMES_TRACE_PATH];
	char *text;
	size_t len;
	int rc, n = snprintf(path, sizeof(path), "events/%s/%s/format", name->system,
			     name->event);

	rc = (size_t)n < sizeof(path) ? kmesp_trace_read(t->instance, path, &text, &len)
				      : -ENAMETOOLONG;
	if (rc == 0) {
		rc = kmesp_trace_formats_add(t->formats, name->system, text, len);
		free(text);
		/* Its records become bytes. */
		if (rc == -EBADMSG)
			rc = 0;
	}
	if (rc == 0) {
		snprintf(path, sizeof(path), "events/%s/%s/enable", name->system,
			 name->event);
		rc = kmesp_trace_write(t->instance, path, "1");
	}
	if (rc < 0)
		return kmes_error_set(err, rc, "tracefs: cannot enable %s/%s: %s",
				      name->system, name->event, strerror(-rc));
	return 0;
}

/*
 * Formats of records that need not be enabled, such as those written to our instance's
 * trace_marker. Not every kernel has all of them.
 */
static void add_built_in(struct trace_source *t)
{
	static const char *const names[] = { "print",	 "bprint",	 "bputs",
					     "raw_data", "kernel_stack", "user_stack" };
	char path[64], *text;
	unsigned int i;
	size_t len;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "events/ftrace/%s/format", names[i]);
		if (kmesp_trace_read(t->root, path, &text, &len) < 0)
			continue;
		kmesp_trace_formats_add(t->formats, "ftrace", text, len);
		free(text);
	}
}

static int enable_all(struct trace_source *t, struct kmes_error *err)
{
	struct kmes_trace_names names;
	char *available;
	size_t i, len, gone = 0;
	int rc = kmesp_trace_read(t->root, "available_events", &available, &len);

	if (rc < 0)
		return kmes_error_set(err, rc,
				      "tracefs: cannot read available_events: %s",
				      strerror(-rc));
	rc = kmesp_trace_select(&names, available, t->wanted, err);
	free(available);
	if (rc < 0)
		return rc;
	for (i = 0; rc == 0 && i < names.count; i++) {
		rc = enable(t, &names.name[i], err);
		/*
		 * A dynamic probe may be removed at any time, also after it was listed.
		 */
		if ((rc == -ENOENT || rc == -ENODEV) && ++gone < names.count)
			rc = 0;
	}
	kmesp_trace_names_free(&names);
	add_built_in(t);
	return rc;
}

static int start(struct trace_source *t, struct kmes_error *err)
{
	int rc;

	kmesp_trace_sweep(t->root);
	rc = kmesp_trace_formats_new(&t->formats);
	if (rc < 0)
		return rc;
	t->instance_fd = kmesp_trace_instance_make(t->root, t->instance, err);
	if (t->instance_fd < 0) {
		*t->instance = '\0';
		return t->instance_fd;
	}
	rc = set_up(t, err);
	if (rc == 0)
		rc = enable_all(t, err);
	if (rc == 0)
		rc = set(t, "tracing_on", "1", err);
	kmesp_trace_clock_update(&t->clock);
	return rc;
}

static int trace_ring_open(struct kmes_ring *ring,
			   const struct kmes_reader_options *options,
			   struct kmes_error *err)
{
	struct trace_source *t = trace_of(ring->src);
	struct kmes_trace_map *map = &t->maps[ring->cpu];
	int rc = *t->instance ? 0 : start(t, err);

	if (rc < 0) /* -EINVAL would mean a CPU without a buffer */
		return rc == -EINVAL ? -ENOENT : rc;
	if (map->fd >= 0)
		return kmes_error_set(err, -EBUSY, "cpu%u: the trace buffer has a reader",
				      ring->cpu);
	rc = kmesp_trace_map(map, t->instance, ring->cpu, err);
	if (rc < 0)
		return rc;
	rc = kmesp_trace_ring_open(ring, map, &t->clock, t->formats, options->snapshot,
				   err);
	if (rc < 0)
		kmesp_trace_unmap(map);
	return rc;
}

/* ---- unsupported operations ---- */

static int trace_capacity(struct kmes_source *src, uint64_t *capacity,
			  struct kmes_error *err)
{
	(void)src;
	(void)capacity;
	return kmes_error_set(err, -EOPNOTSUPP,
			      "tracefs: a trace buffer keeps its size while it is "
			      "mapped, so it cannot be resized");
}

static int trace_set_capacity(struct kmes_source *src, uint64_t capacity,
			      struct kmes_error *err)
{
	return trace_capacity(src, &capacity, err);
}

const struct kmes_source_ops kmesp_source_tracefs = {
	.name = "tracefs",
	.attach_hint = "",
	.emit_hint = "",
	.is_explicit = true,
	.open = trace_open,
	.close = trace_close,
	.slots = trace_slots,
	.ring_open = trace_ring_open,
	.capacity = trace_capacity,
	.set_capacity = trace_set_capacity,
};
