// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * wait.c - one sleep on all rings of a reader (doc/protocol.md, Sleeping).
 *
 * need_wake is set on every ring, then one full fence, then futex_counter is sampled,
 * and only then positions and generations are checked once more: an event after that
 * check finds the flag set, an event before it is seen. need_wake is shared with the
 * ring's other readers, each of which may clear it, so no sleep is longer than
 * SLEEP_MS.
 *
 * A wake costs the writer a system call or more, which a sleep of a few microseconds is
 * not worth: while events arrive that fast, the reader naps with need_wake 0, and arms
 * again after the first nap without a new event.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "reader.h"
#include "wait_group.h"

#define SLEEP_MS 100
/* The poll interval where no futex can be waited on. */
#define NAP_MS 50
/* Sleeps shorter than this are replaced by naps: of this length at first, and at most. */
#define BUSY_NAP_NS 100000
#define BUSY_NAP_MAX_NS 800000
/* If a nap lets more than this part of a ring fill, naps become shorter. */
#define CROWDED_PART 8
/* Naps between two wakes of other sleepers. */
#define WAKE_OTHERS_EVERY 128
/* While an event waits for the watermark. */
#define HELD_NAP_NS 500000

struct kmes_wait {
	unsigned int group_count;
	uint32_t bell;
	bool no_waitv;
	bool is_busy;	    /* events arrive too fast for sleeping */
	unsigned int naps;  /* in a row */
	long nap_ns;	    /* the length of the next one */
	uint64_t looked_ns; /* when look_around() was called last */
	struct kmes_wait_group groups[];
};

int kmesp_wait_new(struct kmes_wait **out, unsigned int ring_count)
{
	unsigned int i, n = 1;
	struct kmes_wait *w;

	if (ring_count > KMES_WAITV_MAX)
		n = (ring_count + KMES_GROUP_RINGS - 1) / KMES_GROUP_RINGS;
	w = calloc(1, sizeof(*w) + n * sizeof(w->groups[0]));
	if (!w)
		return -ENOMEM;
	w->nap_ns = BUSY_NAP_NS;
	w->group_count = 1;
	for (i = 1; i < n; i++) {
		int rc = kmesp_wait_group_start(&w->groups[i], &w->bell);

		if (rc < 0) {
			kmesp_wait_free(w);
			return rc;
		}
		w->group_count++;
	}
	*out = w;
	return 0;
}

void kmesp_wait_free(struct kmes_wait *w)
{
	unsigned int i;

	if (!w)
		return;
	for (i = 1; i < w->group_count; i++)
		kmesp_wait_group_stop(&w->groups[i]);
	free(w);
}

static struct timespec deadline_in(int ms)
{
	return kmesp_timespec(kmesp_clock_ns(CLOCK_MONOTONIC) +
			      (uint64_t)ms * KMES_NS_PER_MS);
}

static void nap_ns(long ns)
{
	struct timespec ts = kmesp_timespec((uint64_t)ns);

	nanosleep(&ts, NULL);
}

/* Clears the flag where there is something to read [N2 N6]; elsewhere it remains set. */
static bool disarm(struct kmes_ring *rings, unsigned int count)
{
	bool news = false;
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!rings[i].ops->has_news(&rings[i]))
			continue;
		kmesp_ring_disarm(&rings[i]);
		news = true;
	}
	return news;
}

/*
 * doc/protocol.md, Sleeping, steps 1 to 4 on all rings; true when there is something to
 * read instead.
 */
static bool arm(struct kmes_wait *w, struct kmes_ring *rings, unsigned int count)
{
	unsigned int per_group = w->group_count > 1 ? KMES_GROUP_RINGS : KMES_WAITV_MAX;
	unsigned int i;

	for (i = 0; i < w->group_count; i++)
		w->groups[i].len = 0;
	for (i = 0; i < count; i++) {
		kmes_store_release(rings[i].mapped.map.need_wake, 1);
		rings[i].mapped.is_armed = true;
	}
	/* Order F, pairs with E and I. */
	kmes_fence_full();
	for (i = 0; i < count; i++) {
		const uint32_t *word = &rings[i].mapped.map.view.producer->futex_counter;

		/* Order M, pairs with L. A shared futex, not a private one [N7]. */
		kmesp_wait_group_add(&w->groups[i / per_group], word,
				     kmes_load_acquire(word), 0);
	}
	return disarm(rings, count);
}

/* Without futex_waitv: one ring by futex(2), several by polling. */
static int sleep_plain(struct kmes_wait_group *g, int timeout_ms)
{
	if (g->len == 1) {
		struct timespec ts = { .tv_sec = 0, .tv_nsec = timeout_ms * 1000000l };

		if (syscall(SYS_futex, (uintptr_t)g->vec[0].uaddr, FUTEX_WAIT,
			    (uint32_t)g->vec[0].val, &ts, NULL, 0) == 0)
			return 1;
		return errno != ETIMEDOUT;
	}
	nap_ns((timeout_ms < NAP_MS ? timeout_ms : NAP_MS) * 1000000l);
	return 0;
}

/* Sleeps on armed rings: 1 woken, 0 time-out. */
static int sleep_armed(struct kmes_wait *w, int timeout_ms)
{
	struct kmes_wait_group *own = &w->groups[0];
	struct timespec deadline = deadline_in(timeout_ms);
	unsigned int i;
	int rc;

	if (w->no_waitv)
		return sleep_plain(own, w->group_count > 1 ? NAP_MS : timeout_ms);
	own->deadline = deadline;
	if (w->group_count > 1)
		kmesp_wait_group_add(own, &w->bell, kmes_load_acquire(&w->bell),
				     FUTEX_PRIVATE_FLAG);
	for (i = 1; i < w->group_count; i++) {
		w->groups[i].deadline = deadline;
		kmesp_wait_group_begin(&w->groups[i]);
	}
	rc = kmesp_wait_group_sleep(own);
	for (i = 1; i < w->group_count; i++)
		kmesp_wait_group_end(&w->groups[i]);
	if (rc != -ENOSYS)
		return rc;
	w->no_waitv = true;
	return 1;
}

/*
 * One poll(2) on everything that is not a futex: the descriptors of rings without one,
 * whether the source is alive, and whether the reader of `watch_fd` has gone (returned).
 */
static int look_around(struct kmes_reader *rd, int watch_fd, int timeout_ms)
{
	enum { OTHERS = 2 };
	struct pollfd *fds = calloc(rd->ring_count + OTHERS, sizeof(*fds));
	unsigned int i, n = OTHERS;
	int gone = 0;

	if (!fds)
		return 0;
	fds[0].fd = kmes_source_fd(rd->src);
	fds[0].events = POLLIN;
	fds[1].fd = watch_fd;
	for (i = 0; i < rd->ring_count; i++) {
		if (rd->rings[i].fd < 0)
			continue;
		fds[n].fd = rd->rings[i].fd;
		fds[n++].events = POLLIN;
	}
	if ((timeout_ms || fds[0].fd >= 0 || watch_fd >= 0) &&
	    poll(fds, n, timeout_ms) > 0) {
		if (fds[0].revents && !kmes_source_alive(rd->src))
			rd->source_gone = true;
		gone = (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
	}
	free(fds);
	return gone;
}

/*
 * need_wake is shared: when this reader cleared it, another one may just have fallen
 * asleep relying on it. The writer will not wake that reader during a nap, so this one
 * does.
 */
static void wake_others(const struct kmes_ring *ring)
{
	syscall(SYS_futex, &ring->mapped.map.view.producer->futex_counter, FUTEX_WAKE,
		INT_MAX, NULL, NULL, 0);
}

static bool is_crowded(const struct kmes_ring *ring)
{
	uint64_t fresh = ring->ops->newest(ring) - kmesp_ring_position(ring);

	return fresh > ring->mapped.map.view.capacity / CROWDED_PART;
}

/*
 * One nap. More follow while each finds new events, of a length that leaves room in the
 * rings. Other sleepers are woken after the first nap, and from time to time.
 */
static void nap(struct kmes_wait *w, const struct kmes_ring *rings, unsigned int count)
{
	bool crowded = false;
	unsigned int i;

	nap_ns(w->nap_ns);
	w->is_busy = false;
	for (i = 0; i < count; i++) {
		if (!rings[i].ops->has_news(&rings[i]))
			continue;
		w->is_busy = true;
		crowded |= is_crowded(&rings[i]);
		if (w->naps % WAKE_OTHERS_EVERY == 0)
			wake_others(&rings[i]);
	}
	w->naps = w->is_busy ? w->naps + 1 : 0;
	if (!w->is_busy || (crowded && w->nap_ns > BUSY_NAP_NS))
		w->nap_ns = BUSY_NAP_NS;
	else if (!crowded && w->nap_ns < BUSY_NAP_MAX_NS)
		w->nap_ns *= 2;
}

/* Waits until a ring may have something to read: true; false: timed out. */
static bool wait_for_rings(struct kmes_reader *rd, int timeout_ms)
{
	uint64_t begun_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	struct kmes_wait *w = rd->wait;
	bool woken;

	if (w->is_busy && timeout_ms) {
		nap(w, rd->rings, rd->ring_count);
		return true;
	}
	w->is_busy = arm(w, rd->rings, rd->ring_count);
	if (w->is_busy || !timeout_ms)
		return true;
	woken = sleep_armed(w, timeout_ms);
	w->is_busy = woken && kmesp_clock_ns(CLOCK_MONOTONIC) - begun_ns < BUSY_NAP_NS;
	disarm(rd->rings, rd->ring_count);
	return woken;
}

int kmes_reader_wait(struct kmes_reader *rd, int timeout_ms, int watch_fd)
{
	struct kmes_wait *w = rd->wait;
	bool woken = true;
	uint64_t now_ns;

	if (timeout_ms < 0 || timeout_ms > SLEEP_MS)
		timeout_ms = SLEEP_MS;
	if (rd->heap.len)
		nap_ns(HELD_NAP_NS);
	else if (rd->rings[0].ops->is_polled)
		/* The short timeout limits the delay if a wake-up is ever missing. */
		return look_around(rd, watch_fd,
				   timeout_ms < NAP_MS ? timeout_ms : NAP_MS);
	else
		woken = wait_for_rings(rd, timeout_ms);
	now_ns = kmesp_clock_ns(CLOCK_MONOTONIC);
	if (woken && now_ns - w->looked_ns < SLEEP_MS * 1000000ull)
		return 0;
	w->looked_ns = now_ns;
	return look_around(rd, watch_fd, 0);
}
