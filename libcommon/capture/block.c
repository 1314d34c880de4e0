// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* block.c - a queue of blocks that threads compress and write in order. */
#include "capture/block.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/gzip.h"
#include "capture/store.h"

#define THREADS_MAX 16
/* Limits of the queue, in blocks and in bytes: how far the disk may fall behind. */
#define JOBS_MAX 128
#define BYTES_MAX (JOBS_MAX * (uint64_t)KMES_BLOCK_SIZE)

enum job_state {
	JOB_FREE,
	JOB_FILLING,
	JOB_READY, /* ready to be compressed */
	JOB_TAKEN, /* being compressed */
	JOB_DUE,   /* ready to be written */
	JOB_GOING, /* being written */
};

struct job {
	struct kmes_block block;
	enum job_state state;
	uint64_t turn;		  /* order of writing */
	struct kmes_block packed; /* the gzip member */
	int error;		  /* of compressing */
};

struct kmes_block_sink {
	struct kmes_store store;
	struct kmes_capture_options options;

	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t changed;
	struct job jobs[JOBS_MAX];
	struct job *filling;
	struct job *last;    /* enqueued last; NULL: none yet */
	uint64_t next_turn;  /* of the next block enqueued */
	uint64_t write_turn; /* of the next block to be written */
	bool writing;	     /* a thread is writing without the lock */
	bool closing;
	int error;
	uint64_t bytes, safe_events;
	uint64_t pending; /* bytes enqueued, not yet written */

	pthread_t threads[THREADS_MAX];
	unsigned int thread_count;
};

/* The number of complete events in the first `len` bytes of a block. */
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

/* Returns a block to the pool; frees memory that was enlarged for one event. */
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

/* Should a block wait for more small pieces while the disk is busy? */
static bool may_grow(const struct kmes_block_sink *s, const struct job *job)
{
	return s->writing && job == s->last && job->block.used < KMES_BLOCK_SIZE &&
	       !s->closing;
}

/* The first block ready to be compressed; NULL: none. */
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

/* The next block to be written; NULL: it is not ready yet. */
static struct job *find_due(struct kmes_block_sink *s)
{
	unsigned int i;

	for (i = 0; i < JOBS_MAX; i++)
		if (s->jobs[i].state == JOB_DUE && s->jobs[i].turn == s->write_turn)
			return &s->jobs[i];
	return NULL;
}

/* Complete events in a partly written block; a partial gzip member has none. */
static uint64_t count_safe(const struct kmes_block_sink *s, const struct job *job,
			   size_t done)
{
	return s->options.gzip_level ? 0 : count_events(job->block.data, done);
}

/* Writes a block or its member; drops the lock meanwhile. */
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
	s->pending -= job->block.used;
	s->write_turn++;
	release(job);
	pthread_cond_broadcast(&s->changed);
}

/*
 * Writes all blocks that are due, unless another thread is writing: it will find them,
 * and this thread can compress the next block.
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
	struct kmes_gzip *gz = kmesp_gzip_new(s->options.gzip_level);

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
		job->error = gz ? kmesp_gzip_member(gz, &job->block, &job->packed)
				: -ENOMEM;
		pthread_mutex_lock(&s->lock);
		job->state = JOB_DUE;
		pthread_cond_broadcast(&s->changed);
		write_due(s);
	}
	pthread_mutex_unlock(&s->lock);
	kmesp_gzip_free(gz);
	return NULL;
}

/* ---- the sink ---- */

static unsigned int thread_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned int)n;
}

/* One thread that writes; or one per CPU that compress and write. */
static int start_threads(struct kmes_block_sink *s)
{
	unsigned int n = s->options.gzip_level ? thread_count() : 1;
	void *(*thread_main)(void *) = s->options.gzip_level ? pack_main : write_main;
	sigset_t all, old;
	int rc = 0;

	/* Signals are handled by the program's own threads. */
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

/* A free block, preferably one that has memory. */
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
	while (s->pending >= BYTES_MAX || !(job = find_free(s)))
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
 * Appends a block to the last one enqueued, if that is idle and has room, so that small
 * pieces do not use up the blocks while the disk is stalled. A block that was already
 * compressed is compressed again. False: not possible.
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
	s->pending += job->block.used;
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

/* The most bytes that a block adds to the file; 0 while it waits to grow. */
static uint64_t bytes_to_come(const struct kmes_block_sink *s, const struct job *job)
{
	switch (job->state) {
	case JOB_DUE:
	case JOB_GOING:
		return job->packed.used;
	case JOB_READY:
		return may_grow(s, job) ? 0 : job->block.used;
	case JOB_TAKEN: /* incompressible data keeps its size */
		return job->block.used;
	default:
		return 0;
	}
}

static bool can_reach(const struct kmes_block_sink *s, uint64_t size)
{
	uint64_t bytes = s->bytes;
	unsigned int i;

	if (bytes + s->pending < size)
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
