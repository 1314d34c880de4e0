/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * trace_ring.h - the mapped trace buffer of one CPU, read sub-buffer by sub-buffer.
 */
#ifndef KMES_TRACE_RING_H
#define KMES_TRACE_RING_H
#include "ring.h"
#include "trace/subbuf.h"
#include "trace/trace_format.h"

/* The first page of the mapping; the kernel updates it on each reader ioctl. */
struct kmes_trace_meta {
	uint32_t meta_page_size; /* offset of the sub-buffers, by ascending id */
	uint32_t meta_struct_len;
	uint32_t subbuf_size;
	uint32_t nr_subbufs;
	struct {
		uint64_t lost_events;
		uint32_t id;   /* the reader's sub-buffer */
		uint32_t read; /* bytes of it that are counted as read */
	} reader;
	uint64_t flags;
	uint64_t entries, overrun, read; /* records in it, overwritten, read */
	uint64_t reserved[2];
};

/* From the kernel's monotonic stamps to CLOCK_REALTIME, for the rings of one source. */
struct kmes_trace_clock {
	uint64_t offset_ns; /* to be added */
	uint64_t measured_ns;
};

/* Measures the offset again if the last measurement is too old. */
void kmesp_trace_clock_update(struct kmes_trace_clock *clock);

/* Losses reported so far, compared with the kernel's overrun counter. */
struct kmes_trace_loss {
	uint64_t reported; /* of overrun, as gaps between sequences */
	uint64_t pending;  /* gap before the next record's sequence */
};

/*
 * Accounts for the records lost before a sub-buffer with this header; `count` is its own
 * number of them, if it has one, `overrun` the kernel's counter just afterwards.
 */
void kmesp_trace_loss_begin(struct kmes_trace_loss *loss,
			    const struct kmes_subbuf_head *head, uint64_t count,
			    uint64_t overrun);

/* The buffer was found empty: everything lost until now precedes the next record. */
void kmesp_trace_loss_settle(struct kmes_trace_loss *loss, uint64_t overrun);

/* A buffer opened for reading. */
struct kmes_trace_map {
	int fd; /* -1: closed */
	const uint8_t *base;
	size_t length;
};

/* Maps `folder`/per_cpu/cpuN/trace_pipe_raw. 0 or -errno; -EINVAL: no such buffer. */
int kmesp_trace_map(struct kmes_trace_map *map, const char *folder, uint16_t cpu,
		    struct kmes_error *err);
void kmesp_trace_unmap(struct kmes_trace_map *map);

/* Sets the message for a failed mapping; returns `error`. */
int kmesp_trace_map_error(struct kmes_error *err, uint16_t cpu, int error);

/*
 * Makes `ring` read the mapped buffer; `map`, `clock` and `formats` outlive it. 0 or
 * -errno with a sentence. With `snapshot` it ends with the records older than now.
 */
int kmesp_trace_ring_open(struct kmes_ring *ring, struct kmes_trace_map *map,
			  struct kmes_trace_clock *clock,
			  const struct kmes_trace_formats *formats, bool snapshot,
			  struct kmes_error *err);

#endif
