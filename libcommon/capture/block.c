// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* block.c - blocks that threads write in order, and compress: as many as cores. */
#define ZLIB_CONST
#include "capture/block.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "capture/store.h"

#define THREADS_MAX 16
/* What may be on its way, so far the disk may fall behind for a while: blocks, and bytes. */
#define JOBS_MAX 128
#define BYTES_MAX (JOBS_MAX * (uint64_t)KMES_BLOCK_SIZE)

enum job_state {
	JOB_FREE,
	JOB_FILLING,
	JOB_READY, /* to be compressed */
	JOB_TAKEN, /* by a thread that compresses it */
	JOB_DUE,   /* to be written */
	JOB_GOING, /* being written */
};

struct job {
	struct kmes_block block;
	enum job_state state;
	uint64_t turn;		  /* blocks are written in this order */
	struct kmes_block packed; /* when it is compressed */
	int error;		  /* of compressing */
};

struct kmes_block_sink {
	struct kmes_store store;
	struct kmes_capture_options options;

	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t changed;
	struct job jobs[JOBS_MAX];
	struct job *filling;
	struct job *last;    /* handed over, the newest; NULL: none yet */
	uint64_t next_turn;  /* for the next block handed over */
	uint64_t write_turn; /* whose turn it is to be written */
	bool writing;	     /* some thread does, without the lock */
	bool closing;
	int error;
	uint64_t bytes, safe_events;
	uint64_t on_its_way; /* bytes handed over, not yet written */

	pthread_t threads[THREADS_MAX];
	unsigned int thread_count;
};

/* How many events stand whole in the first `len` bytes of a block. */
static uint64_t count_events(const uint8_t *data, size_t len)
{
	uint64_t events = 0;
	size_t at = 0;

	while (len - at >= KMES_HEADER_SIZE ||
	       (len - at >= KMES_CAPTURE_HEADER_SIZE &&
		!memcmp(data + at, KMES_CAPTURE_MAGIC, 8))) {
		struct kmes_event_header h;

		if (!memcmp(data + at, KMES_CAPTURE_MAGIC, 8)) {
			at += KMES_CAPTURE_HEADER_SIZE;
			continue;
		}
		memcpy(&h, data + at, sizeof(h));
		if (h.event_size > len - at)
			break;
		events += h.type_len != 0;
		at += h.event_size;
	}
	return events;
}

/* Frees a block for the next; one that grew for a huge event gives its memory back. */
static void release(struct job *job)
{
	if (job->block.room > KMES_BLOCK_SIZE) {
		free(job->block.data);
		free(job->packed.data);
		job->block.data = NULL;
		job->packed.data = NULL;
		job->packed.room = 0;
	}
	job->block.used = 0;
	job->block.events = 0;
	job->state = JOB_FREE;
}

static void note_written(struct kmes_block_sink *s, int rc, size_t bytes, uint64_t events)
{
	s->bytes += bytes;
	s->safe_events += events;
	if (rc < 0 && !s->error)
		s->error = rc;
}

/* ---- compressing ---- */

/* One member out of a block. 0 or -ENOMEM; `packed` is grown as needed. */
static int pack(z_stream *z, const struct kmes_block *block, struct kmes_block *packed)
{
	size_t bound;

	/* First: of a stream that has ended the bound leaves out most of gzip's own bytes. */
	deflateReset(z);
	bound = deflateBound(z, block->used);
	if (bound > packed->room) {
		free(packed->data);
		packed->data = malloc(bound);
		packed->room = packed->data ? bound : 0;
		if (!packed->data)
			return -ENOMEM;
	}
	z->next_in = block->data;
	z->avail_in = (uInt)block->used;
	z->next_out = packed->data;
	z->avail_out = (uInt)packed->room;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	packed->used = packed->room - z->avail_out;
	return 0;
}

/* Whether a block that could not be written yet is better left to grow by small pieces. */
static bool may_grow(const struct kmes_block_sink *s, const struct job *job)
{
	return s->writing && job == s->last && job->block.used < KMES_BLOCK_SIZE &&
	       !s->closing;
}

/* The block to be compressed whose turn comes first; NULL: none. */
static struct job *find_ready(struct kmes_block_sink *s)
{
	struct job *first = NULL;
	unsigned int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (s->jobs[i].state == JOB_READY && !may_grow(s, &s->jobs[i]) &&
		    (!first || s->jobs[i].turn < first->turn))
			first = &s->jobs[i];
	return first;
}

/* The block whose turn it is to be written; NULL: it is not ready yet. */
static struct job *find_due(struct kmes_block_sink *s)
{
	unsigned int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (s->jobs[i].state == JOB_DUE && s->jobs[i].turn == s->write_turn)
			return &s->jobs[i];
	return NULL;
}

/* Events that are safe when not all of a block was written; none of half a member. */
static uint64_t count_safe(const struct kmes_block_sink *s, const struct job *job,
			   size_t done)
{
	return s->options.gzip_level ? 0 : count_events(job->block.data, done);
}

/* Writes a block or its member; the lock is held, but for writing. */
static void write_job(struct kmes_block_sink *s, struct job *job)
{
	const struct kmes_block *from = s->options.gzip_level ? &job->packed
							      : &job->block;
	int rc = job->error ? job->error : s->error;
	size_t done = 0;

	job->state = JOB_GOING;
	if (rc == 0) {
		pthread_mutex_unlock(&s->lock);
		rc = kmesp_store_write(&s->store, from->data, from->used, &done);
		pthread_mutex_lock(&s->lock);
	}
	note_written(s, rc, done, rc ? count_safe(s, job, done) : job->block.events);
	s->on_its_way -= job->block.used;
	s->write_turn++;
	release(job);
	pthread_cond_broadcast(&s->changed);
}

/*
 * Writes what is due, unless another thread does, which then finds what we have packed:
 * nobody waits for a turn while there is something to compress.
 */
static void write_due(struct kmes_block_sink *s)
{
	struct job *job;

	if (s->writing)
		return;
	s->writing = true;
	while ((job = find_due(s)))
		write_job(s, job);
	s->writing = false;
}

static void *write_main(void *arg)
{
	struct kmes_block_sink *s = arg;

	pthread_mutex_lock(&s->lock);
	write_due(s);
	while (!s->closing) {
		pthread_cond_wait(&s->changed, &s->lock);
		write_due(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void *pack_main(void *arg)
{
	struct kmes_block_sink *s = arg;
	z_stream z = { 0 };
	bool usable = deflateInit2(&z, s->options.gzip_level, Z_DEFLATED, 15 + 16, 8,
				   Z_DEFAULT_STRATEGY) == Z_OK;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct job *job = find_ready(s);

		if (!job && s->closing)
			break;
		if (!job) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		job->state = JOB_TAKEN;
		pthread_mutex_unlock(&s->lock);
		job->error = usable ? pack(&z, &job->block, &job->packed) : -ENOMEM;
		pthread_mutex_lock(&s->lock);
		job->state = JOB_DUE;
		pthread_cond_broadcast(&s->changed);
		write_due(s);
	}
	pthread_mutex_unlock(&s->lock);
	deflateEnd(&z);
	return NULL;
}

/* ---- the sink ---- */

static unsigned int thread_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned int)n;
}

/* One writes; or all compress, and write what has become due. */
static int start_threads(struct kmes_block_sink *s)
{
	unsigned int n = s->options.gzip_level ? thread_count() : 1;
	void *(*thread_main)(void *) = s->options.gzip_level ? pack_main : write_main;
	sigset_t all, old;
	int rc = 0;

	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (s->thread_count < n && rc == 0) {
		rc = -pthread_create(&s->threads[s->thread_count], NULL, thread_main, s);
		s->thread_count += rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s->thread_count ? 0 : rc;
}

int kmesp_block_sink_new(struct kmes_block_sink **out, int fd,
			 const struct kmes_capture_options *options)
{
	struct kmes_block_sink *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->options = *options;
	kmesp_store_init(&s->store, fd, &s->options);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	rc = start_threads(s);
	if (rc < 0) {
		kmesp_block_sink_close(s, NULL);
		return rc;
	}
	*out = s;
	return 0;
}

/* A free block, rather one that has memory already. */
static struct job *find_free(struct kmes_block_sink *s)
{
	struct job *found = NULL;
	unsigned int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (s->jobs[i].state == JOB_FREE && (!found || s->jobs[i].block.data)) {
			found = &s->jobs[i];
			if (found->block.data)
				break;
		}
	return found;
}

static struct job *wait_for_free(struct kmes_block_sink *s)
{
	struct job *job;

	pthread_mutex_lock(&s->lock);
	while (s->on_its_way >= BYTES_MAX || !(job = find_free(s)))
		pthread_cond_wait(&s->changed, &s->lock);
	job->state = JOB_FILLING;
	pthread_mutex_unlock(&s->lock);
	return job;
}

struct kmes_block *kmesp_block_get(struct kmes_block_sink *s, size_t len)
{
	struct kmes_block *block;

	if (!s->filling)
		s->filling = wait_for_free(s);
	block = &s->filling->block;
	if (len < KMES_BLOCK_SIZE)
		len = KMES_BLOCK_SIZE;
	if (!block->data || block->room < len) {
		free(block->data);
		block->data = malloc(len);
		block->room = len;
	}
	return block->data ? block : NULL;
}

/*
 * Puts what is in a block behind what is in the last one, if no thread has that in hand and
 * there is room: else small pieces would use up the blocks while the disk stands still.
 * What was compressed already is so anew. False: it is a block of its own.
 */
static bool join_last(struct kmes_block_sink *s, struct kmes_block *block)
{
	struct kmes_block *last = s->last ? &s->last->block : NULL;

	if (!last || (s->last->state != JOB_READY && s->last->state != JOB_DUE) ||
	    last->used + block->used > KMES_BLOCK_SIZE)
		return false;
	memcpy(last->data + last->used, block->data, block->used);
	last->used += block->used;
	last->events += block->events;
	block->used = 0;
	block->events = 0;
	return true;
}

int kmesp_block_put(struct kmes_block_sink *s)
{
	struct job *job = s->filling;
	int rc;

	if (!job || !job->block.used)
		return kmesp_block_error(s);
	pthread_mutex_lock(&s->lock);
	s->on_its_way += job->block.used;
	if (!join_last(s, &job->block)) {
		s->filling = NULL;
		s->last = job;
		job->turn = s->next_turn++;
	}
	s->last->state = s->options.gzip_level ? JOB_READY : JOB_DUE;
	pthread_cond_broadcast(&s->changed);
	rc = s->error;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int kmesp_block_error(struct kmes_block_sink *s)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = s->error;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Bytes that a block may make in the file, packed: none if nobody gets to it yet. */
static uint64_t bytes_to_come(const struct kmes_block_sink *s, const struct job *job)
{
	switch (job->state) {
	case JOB_DUE:
	case JOB_GOING:
		return job->packed.used;
	case JOB_READY:
		return may_grow(s, job) ? 0 : job->block.used;
	case JOB_TAKEN: /* noise is not packed to less */
		return job->block.used;
	default:
		return 0;
	}
}

static bool can_reach(const struct kmes_block_sink *s, uint64_t size)
{
	uint64_t bytes = s->bytes;
	unsigned int i;

	if (bytes + s->on_its_way < size)
		return false;
	for (i = 0; i < JOBS_MAX; i++)
		bytes += bytes_to_come(s, &s->jobs[i]);
	return bytes >= size;
}

bool kmesp_block_has_grown_to(struct kmes_block_sink *s, uint64_t size)
{
	bool has_grown;

	pthread_mutex_lock(&s->lock);
	while (s->bytes < size && can_reach(s, size))
		pthread_cond_wait(&s->changed, &s->lock);
	has_grown = s->bytes >= size;
	pthread_mutex_unlock(&s->lock);
	return has_grown;
}

uint64_t kmesp_block_safe_events(struct kmes_block_sink *s)
{
	uint64_t events;

	pthread_mutex_lock(&s->lock);
	events = s->safe_events;
	pthread_mutex_unlock(&s->lock);
	return events;
}

int kmesp_block_sink_close(struct kmes_block_sink *s, uint64_t *safe_events)
{
	bool is_lost;
	unsigned int i;
	int rc;

	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < s->thread_count; i++)
		pthread_join(s->threads[i], NULL);
	rc = kmesp_store_close(&s->store, &is_lost);
	if (is_lost)
		s->safe_events = 0;
	if (s->error)
		rc = s->error;
	if (safe_events)
		*safe_events = s->safe_events;
	for (i = 0; i < JOBS_MAX; i++) {
		free(s->jobs[i].block.data);
		free(s->jobs[i].packed.data);
	}
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return rc;
}
