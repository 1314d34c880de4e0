// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * stage_cases.c - emitters that stage a lot of memory, in a machine that has little.
 *
 * A flooder emits batches as large as a ring from many threads or processes. The last
 * payload may be on a missing page, which the test provides by userfaultfd(2): so each
 * caller is stopped after everything else of its batch has been copied, for as long as
 * the test needs.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>

#include "tests/vm/ring.h"

#define CALLERS 150
#define EVENTS 64
#define FAT 65000
#define HUGE_EVENT 2097152 /* half a ring */

static struct kmes_batch_entry entries[EVENTS];
static unsigned char *stop_page; /* the missing page of a payload */
static int stop_fd = -1;
static unsigned char *huge; /* the payload of large single events, else NULL */
static long page_size = 4096;

/* The state of the flooder, in memory that all its processes share. */
struct tally {
	int calls, done, refused, wrong;
	int stopped, go_on;
};

static struct tally *tally;

static void add(int *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

static int get(const int *count)
{
	return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

/* A child that has ended at this point has failed one of its checks. */
static void check_children(void)
{
	siginfo_t ended = { 0 };

	if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0)
		check_eq(ended.si_pid, 0);
}

static void wait_for(const int *count, int at_least)
{
	while (get(count) < at_least) {
		check_children();
		sleep_ms(10);
	}
}

static void prepare(void)
{
	unsigned char *fat = sized_payload(FAT, 7);

	for (unsigned int i = 0; i < EVENTS; i++)
		entries[i] = (struct kmes_batch_entry){
			.event_type = (uintptr_t) "fat",
			.event_type_len = 3,
			.payload = (uintptr_t)fat,
			.payload_len = FAT,
		};
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(tally != MAP_FAILED);
}

/* Makes `count` pages from `stop_page` on missing in this process. */
static void remove_stop_pages(unsigned int count)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	stop_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	check(stop_fd >= 0);
	check(ioctl(stop_fd, UFFDIO_API, &api) == 0);
	range.range.start = (uintptr_t)stop_page;
	range.range.len = count * (uint64_t)page_size;
	check(ioctl(stop_fd, UFFDIO_REGISTER, &range) == 0);
}

static unsigned char *map_memory(size_t size)
{
	unsigned char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	return p;
}

/* Makes the last payload of this process's batches missing. */
static void prepare_stop(void)
{
	stop_page = map_memory((size_t)page_size);
	remove_stop_pages(1);
	entries[EVENTS - 1].payload = (uintptr_t)stop_page;
	entries[EVENTS - 1].payload_len = 1;
}

/* Makes the end of this process's large events missing. */
static void prepare_huge_stop(void)
{
	uint32_t size = HUGE_EVENT - 80;
	unsigned char *p = sized_payload(size, 1);

	huge = map_memory(HUGE_EVENT);
	memcpy(huge, p, HUGE_EVENT - (size_t)page_size);
	free(p);
	stop_page = huge + HUGE_EVENT - page_size;
	remove_stop_pages(1);
}

/* Whether a thread waits for the missing page. */
static bool is_stopped(void)
{
	struct uffd_msg message;

	return read(stop_fd, &message, sizeof(message)) == sizeof(message);
}

/* Fills a missing page with an empty map. */
static void resume_page(unsigned char *page)
{
	static unsigned char content[4096] = { 0x80 };
	struct uffdio_copy copy = { .dst = (uintptr_t)page,
				    .src = (uintptr_t)content,
				    .len = sizeof(content) };

	check(ioctl(stop_fd, UFFDIO_COPY, &copy) == 0);
}

static void resume(void)
{
	resume_page(stop_page);
}

static int batch_of(const struct kmes_batch_entry *first, uint32_t count)
{
	uint32_t emitted;
	struct kmes_ioc_batch call = { .entries = (uintptr_t)first,
				       .emitted_out = (uintptr_t)&emitted,
				       .count = count };

	return ioctl(device(), KMES_IOC_BATCH, &call);
}

static int batch(uint32_t count)
{
	return batch_of(entries, count);
}

/* Emits a batch, which fails if it has to wait for other processes for too long. */
static void call_once(void)
{
	add(&tally->calls);
	if ((huge ? emit_raw("huge", 3, huge, HUGE_EVENT - 80) : batch(EVENTS)) == 0)
		add(&tally->done);
	else if (errno == ENOMEM || errno == EAGAIN)
		add(&tally->refused);
	else
		add(&tally->wrong);
}

static void *caller_once(void *arg)
{
	(void)arg;
	call_once();
	return NULL;
}

static void *caller_forever(void *arg)
{
	(void)arg;
	for (;;)
		call_once();
	return NULL;
}

/* A process that may emit and has no other capability. */
static void become_flooder(void)
{
	drop_capabilities(~CAP(AUDIT_WRITE));
}

static void start_threads(pthread_t *threads, void *(*run)(void *))
{
	pthread_attr_t attr;

	check(pthread_attr_init(&attr) == 0);
	check(pthread_attr_setstacksize(&attr, 65536) == 0);
	for (int i = 0; i < CALLERS; i++)
		check(pthread_create(&threads[i], &attr, run, NULL) == 0);
}

/* A bystander that uses a lot of memory. */
static pid_t start_bystander(void)
{
	pid_t pid = fork_bound();

	if (!pid) {
		check(mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
			   0) != MAP_FAILED);
		for (;;)
			pause();
	}
	return pid;
}

static void check_bystander(pid_t pid)
{
	check_eq(waitpid(pid, NULL, WNOHANG), 0);
	end_child(pid);
}

/* Others can emit; if all staging memory is taken, only small events. */
static void check_others(void)
{
	unsigned char *fat = sized_payload(60000, 1);
	uint64_t before;

	before = counter(0, "emitted_events");
	pin(0);
	for (int i = 0; i < 20; i++) {
		check_eq(emit("other"), 0);
		check_eq(emit_raw("other.fat", 9, fat, 60000), 0);
	}
	check(counter(0, "emitted_events") >= before + 40);
	free(fat);
}

/* Each thread is stopped with a ring's capacity copied, or waits for its turn. */
static void stop_threads(bool large_events)
{
	pid_t bystander, flooder;
	int status;

	prepare();
	bystander = start_bystander();
	flooder = fork_bound();
	if (!flooder) {
		static pthread_t threads[CALLERS];

		/* Exemption from the rate does not exempt from this limit. */
		if (large_events) {
			prepare_huge_stop();
		} else {
			prepare_stop();
			become_flooder();
		}
		start_threads(threads, caller_once);
		while (!is_stopped())
			sleep_ms(10);
		wait_for(&tally->calls, CALLERS);
		sleep_ms(1000);
		/* Small events are not limited, not even for this process. */
		while (emit("own") && errno == EAGAIN)
			sleep_ms(100);
		check_eq(get(&tally->done), 0);
		add(&tally->stopped);
		wait_for(&tally->go_on, 1);
		resume();
		for (int i = 0; i < CALLERS; i++)
			pthread_join(threads[i], NULL);
		_exit(get(&tally->done) != CALLERS);
	}
	wait_for(&tally->stopped, 1);
	check_others();
	/* There is room for another process. */
	check_eq(batch(16), 0);
	add(&tally->go_on);
	check_eq(waitpid(flooder, &status, 0), flooder);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	check_eq(get(&tally->wrong), 0);
	check_bystander(bystander);
}

static void threads_stopped(void)
{
	stop_threads(false);
}

static void large_events_stopped(void)
{
	check_eq(config_set("max_event_size", HUGE_EVENT), 0);
	stop_threads(true);
	check_eq(config_set("max_event_size", 65536), 0);
}

/* Processes share the common limit; those that exceed it are refused. */
static void processes_stopped(void)
{
	static pid_t flooders[CALLERS];
	pid_t bystander;

	prepare();
	bystander = start_bystander();
	for (int i = 0; i < CALLERS; i++) {
		flooders[i] = fork_bound();
		if (!flooders[i]) {
			prepare_stop();
			become_flooder();
			call_once();
			for (;;)
				pause();
		}
	}
	/* All but a few fail with ENOMEM, and none waits forever. */
	wait_for(&tally->refused, CALLERS / 2);
	check_others();
	check_eq(get(&tally->done) + get(&tally->wrong), 0);
	for (int i = 0; i < CALLERS; i++)
		end_child(flooders[i]);
	/* Everything has been returned. */
	check_eq(batch(EVENTS), 0);
	check_bystander(bystander);
}

/* All emit as fast as they can for some seconds; none is stopped. */
static void flood(bool threads)
{
	static pid_t flooders[CALLERS];
	static pthread_t thread_ids[CALLERS];
	pid_t bystander;
	int n = threads ? 1 : CALLERS;

	prepare();
	bystander = start_bystander();
	check_eq(config_set("max_emit_rate_per_process", 1000000), 0);
	for (int i = 0; i < n; i++) {
		flooders[i] = fork_bound();
		if (!flooders[i]) {
			become_flooder();
			if (threads)
				start_threads(thread_ids, caller_forever);
			caller_forever(NULL);
		}
	}
	for (int i = 0; i < 4; i++) {
		sleep_ms(500);
		check_others();
	}
	wait_for(&tally->done, 1);
	check_eq(get(&tally->wrong), 0);
	for (int i = 0; i < n; i++)
		end_child(flooders[i]);
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
	check_bystander(bystander);
}

static void flood_of_threads(void)
{
	flood(true);
}

static void flood_of_processes(void)
{
	flood(false);
}

/* A thread whose batch stops at a missing page of its own. */
struct sibling {
	pthread_t thread;
	unsigned char *page;
	uint32_t count;
	pid_t tid;
};

static void *sibling_main(void *arg)
{
	struct sibling *s = arg;
	struct kmes_batch_entry own[EVENTS];

	memcpy(own, entries, sizeof(own));
	own[s->count - 1].payload = (uintptr_t)s->page;
	own[s->count - 1].payload_len = 1;
	__atomic_store_n(&s->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	check_eq(batch_of(own, s->count), 0);
	return NULL;
}

static void start_sibling(struct sibling *s, unsigned int page, uint32_t count)
{
	*s = (struct sibling){ .page = stop_page + page * page_size, .count = count };
	check(pthread_create(&s->thread, NULL, sibling_main, s) == 0);
}

static void wait_until_blocked(const struct sibling *s)
{
	while (!__atomic_load_n(&s->tid, __ATOMIC_SEQ_CST) || !task_is(s->tid, 'D'))
		sleep_ms(10);
}

/* One call returns its memory, and two that wait for it have room: both must go on. */
static void siblings_woken(void)
{
	struct sibling first, others[2];
	int stopped = 0;

	prepare();
	stop_page = map_memory(3 * (size_t)page_size);
	remove_stop_pages(3);
	start_sibling(&first, 0, EVENTS);
	while (!is_stopped())
		sleep_ms(10);
	for (unsigned int i = 0; i < 2; i++) {
		start_sibling(&others[i], 1 + i, EVENTS / 8);
		wait_until_blocked(&others[i]);
	}
	resume_page(first.page);
	pthread_join(first.thread, NULL);
	for (int tries = 0; tries < 600 && stopped < 2; tries++) {
		stopped += is_stopped();
		sleep_ms(100);
	}
	check_eq(stopped, 2);
	for (int i = 0; i < 2; i++) {
		resume_page(others[i].page);
		pthread_join(others[i].thread, NULL);
	}
}

static const struct vm_case cases[] = {
	{ "siblings-woken", siblings_woken },
	{ "threads-stopped", threads_stopped },
	{ "large-events-stopped", large_events_stopped },
	{ "processes-stopped", processes_stopped },
	{ "threads", flood_of_threads },
	{ "processes", flood_of_processes },
};

KMES_CASES(cases)
