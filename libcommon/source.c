// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* source.c - the public functions of an open source: calls its operations. */
#include "source.h"

#include <errno.h>
#include <string.h>

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

int kmes_source_slots(struct kmes_source *src, struct kmes_error *err)
{
	const struct kmes_source_ops *ops = src->ops;
	int n = ops->slots(src);

	if (n < 0)
		return kmes_error_set(err, n, "%s: cannot ask for the slot count: %s%s",
				      ops->name,
				      ops->reason ? ops->reason(n) : strerror(-n),
				      n == -EPERM ? ops->attach_hint : "");
	return n;
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

int kmesp_source_go_to_cpu(struct kmes_source *src, int cpu)
{
	return src->ops->go_to_cpu ? src->ops->go_to_cpu(src, cpu) : 0;
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
