/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* block.c - writes blocks in order; with compression, by as many threads as cores. */
#define ZLIB_CONST
#include "block.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define THREADS_MAX 16

enum job_state {
	JOB_FREE,
	JOB_FILLING,
	JOB_READY, /* to be compressed */
	JOB_TAKEN,
};

struct job {
	struct kmes_block block;
	enum job_state state;
	uint64_t turn; /* blocks are written in this order */
};

struct kmes_block_sink {
	int fd;
	struct kmes_capture_options options;

	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t changed;
	struct job *jobs;
	unsigned int job_count;
	struct job *filling;
	uint64_t next_turn;  /* for the next block handed over */
	uint64_t write_turn; /* whose turn it is to write */
	bool closing;
	int error;
	uint64_t bytes, safe_events;

	pthread_t threads[THREADS_MAX];
	unsigned int thread_count;
};

/*
 * Writes all of it: 0 or -errno, `*done` bytes having gone out. Nobody else writes
 * meanwhile: the lock, or the turn, is the caller's.
 */
static int write_all(struct kmes_block_sink *s, const uint8_t *data, size_t len,
		     size_t *done)
{
	*done = 0;
	while (*done < len) {
		ssize_t n = write(s->fd, data + *done, len - *done);

		if (n > 0) {
			*done += (size_t)n;
		} else if (n < 0 && errno == ENOSPC && s->options.make_space &&
			   s->options.make_space(s->options.arg) > 0) {
			continue;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

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

static void note_written(struct kmes_block_sink *s, int r, size_t bytes, uint64_t events)
{
	s->bytes += bytes;
	s->safe_events += events;
	if (r < 0 && !s->error)
		s->error = r;
}

/* ---- compressing ---- */

/* One member out of a block. 0 or -ENOMEM; `*packed` is grown as needed. */
static int pack(z_stream *z, const struct kmes_block *block, uint8_t **packed,
		size_t *packed_room, size_t *len)
{
	size_t bound = deflateBound(z, block->used);

	if (bound > *packed_room) {
		uint8_t *p = realloc(*packed, bound);

		if (!p)
			return -ENOMEM;
		*packed = p;
		*packed_room = bound;
	}
	deflateReset(z);
	z->next_in = block->data;
	z->avail_in = (uInt)block->used;
	z->next_out = *packed;
	z->avail_out = (uInt)*packed_room;
	if (deflate(z, Z_FINISH) != Z_STREAM_END)
		return -ENOMEM;
	*len = *packed_room - z->avail_out;
	return 0;
}

/* The ready block whose turn comes first; NULL: none. */
static struct job *find_ready(struct kmes_block_sink *s)
{
	struct job *first = NULL;
	unsigned int i;

	for (i = 0; i < s->job_count; i++)
		if (s->jobs[i].state == JOB_READY &&
		    (!first || s->jobs[i].turn < first->turn))
			first = &s->jobs[i];
	return first;
}

/* Waits for the block's turn and writes its member; the lock is held, but for writing. */
static void write_in_turn(struct kmes_block_sink *s, struct job *job, int packed,
			  const uint8_t *data, size_t len)
{
	int r = packed;
	size_t done = 0;

	while (s->write_turn != job->turn)
		pthread_cond_wait(&s->changed, &s->lock);
	if (!s->error && r == 0) {
		pthread_mutex_unlock(&s->lock);
		r = write_all(s, data, len, &done);
		pthread_mutex_lock(&s->lock);
	} else if (r == 0) {
		r = s->error;
	}
	/* Half a member is worth nothing that could be promised. */
	note_written(s, r, done, r ? 0 : count_events(job->block.data, job->block.used));
	s->write_turn++;
	job->block.used = 0;
	job->state = JOB_FREE;
	pthread_cond_broadcast(&s->changed);
}

static void *pack_main(void *arg)
{
	struct kmes_block_sink *s = arg;
	uint8_t *packed = NULL;
	size_t packed_room = 0;
	z_stream z = { 0 };
	bool usable = deflateInit2(&z, s->options.gzip_level, Z_DEFLATED, 15 + 16, 8,
				   Z_DEFAULT_STRATEGY) == Z_OK;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct job *job = find_ready(s);
		size_t len = 0;
		int r;

		if (!job && s->closing)
			break;
		if (!job) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		job->state = JOB_TAKEN;
		pthread_mutex_unlock(&s->lock);
		r = usable ? pack(&z, &job->block, &packed, &packed_room, &len) : -ENOMEM;
		pthread_mutex_lock(&s->lock);
		write_in_turn(s, job, r, packed, len);
	}
	pthread_mutex_unlock(&s->lock);
	deflateEnd(&z);
	free(packed);
	return NULL;
}

/* ---- the sink ---- */

static unsigned int thread_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned int)n;
}

static int start_threads(struct kmes_block_sink *s, unsigned int n)
{
	sigset_t all, old;
	int r = 0;

	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (s->thread_count < n && r == 0) {
		r = -pthread_create(&s->threads[s->thread_count], NULL, pack_main, s);
		s->thread_count += r == 0;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s->thread_count ? 0 : r;
}

int kmes_block_sink_new(struct kmes_block_sink **out, int fd,
			const struct kmes_capture_options *options)
{
	unsigned int threads = options->gzip_level ? thread_count() : 0;
	struct kmes_block_sink *s = calloc(1, sizeof(*s));
	unsigned int i;
	int r = 0;

	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->fd = fd;
	s->options = *options;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	/* Plain: one block, which the caller writes. Else enough to keep all threads busy. */
	s->job_count = threads ? 2 * threads + 2 : 1;
	s->jobs = calloc(s->job_count, sizeof(*s->jobs));
	if (!s->jobs)
		r = -ENOMEM;
	for (i = 0; r == 0 && i < s->job_count; i++) {
		s->jobs[i].block.room = KMES_BLOCK_SIZE;
		s->jobs[i].block.data = malloc(KMES_BLOCK_SIZE);
		if (!s->jobs[i].block.data)
			r = -ENOMEM;
	}
	if (r == 0 && threads)
		r = start_threads(s, threads);
	if (r < 0) {
		kmes_block_sink_close(s, NULL);
		return r;
	}
	*out = s;
	return 0;
}

static struct job *find_free(struct kmes_block_sink *s)
{
	unsigned int i;

	for (i = 0; i < s->job_count; i++)
		if (s->jobs[i].state == JOB_FREE)
			return &s->jobs[i];
	return NULL;
}

struct kmes_block *kmes_block_get(struct kmes_block_sink *s)
{
	pthread_mutex_lock(&s->lock);
	while (!s->filling) {
		s->filling = find_free(s);
		if (s->filling)
			s->filling->state = JOB_FILLING;
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return &s->filling->block;
}

/* The caller's own thread writes. */
static void put_plain(struct kmes_block_sink *s, struct job *job)
{
	size_t done = 0;
	int r = s->error;

	if (!r)
		r = write_all(s, job->block.data, job->block.used, &done);
	note_written(s, r, done, count_events(job->block.data, done));
	job->block.used = 0;
	job->state = JOB_FREE;
}

int kmes_block_put(struct kmes_block_sink *s)
{
	struct job *job = s->filling;
	int r;

	if (!job || !job->block.used)
		return kmes_block_error(s);
	pthread_mutex_lock(&s->lock);
	s->filling = NULL;
	if (s->thread_count) {
		job->turn = s->next_turn++;
		job->state = JOB_READY;
		pthread_cond_broadcast(&s->changed);
	} else {
		put_plain(s, job);
	}
	r = s->error;
	pthread_mutex_unlock(&s->lock);
	return r;
}

int kmes_block_error(struct kmes_block_sink *s)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = s->error;
	pthread_mutex_unlock(&s->lock);
	return r;
}

uint64_t kmes_block_bytes(struct kmes_block_sink *s)
{
	uint64_t bytes;

	pthread_mutex_lock(&s->lock);
	bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
	return bytes;
}

uint64_t kmes_block_safe_events(struct kmes_block_sink *s)
{
	uint64_t events;

	pthread_mutex_lock(&s->lock);
	events = s->safe_events;
	pthread_mutex_unlock(&s->lock);
	return events;
}

/* A pipe cannot be synced, and need not be. */
static int sync_and_close(int fd)
{
	int r = 0;

	if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int kmes_block_sink_close(struct kmes_block_sink *s, uint64_t *safe_events)
{
	unsigned int i;
	int r;

	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < s->thread_count; i++)
		pthread_join(s->threads[i], NULL);
	r = sync_and_close(s->fd);
	if (s->error)
		r = s->error;
	if (safe_events)
		*safe_events = s->safe_events;
	for (i = 0; s->jobs && i < s->job_count; i++)
		free(s->jobs[i].block.data);
	free(s->jobs);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return r;
}
