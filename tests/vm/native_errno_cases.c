// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * native_errno_cases.c - the errors of native calls, and their order.
 *
 * Calls with any two faults: the one that is checked first determines the error.
 * Nothing here depends on how fast tokens are added: where a bucket has to be empty,
 * another thread takes the tokens, by the module's ioctls, and a batch needs more than
 * a bucket holds.
 */
#include <pthread.h>

#include "tests/vm/ring.h"

#define RATE 100
#define TRIES 1000
#define BAD_POINTER 8

static int native_batch(uint64_t entries, uint32_t count, uint64_t emitted)
{
	return (int)syscall(KMES_NR_EMIT_BATCH, entries, count, emitted);
}

static struct kmes_batch_entry entries[KMES_BATCH_MAX + 1];

static void fill_entries(void)
{
	for (unsigned int i = 0; i <= KMES_BATCH_MAX; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "fill",
							.event_type_len = 4,
							.payload = (uintptr_t) "\x80",
							.payload_len = 1 };
}

/* The result of a child's call, and the value at emitted_out. */
struct answer {
	int error;
	uint32_t emitted;
};

static void begin(void)
{
	check_eq(config_set("buffer_capacity", 65536), 0);
	check_eq(config_set("max_emit_rate_per_process", RATE), 0);
}

static void end(void)
{
	check_eq(config_set("max_emit_rate_per_process", 10000), 0);
	check_eq(config_set("buffer_capacity", 4194304), 0);
}

/* Makes the call in a child, which may drop rights, with a set of faults. */
static struct answer answer_to(struct answer (*call)(unsigned int), unsigned int set)
{
	struct answer *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct answer answer;
	int status;
	pid_t pid;

	check(shared != MAP_FAILED);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		drop_capabilities(CAP(SYS_ADMIN));
		*shared = call(set);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0);
	answer = *shared;
	munmap(shared, sizeof(*shared));
	return answer;
}

/* Each single fault and each pair; `expected` has the error of the first one. */
static void try_all(const char *what, struct answer (*call)(unsigned int),
		    const struct answer *expected, int faults)
{
	for (int first = 0; first < faults; first++)
		for (int second = first; second < faults; second++) {
			struct answer a = answer_to(call, 1u << first | 1u << second);

			if (a.error != expected[first].error ||
			    a.emitted != expected[first].emitted)
				fail("%s, faults %d and %d: errno %d, emitted %u; not %d, %u",
				     what, first, second, a.error, a.emitted,
				     expected[first].error, expected[first].emitted);
		}
}

/* ---- single events ---- */

enum emit_fault {
	EMIT_NO_PRIVILEGE,
	EMIT_NO_TOKENS,
	EMIT_NO_TYPE,
	EMIT_PAST_U32,
	EMIT_PAST_EVENT_SIZE,
	EMIT_PAST_HALF,
	EMIT_BAD_TYPE_POINTER,
	EMIT_BAD_PAYLOAD_POINTER,
	EMIT_BAD_TYPE,
	EMIT_BAD_PAYLOAD,
	EMIT_FAULTS,
};

static const struct answer emit_answers[EMIT_FAULTS] = {
	[EMIT_NO_PRIVILEGE] = { EPERM, 0 },
	[EMIT_NO_TOKENS] = { EAGAIN, 0 },
	[EMIT_NO_TYPE] = { EINVAL, 0 },
	[EMIT_PAST_U32] = { EINVAL, 0 },
	[EMIT_PAST_EVENT_SIZE] = { ENOSPC, 0 },
	[EMIT_PAST_HALF] = { ENOSPC, 0 },
	[EMIT_BAD_TYPE_POINTER] = { EFAULT, 0 },
	[EMIT_BAD_PAYLOAD_POINTER] = { EFAULT, 0 },
	[EMIT_BAD_TYPE] = { EINVAL, 0 },
	[EMIT_BAD_PAYLOAD] = { EINVAL, 0 },
};

static uint32_t length_with(unsigned int set)
{
	if (set & 1u << EMIT_PAST_U32)
		return UINT32_MAX - 77;
	if (set & 1u << EMIT_PAST_EVENT_SIZE)
		return 70000;
	return set & 1u << EMIT_PAST_HALF ? 33000 : 10; /* of a ring of 65536 */
}

static int emit_once(unsigned int set)
{
	static unsigned char payload[70000];
	const void *type = set & 1u << EMIT_BAD_TYPE ? "t\xff" : "ty", *bytes = payload;

	/* One binary value of 8 bytes, or a byte that starts no value. */
	memset(payload, 0xc1, sizeof(payload));
	if (!(set & 1u << EMIT_BAD_PAYLOAD))
		memcpy(payload, "\xc4\x08", 2);
	if (set & 1u << EMIT_BAD_TYPE_POINTER)
		type = (void *)BAD_POINTER;
	if (set & 1u << EMIT_BAD_PAYLOAD_POINTER)
		bytes = (void *)BAD_POINTER;
	errno = 0;
	(void)emit_raw(type, set & 1u << EMIT_NO_TYPE ? 0 : 2, bytes, length_with(set));
	return errno;
}

static volatile bool is_empty;

/* Takes all tokens of this process as they are added, without going through kmes-run. */
static void *take_tokens(void *arg)
{
	const struct kmes_ioc_emit call = { .type = (uintptr_t) "taken",
					    .type_len = 5,
					    .payload = (uintptr_t) "\x80",
					    .payload_len = 1 };

	for (;;)
		if (ioctl(device(), KMES_IOC_EMIT, &call) < 0) {
			check_eq(errno, EAGAIN);
			is_empty = true;
		}
	return arg;
}

static void keep_bucket_empty(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, take_tokens, NULL) == 0);
	while (!is_empty)
		sched_yield();
}

static struct answer emit_with(unsigned int set)
{
	bool has_rights = !(set & 1u << EMIT_NO_PRIVILEGE);
	struct answer a = { -1, 0 };
	uint64_t before = emitted_by_all();

	if (set & 1u << EMIT_NO_TOKENS)
		keep_bucket_empty();
	if (!has_rights)
		drop_capabilities(CAP(AUDIT_WRITE));
	/* The thread was too late for a token, so the other fault showed: retry. */
	for (int i = 0; i < TRIES && a.error != EAGAIN; i++) {
		a.error = emit_once(set);
		if (!(set & 1u << EMIT_NO_TOKENS) || !has_rights)
			break;
	}
	if (!(set & 1u << EMIT_NO_TOKENS))
		check_eq(emitted_by_all() - before, a.error == 0);
	return a;
}

/* ---- batches ---- */

enum batch_fault {
	BATCH_NO_PRIVILEGE,
	BATCH_NONE,
	BATCH_TOO_MANY,
	BATCH_NO_TOKENS,
	BATCH_BAD_OUT,
	BATCH_READ_ONLY_OUT,
	BATCH_BAD_ARRAY,
	BATCH_BAD_ENTRY,
	BATCH_FAULTS,
};

/* emitted_out is 77 before; 0 is stored if all checks before the array pass. */
static const struct answer batch_answers[BATCH_FAULTS] = {
	[BATCH_NO_PRIVILEGE] = { EPERM, 77 }, [BATCH_NONE] = { EINVAL, 77 },
	[BATCH_TOO_MANY] = { EINVAL, 77 },    [BATCH_NO_TOKENS] = { EAGAIN, 77 },
	[BATCH_BAD_OUT] = { EFAULT, 77 },     [BATCH_READ_ONLY_OUT] = { EFAULT, 77 },
	[BATCH_BAD_ARRAY] = { EFAULT, 0 },    [BATCH_BAD_ENTRY] = { EINVAL, 3 },
};

static uint32_t *place_for_number(void)
{
	uint32_t *at = mmap(NULL, KMES_PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED);
	*at = 77;
	return at;
}

static uint32_t count_with(unsigned int set)
{
	if (set & 1u << BATCH_NONE)
		return 0;
	if (set & 1u << BATCH_TOO_MANY)
		return KMES_BATCH_MAX + 1;
	return set & 1u << BATCH_NO_TOKENS ? RATE + 1 : 5;
}

static struct answer batch_with(unsigned int set)
{
	uint32_t *number = place_for_number();
	uint64_t at = set & 1u << BATCH_BAD_OUT ? BAD_POINTER : (uintptr_t)number;
	uint64_t array = set & 1u << BATCH_BAD_ARRAY ? BAD_POINTER : (uintptr_t)entries;
	struct answer a;
	uint64_t before;

	fill_entries();
	if (set & 1u << BATCH_BAD_ENTRY)
		entries[3].event_type_len = 0;
	if (set & 1u << BATCH_READ_ONLY_OUT)
		check(mprotect(number, KMES_PAGE_SIZE, PROT_READ) == 0);
	if (set & 1u << BATCH_NO_PRIVILEGE)
		drop_capabilities(CAP(AUDIT_WRITE));
	before = emitted_by_all();
	errno = 0;
	(void)native_batch(array, count_with(set), at);
	a.error = errno;
	a.emitted = *number;
	check_eq(emitted_by_all() - before, a.emitted == 77 ? 0 : a.emitted);
	return a;
}

/* ---- attaching ---- */

enum attach_fault {
	ATTACH_NO_PRIVILEGE,
	ATTACH_BAD_INDEX,
	ATTACH_BAD_POINTER,
	ATTACH_READ_ONLY_POINTER,
	ATTACH_FAULTS,
};

static const struct answer attach_answers[ATTACH_FAULTS] = {
	[ATTACH_NO_PRIVILEGE] = { EPERM, 77 },
	[ATTACH_BAD_INDEX] = { EINVAL, 77 },
	[ATTACH_BAD_POINTER] = { EFAULT, 77 },
	[ATTACH_READ_ONLY_POINTER] = { EFAULT, 77 },
};

static struct answer attach_with(unsigned int set)
{
	uint32_t *number = place_for_number();
	void *at = set & 1u << ATTACH_BAD_POINTER ? (void *)BAD_POINTER : number;
	struct answer a;

	if (set & 1u << ATTACH_READ_ONLY_POINTER)
		check(mprotect(number, KMES_PAGE_SIZE, PROT_READ) == 0);
	if (set & 1u << ATTACH_NO_PRIVILEGE)
		drop_capabilities(CAP(AUDIT_READ));
	errno = 0;
	(void)ring_attach(set & 1u << ATTACH_BAD_INDEX ? KMES_ATTACH_QUERY_SLOTS - 1 : 0,
			  at, NULL);
	a.error = errno;
	a.emitted = *number;
	return a;
}

/* ---- all ---- */

static void order_of_emit(void)
{
	begin();
	check_eq(answer_to(emit_with, 0).error, 0);
	try_all("emit", emit_with, emit_answers, EMIT_FAULTS);
	end();
}

static void order_of_batch(void)
{
	begin();
	check_eq(answer_to(batch_with, 0).error, 0);
	check_eq(answer_to(batch_with, 0).emitted, 5);
	try_all("batch", batch_with, batch_answers, BATCH_FAULTS);
	end();
}

static void order_of_attach(void)
{
	check_eq(answer_to(attach_with, 0).error, 0);
	try_all("attach", attach_with, attach_answers, ATTACH_FAULTS);
}

/* The end of a page after which there is none. */
static unsigned char *end_of_memory(void)
{
	unsigned char *p = mmap(NULL, 2 * KMES_PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	check(mprotect(p + KMES_PAGE_SIZE, KMES_PAGE_SIZE, PROT_NONE) == 0);
	return p + KMES_PAGE_SIZE;
}

static void bad_pointers(void)
{
	unsigned char *end = end_of_memory();
	uint32_t emitted = 77;

	/* Up to the last byte, and one byte past it. */
	memcpy(end - 2, "\x91\x80", 2);
	check_eq(emit_raw("edge", 4, end - 2, 2), 0);
	check_errno(emit_raw("edge", 4, end - 2, 3), EFAULT);
	check_errno(emit_raw(end - 1, 2, "\x80", 1), EFAULT);
	check_eq(ring_attach(KMES_ATTACH_QUERY_SLOTS, end - 8, NULL), 0);
	check_errno(ring_attach(KMES_ATTACH_QUERY_SLOTS, end - 7, NULL), EFAULT);
	check_errno(ring_attach(0, end - 7, NULL), EFAULT);
	fill_entries();
	memcpy(end - 3 * sizeof(entries[0]), entries, 3 * sizeof(entries[0]));
	check_eq(native_batch((uintptr_t)end - 3 * sizeof(entries[0]), 3,
			      (uintptr_t)&emitted),
		 0);
	check_eq(emitted, 3);
	check_errno(native_batch((uintptr_t)end - 3 * sizeof(entries[0]), 4,
				 (uintptr_t)&emitted),
		    EFAULT);
	check_eq(emitted, 0);
	check_errno(native_batch((uintptr_t)entries, 1, (uintptr_t)end - 3), EFAULT);
	/* No program has these addresses. */
	check_errno(emit_raw("x", 1, (void *)0xffffffff81000000ull, 1), EFAULT);
	check_errno(emit_raw((void *)~0ull, 1, "\x80", 1), EFAULT);
	check_errno(emit_raw((void *)0x8000000000000000ull, 1, "\x80", 1), EFAULT);
	/* With length 0, the pointer is not followed. */
	check_errno(emit_raw("x", 1, (void *)BAD_POINTER, 0), EINVAL);
}

/* A payload larger than any event is refused without being copied. */
static void large_event(void)
{
	const uint32_t size = 256u << 20;
	void *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(text != MAP_FAILED);
	check_errno(emit_raw("large", 5, text, size), ENOSPC);
	check(parent_status("VmHWM:") < 65536);
	munmap(text, size);
}

/* Many entries with one large payload, which the size limit allows or not. */
static void large_batches(void)
{
	const uint32_t size = 1u << 20;
	unsigned char *text = sized_payload(size, 'l');
	uint32_t emitted = 77;

	large_event();
	fill_entries();
	for (unsigned int i = 1; i < KMES_BATCH_MAX; i++) {
		entries[i].payload = (uintptr_t)text;
		entries[i].payload_len = size;
	}
	check_errno(native_batch((uintptr_t)entries, KMES_BATCH_MAX, (uintptr_t)&emitted),
		    ENOSPC);
	check_eq(emitted, 1);
	/* kmes-run did not copy what the module would refuse. */
	check(parent_status("VmHWM:") < 65536);
	check_eq(config_set("max_event_size", 4194304), 0);
	check_eq(native_batch((uintptr_t)entries, 40, (uintptr_t)&emitted), 0);
	check_eq(emitted, 40);
	check_eq(config_set("max_event_size", 65536), 0);
	free(text);
}

/* ---- emitted_out within the batch itself ---- */

/* Two entries with a one-byte payload each. */
static void two_entries(struct kmes_batch_entry *two, const void *payload)
{
	fill_entries();
	memcpy(two, entries, 2 * sizeof(two[0]));
	two[1].payload = (uintptr_t)payload;
}

/* When the array is copied, the second entry has no payload any more. */
static void check_number_in_array(struct kmes_batch_entry *two, uint64_t number)
{
	two_entries(two, "\x80");
	check_errno(native_batch((uintptr_t)two, 2, number), EINVAL);
	check_eq(two[1].payload_len, 1);
	check_eq(two[1].event_type_len, 4);
}

static void number_in_the_batch(void)
{
	int fd = (int)syscall(SYS_memfd_create, "twice", MFD_CLOEXEC);
	struct kmes_batch_entry two[2], *same[2];
	uint32_t word;

	check_number_in_array(two, (uintptr_t)&two[1].payload_len);
	/* The same pages at another address. */
	check(fd >= 0 && ftruncate(fd, KMES_PAGE_SIZE) == 0);
	for (int i = 0; i < 2; i++) {
		same[i] = mmap(NULL, KMES_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd, 0);
		check(same[i] != MAP_FAILED);
	}
	close(fd);
	check_number_in_array(same[0], (uintptr_t)&same[1][1].payload_len);
	/* 0xc1 starts no value, 0 is one. */
	word = 0xc1c1c1c1;
	two_entries(two, &word);
	check_eq(native_batch((uintptr_t)two, 2, (uintptr_t)&word), 0);
	check_eq(word, 2);
}

static const struct vm_case cases[] = {
	{ "emit", order_of_emit },     { "batch", order_of_batch },
	{ "attach", order_of_attach }, { "pointers", bad_pointers },
	{ "large", large_batches },    { "overlap", number_in_the_batch },
};

KMES_CASES(cases)
