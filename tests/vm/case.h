/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * case.h - what the test programs of the virtual machine share: named cases that stop at
 * the first thing that is not as it should be, and the module's calls without the library.
 *
 * A program is a table of cases and KMES_CASES(table). `PROGRAM NAME...` runs them.
 */
#ifndef KMES_VM_CASE_H
#define KMES_VM_CASE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kmes_abi.h"
#include "kmes_msgpack.h"
#include "kmes_ring.h"
#include "kmes_view.h"

struct vm_case {
	const char *name;
	void (*run)(void);
};

__attribute__((format(printf, 1, 2), noreturn)) static inline void
fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

#define check(condition)                                                                 \
	do {                                                                             \
		if (!(condition))                                                        \
			fail("%s:%d: not so: %s (errno %d)", __FILE__, __LINE__,         \
			     #condition, errno);                                         \
	} while (0)

#define check_eq(actual, expected)                                                       \
	do {                                                                             \
		long long a_ = (long long)(actual), e_ = (long long)(expected);          \
		if (a_ != e_)                                                            \
			fail("%s:%d: %s is %lld, expected %lld (errno %d)", __FILE__,    \
			     __LINE__, #actual, a_, e_, errno);                          \
	} while (0)

/* The call fails with just this error. */
#define check_errno(call, expected)                                                      \
	do {                                                                             \
		errno = 0;                                                               \
		long long r_ = (long long)(call);                                        \
		if (r_ != -1 || errno != (expected))                                     \
			fail("%s:%d: %s returned %lld, errno %d; expected errno %d",     \
			     __FILE__, __LINE__, #call, r_, errno, (expected));          \
	} while (0)

#define KMES_CASES(table)                                                                \
	int main(int argc, char **argv)                                                  \
	{                                                                                \
		for (int i = 1; i < argc; i++) {                                         \
			size_t n = 0;                                                    \
			while (n < sizeof(table) / sizeof(table[0]) &&                   \
			       strcmp(table[n].name, argv[i]))                           \
				n++;                                                     \
			if (n == sizeof(table) / sizeof(table[0]))                       \
				fail("no case named %s", argv[i]);                       \
			table[n].run();                                                  \
		}                                                                        \
		return argc < 2;                                                         \
	}

#define SYSFS "/sys/kernel/kmes/"

/* The entries of a folder, as the descriptors in /proc/PID/fd. */
static inline int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	check(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Writes a text into a file; 0 or -errno. */
static inline int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = 0;

	check(fd >= 0);
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

static inline uint64_t file_number(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	check(fd >= 0);
	check(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strtoull(text, NULL, 10);
}

static inline int config_set(const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), SYSFS "%s", name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	return file_write(path, text);
}

static inline uint64_t counter(unsigned int cpu, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "cpu%u/%s", cpu, name);
	return file_number(path);
}

static inline void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* Goes on without these capabilities, in all sets that count. */
static inline void drop_capabilities(uint64_t mask)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	check(syscall(SYS_capget, &head, data) == 0);
	for (int i = 0; i < 2; i++) {
		uint32_t part = (uint32_t)(mask >> (32 * i));

		data[i].effective &= ~part;
		data[i].permitted &= ~part;
		data[i].inheritable &= ~part;
	}
	check(syscall(SYS_capset, &head, data) == 0);
}

#define CAP(name) (1ull << CAP_##name)

/* A child that does not outlive this process. */
static inline pid_t fork_bound(void)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* Ends a child of fork_bound(). */
static inline void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Whether a process, or a thread, is in this state, a letter as in /proc/PID/stat. */
static inline bool task_is(pid_t tid, char state)
{
	char path[64], text[512], found;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	check(f && fgets(text, sizeof(text), f));
	fclose(f);
	check(sscanf(strrchr(text, ')'), ") %c", &found) == 1);
	return found == state;
}

/* A number of /proc/PID/status, as "VmHWM:", of the process whose child this is. */
static inline long parent_status(const char *key)
{
	char path[64], text[4096] = "";
	const char *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	at = strstr(text, key);
	check(at);
	return strtol(at + strlen(key), NULL, 10);
}

/* Runs a function in a child; its exit status, or -signal. */
static inline int in_child(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		run();
		exit(0);
	}
	check(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether storing at `p` ends a process by SIGSEGV. */
static inline bool store_faults(volatile unsigned char *p)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*p = 1;
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static inline int device(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/kmes", O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	return fd;
}

/* Whether the native calls are made, by number, as under kmes-run. */
static inline bool is_native(void)
{
	return getenv("KMES_NATIVE") != NULL;
}

static inline int ring_attach(uint32_t cpu, void *capacity, void *generation)
{
	struct kmes_ioc_attach call = {
		.cpu = cpu,
		.capacity_ptr = (uintptr_t)capacity,
		.generation_ptr = (uintptr_t)generation,
	};

	if (is_native())
		return (int)syscall(KMES_NR_ATTACH, cpu, capacity);
	return ioctl(device(), KMES_IOC_ATTACH, &call);
}

/* The events that all CPUs have emitted. */
static inline uint64_t emitted_by_all(void)
{
	uint64_t sum = 0, slots = 0;

	check(ring_attach(KMES_ATTACH_QUERY_SLOTS, &slots, NULL) == 0);
	for (unsigned int cpu = 0; cpu < slots; cpu++)
		sum += counter(cpu, "emitted_events");
	return sum;
}

struct vm_ring {
	int fd;
	uint64_t capacity, generation;
	unsigned char *base;
	struct kmes_producer_page *producer;
	struct kmes_consumer_page *consumer;
	struct kmes_ring_view view;
};

static inline struct vm_ring ring_open(uint32_t cpu)
{
	struct vm_ring r;

	r.fd = ring_attach(cpu, &r.capacity, &r.generation);
	check(r.fd >= 0);
	r.base = mmap(NULL, KMES_MAPPING_SIZE(r.capacity), PROT_READ | PROT_WRITE,
		      MAP_SHARED, r.fd, 0);
	check(r.base != MAP_FAILED);
	r.producer = (void *)r.base;
	r.consumer = (void *)(r.base + KMES_CONSUMER_OFFSET);
	r.view.producer = r.producer;
	r.view.data = r.base + KMES_DATA_OFFSET;
	r.view.capacity = r.capacity;
	if (is_native())
		r.generation = r.producer->generation;
	return r;
}

static inline void ring_close(struct vm_ring *r)
{
	check(munmap(r->base, KMES_MAPPING_SIZE(r->capacity)) == 0);
	check(close(r->fd) == 0);
}

/* The event at a position of a ring that nobody writes meanwhile. */
struct vm_event {
	struct kmes_event_header h;
	const char *type;
	const unsigned char *payload;
	uint32_t payload_len;
};

static inline struct vm_event ring_event(const struct vm_ring *r, uint64_t pos)
{
	const unsigned char *at = r->view.data + (pos & (r->capacity - 1));
	struct vm_event e;

	memcpy(&e.h, at, sizeof(e.h));
	check(e.h.header_size >= (uint32_t)KMES_HEADER_SIZE + e.h.type_len);
	check(e.h.event_size >= e.h.header_size && e.h.event_size <= r->capacity / 2);
	e.type = (const char *)at + KMES_HEADER_SIZE;
	e.payload = at + e.h.header_size;
	e.payload_len = e.h.event_size - e.h.header_size;
	return e;
}

static inline bool event_is(const struct vm_event *e, const char *type)
{
	return e->h.type_len == strlen(type) && !memcmp(e->type, type, e->h.type_len);
}

/* The newest event of a ring; it has to have one. */
static inline struct vm_event ring_last(const struct vm_ring *r)
{
	uint64_t pos = r->producer->tail_pos;
	struct vm_event e;

	check(pos < r->producer->write_pos);
	for (;;) {
		e = ring_event(r, pos);
		pos += e.h.event_size;
		if (pos == r->producer->write_pos)
			return e;
	}
}

static inline int emit_raw(const void *type, uint16_t type_len, const void *payload,
			   uint32_t payload_len)
{
	struct kmes_ioc_emit call = {
		.type = (uintptr_t)type,
		.type_len = type_len,
		.payload = (uintptr_t)payload,
		.payload_len = payload_len,
	};

	if (is_native())
		return (int)syscall(KMES_NR_EMIT, type, type_len, payload, payload_len);
	return ioctl(device(), KMES_IOC_EMIT, &call);
}

/* An event with an empty map. */
static inline int emit(const char *type)
{
	return emit_raw(type, (uint16_t)strlen(type), "\x80", 1);
}

/* A payload of just `size` bytes: one binary value, filled with `fill`; size over 6. */
static inline unsigned char *sized_payload(uint32_t size, unsigned char fill)
{
	unsigned char *p = malloc(size);
	uint32_t len = size - 5;

	check(p && size > 5);
	p[0] = 0xc6;
	for (int i = 0; i < 4; i++)
		p[1 + i] = (unsigned char)(len >> (24 - 8 * i));
	memset(p + 5, fill, len);
	return p;
}

/* Steps over one value with all that is in it. */
static inline void payload_skip(const uint8_t **pos, const uint8_t *end)
{
	struct kmes_mp_token t;
	uint64_t left = 1;

	while (left--) {
		check(kmes_mp_next(pos, end, &t) == 0);
		if (t.type == KMES_MP_MAP || t.type == KMES_MP_ARRAY)
			left += kmes_mp_values(&t);
	}
}

/* The value at a dotted path of an event's payload, which has to be there. */
static inline struct kmes_mp_token payload_get(const struct vm_event *e, const char *path)
{
	const uint8_t *pos = e->payload, *end = pos + e->payload_len;
	struct kmes_mp_token v, key;

	for (;;) {
		size_t len = strcspn(path, ".");
		uint32_t i;

		check(kmes_mp_next(&pos, end, &v) == 0 && v.type == KMES_MP_MAP);
		for (i = 0; i < v.count; i++) {
			check(kmes_mp_next(&pos, end, &key) == 0);
			if (key.len == len && !memcmp(key.data, path, len))
				break;
			payload_skip(&pos, end);
		}
		if (i == v.count)
			fail("no %s in the payload", path);
		if (!path[len])
			break;
		path += len + 1;
	}
	check(kmes_mp_next(&pos, end, &v) == 0);
	return v;
}

static inline bool payload_is(const struct vm_event *e, const char *path,
			      const char *text)
{
	struct kmes_mp_token t = payload_get(e, path);

	return t.type == KMES_MP_STR && t.len == strlen(text) &&
	       !memcmp(t.data, text, t.len);
}

/* A whole number. */
static inline int64_t payload_number(const struct vm_event *e, const char *path)
{
	struct kmes_mp_token t = payload_get(e, path);

	check(t.type == KMES_MP_UINT || t.type == KMES_MP_INT);
	return t.value.i;
}

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	check(clock_gettime(clock, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ms_since(uint64_t start_ns)
{
	return (now_ns(CLOCK_MONOTONIC) - start_ns) / 1000000;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

#endif
