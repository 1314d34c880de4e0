// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * subject_cases.c - calls on behalf of another process: the rights they have, also while
 * that process changes its own.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/vm/ring.h"

/* ---- calls for the process of a pidfd ---- */

static int attach_for(int pidfd, uint32_t cpu, uint64_t *capacity)
{
	struct kmes_ioc_attach_for call = {
		.call = { .cpu = cpu, .capacity_ptr = (uintptr_t)capacity },
		.pidfd = pidfd,
	};

	return ioctl(device(), KMES_IOC_ATTACH_FOR, &call);
}

static int query_for(int pidfd)
{
	uint64_t slots;

	return attach_for(pidfd, KMES_ATTACH_QUERY_SLOTS, &slots);
}

static int emit_for(int pidfd, const char *type)
{
	struct kmes_ioc_emit_for call = {
		.call = { .type = (uintptr_t)type,
			  .type_len = (uint16_t)strlen(type),
			  .payload = (uintptr_t) "\x80",
			  .payload_len = 1 },
		.pidfd = pidfd,
	};

	return ioctl(device(), KMES_IOC_EMIT_FOR, &call);
}

static int batch_for(int pidfd, const char *type)
{
	struct kmes_batch_entry entry = { .event_type = (uintptr_t)type,
					  .event_type_len = (uint16_t)strlen(type),
					  .payload = (uintptr_t) "\x80",
					  .payload_len = 1 };
	uint32_t emitted;
	struct kmes_ioc_batch_for call = {
		.call = { .entries = (uintptr_t)&entry,
			  .emitted_out = (uintptr_t)&emitted,
			  .count = 1 },
		.pidfd = pidfd,
	};

	return ioctl(device(), KMES_IOC_BATCH_FOR, &call);
}

/* ---- a set-user-ID program is executed during calls ---- */

#define EXECUTIONS 200
#define ATTACKERS 2
#define SECRET "subject.secret"

static atomic_int race_pidfd = -1;
static atomic_bool race_over;

/* Whether a descriptor's ring has the event that root emitted. */
static bool shows_secret(int fd, uint64_t capacity)
{
	struct kmes_producer_page *page =
		mmap(NULL, KMES_MAPPING_SIZE(capacity), PROT_READ, MAP_SHARED, fd, 0);
	bool found;

	check(page != MAP_FAILED);
	found = memmem((unsigned char *)page + KMES_DATA_OFFSET, page->write_pos, SECRET,
		       strlen(SECRET));
	munmap(page, KMES_MAPPING_SIZE(capacity));
	return found;
}

static bool attack_attach(int pidfd)
{
	static _Thread_local unsigned int cpu;
	uint64_t capacity;
	int fd = attach_for(pidfd, cpu++ % 4, &capacity);

	if (fd < 0)
		return false;
	if (shows_secret(fd, capacity))
		puts("an event of root's was read");
	close(fd);
	return true;
}

static bool attack_query(int pidfd)
{
	return query_for(pidfd) == 0;
}

static bool attack_emit(int pidfd)
{
	return emit_for(pidfd, "subject.forged") == 0;
}

static bool attack_batch(int pidfd)
{
	return batch_for(pidfd, "subject.forged") == 0;
}

/* Each thread makes all calls in turn. */
static struct attack {
	const char *name;
	bool (*call)(int pidfd);
	atomic_ulong calls, won;
} attacks[] = {
	{ .name = "attach", .call = attack_attach },
	{ .name = "query", .call = attack_query },
	{ .name = "emit", .call = attack_emit },
	{ .name = "batch", .call = attack_batch },
};
#define ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

static void *attack_until_over(void *arg)
{
	(void)arg;
	for (size_t i = 0; !atomic_load(&race_over); i = (i + 1) % ATTACKS) {
		attacks[i].won += attacks[i].call(atomic_load(&race_pidfd));
		attacks[i].calls++;
	}
	return NULL;
}

static void *execute_it(void *program)
{
	execl(program, program, NULL);
	_exit(127);
}

/*
 * A child that executes the program as soon as the attackers have its pidfd, in another
 * thread if `by_thread`, else in its first one.
 */
static void execute_once(char *program, bool by_thread)
{
	int go[2], status;
	pthread_t thread;
	char byte;
	pid_t pid;

	check(pipe2(go, O_CLOEXEC) == 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		if (read(go[0], &byte, 1) != 1)
			_exit(127);
		if (!by_thread)
			execute_it(program);
		check(pthread_create(&thread, NULL, execute_it, program) == 0);
		pthread_join(thread, NULL);
	}
	atomic_store(&race_pidfd, pidfd_of(pid));
	check(write(go[1], "x", 1) == 1);
	check(waitpid(pid, &status, 0) == pid && status == 0);
	close(go[0]);
	close(go[1]);
}

/* We have no capabilities; the children gain root's at some point. */
static void set_user_id(void)
{
	char *program = getenv("SET_USER_ID");
	pthread_t threads[ATTACKERS];
	unsigned long won = 0;

	check(program && geteuid() == 65534 && prctl(PR_GET_DUMPABLE) == 1);
	check_errno(emit("subject.forged"), EPERM);
	for (int i = 0; i < ATTACKERS; i++)
		check(pthread_create(&threads[i], NULL, attack_until_over, NULL) == 0);
	for (int i = 0; i < EXECUTIONS; i++)
		execute_once(program, i % 4 == 0);
	atomic_store(&race_over, true);
	for (int i = 0; i < ATTACKERS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < ATTACKS; i++) {
		printf("%s: %lu of %lu calls won\n", attacks[i].name,
		       (unsigned long)attacks[i].won, (unsigned long)attacks[i].calls);
		won += attacks[i].won;
	}
	fflush(stdout);
	check_eq(won, 0);
}

/* ---- which processes may be acted for ---- */

/* All four calls have this result for the process: 0 or EPERM. */
static void check_calls(int pidfd, int expected)
{
	uint64_t capacity;
	int fd = attach_for(pidfd, 0, &capacity);

	check_eq(fd < 0 ? errno : 0, expected);
	if (fd >= 0)
		close(fd);
	check_eq(query_for(pidfd) ? errno : 0, expected);
	check_eq(emit_for(pidfd, "subject.for") ? errno : 0, expected);
	check_eq(batch_for(pidfd, "subject.for") ? errno : 0, expected);
}

/* A child that runs `become` and waits; returns its pidfd. */
static int target_that(void (*becomes)(void), pid_t *pid)
{
	*pid = fork_paused(becomes);
	return pidfd_of(*pid);
}

static void check_target(void (*becomes)(void), int expected)
{
	pid_t pid;
	int pidfd = target_that(becomes, &pid);

	check_calls(pidfd, expected);
	end_child(pid);
	close(pidfd);
}

static void as_we_are(void)
{
}

static void undumpable(void)
{
	check(prctl(PR_SET_DUMPABLE, 0) == 0);
}

static void dumpable_again(void)
{
	undumpable();
	check(prctl(PR_SET_DUMPABLE, 1) == 0);
}

/* By a process that shares its memory. */
static void undumpable_by_another(void)
{
	pid_t pid = vfork();

	if (!pid) {
		prctl(PR_SET_DUMPABLE, 0);
		_exit(0);
	}
	check(waitpid(pid, NULL, 0) == pid);
}

/* For our own user, with only the capabilities that the calls need. */
static void of_the_same_user(void)
{
	check(geteuid() == 65534 && prctl(PR_GET_DUMPABLE) == 1);
	check_target(as_we_are, 0);
	check_target(dumpable_again, 0);
	check_target(undumpable, EPERM);
	check_target(undumpable_by_another, EPERM);
}

/* The same for a caller that may trace every process. */
static void of_a_tracer(void)
{
	check_target(as_we_are, 0);
	check_target(undumpable, 0);
}

/* Of another user, with only the capabilities of the calls. */
static void give_up_privileges(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	data[0].effective = data[0].permitted = 1u << CAP_AUDIT_WRITE;
	data[CAP_AUDIT_READ / 32].permitted |= 1u << CAP_AUDIT_READ % 32;
	data[CAP_AUDIT_READ / 32].effective |= 1u << CAP_AUDIT_READ % 32;
	check(prctl(PR_SET_KEEPCAPS, 1) == 0);
	check(setresgid(65534, 65534, 65534) == 0);
	check(setresuid(65534, 65534, 65534) == 0);
	check(syscall(SYS_capset, &head, data) == 0);
}

/* The memory of a process may have secrets from before it dropped privileges. */
static void of_one_that_gave_up_privileges(void)
{
	pid_t pid;
	int pidfd = target_that(give_up_privileges, &pid);

	give_up_privileges();
	check_calls(pidfd, EPERM);
	end_child(pid);
}

/* A zombie. */
static void of_a_zombie(void)
{
	pid_t pid;
	int pidfd = target_that(as_we_are, &pid);

	kill(pid, SIGKILL);
	while (!task_is(pid, 'Z'))
		sleep_ms(10);
	check_calls(pidfd, EPERM);
	check(waitpid(pid, NULL, 0) == pid);
	check_eq(emit_for(pidfd, "subject.for") ? errno : 0, ESRCH);
}

static void *pause_for_ever(void *arg)
{
	check(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	for (;;)
		pause();
	return arg;
}

/* A process whose first thread has exited while another one continues. */
static void of_a_headless_one(void)
{
	pthread_t thread;
	pid_t pid = fork_bound();
	int pidfd;

	if (!pid) {
		check(pthread_create(&thread, NULL, pause_for_ever, NULL) == 0);
		syscall(SYS_exit, 0);
	}
	while (!task_is(pid, 'Z'))
		sleep_ms(10);
	pidfd = pidfd_of(pid);
	check_calls(pidfd, EPERM);
	end_child(pid);
}

/* From within a user namespace, where we have all capabilities. */
static void of_one_outside(void)
{
	pid_t pid;
	int pidfd = target_that(as_we_are, &pid);

	check(unshare(CLONE_NEWUSER) == 0);
	check_calls(pidfd, EPERM);
	check_target(as_we_are, EPERM);
	end_child(pid);
}

/* ---- identity ---- */

/* The GUID in our events. */
static void own_guid(unsigned char guid[16])
{
	struct vm_ring r;

	pin(0);
	r = ring_open(0);
	check_eq(emit("subject.own"), 0);
	memcpy(guid, ring_last(&r).h.process_guid, 16);
	ring_close(&r);
}

/* The key is random: a GUID cannot be computed from id and start time. */
static void guid_after_reload(void)
{
	static const unsigned char none[16];
	unsigned char guid[16], again[16], other[16];
	int device_fd = device();

	own_guid(guid);
	own_guid(again);
	check(!memcmp(guid, again, 16) && memcmp(guid, none, 16));
	check_eq(guid[7] >> 4, 8);
	check_eq(guid[8] >> 6, 2);
	close(device_fd);
	check(system("rmmod kmes && insmod \"$KMES_MODULE\"") == 0);
	check_eq(open("/dev/kmes", O_RDWR | O_CLOEXEC), device_fd);
	own_guid(other);
	check(memcmp(guid, other, 16) && memcmp(other, none, 16));
}

/* Alternating events of two processes on one CPU. */
static void guids_by_turns(void)
{
	unsigned char mine[16], guid[16];
	struct vm_ring r;
	pid_t pid;
	int pidfd = target_that(as_we_are, &pid);

	own_guid(mine);
	r = ring_open(0);
	check_eq(emit_for(pidfd, "subject.for"), 0);
	memcpy(guid, ring_last(&r).h.process_guid, 16);
	check(memcmp(mine, guid, 16));
	for (int i = 0; i < 100; i++) {
		check_eq(emit("subject.own"), 0);
		check(!memcmp(ring_last(&r).h.process_guid, mine, 16));
		check_eq(i & 1 ? emit_for(pidfd, "subject.for")
			       : batch_for(pidfd, "subject.for"),
			 0);
		check(!memcmp(ring_last(&r).h.process_guid, guid, 16));
	}
	end_child(pid);
	ring_close(&r);
}

static const struct vm_case cases[] = {
	{ "set-user-id", set_user_id }, { "same-user", of_the_same_user },
	{ "tracer", of_a_tracer },	{ "gave-up", of_one_that_gave_up_privileges },
	{ "zombie", of_a_zombie },	{ "headless", of_a_headless_one },
	{ "outside", of_one_outside },	{ "reload", guid_after_reload },
	{ "turns", guids_by_turns },
};

KMES_CASES(cases)
