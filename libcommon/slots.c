// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* slots.c - opens every slot of a source that has a ring. */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>

int kmesp_slots_open(struct kmes_slots *s, struct kmes_source *src,
		     struct kmes_error *err)
{
	int cpu, rc, n = kmes_source_slots(src, err);

	s->objects = NULL;
	s->count = 0;
	if (n < 0)
		return n;
	s->objects = calloc(n ? (size_t)n : 1, s->size);
	if (!s->objects)
		return kmes_error_set(err, -ENOMEM, "out of memory for %d rings", n);
	for (cpu = 0; cpu < n; cpu++) {
		if (s->cpus && !kmes_cpus_has(s->cpus, (uint16_t)cpu))
			continue;
		rc = s->open((char *)s->objects + s->count * s->size, src, (uint16_t)cpu,
			     s->arg, err);
		if (rc == -EINVAL)
			continue;
		if (rc < 0)
			return rc;
		s->count++;
	}
	if (!s->count)
		return kmes_error_set(err, -ENODEV, "%s: no ring%s",
				      kmes_source_name(src),
				      s->cpus ? " of the wanted CPUs" : "");
	return 0;
}
