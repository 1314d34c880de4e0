// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* native_cases.c - programs that make the native calls, for kmes-run. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "tests/vm/ring.h"

enum { MANY = 1000 };

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void tick_every_ms(bool on, int flags)
{
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = flags };
	struct itimerval tick = { { 0, 1000 }, { 0, 1000 } },
			 off = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, on ? &tick : &off, NULL);
}

/* A signal during a call does not repeat it. */
static void under_a_timer(void)
{
	uint64_t before = emitted_by_all();

	tick_every_ms(true, SA_RESTART);
	for (int i = 0; i < MANY; i++)
		check_eq(emit("native.tick"), 0);
	tick_every_ms(false, SA_RESTART);
	check(ticks > MANY / 100);
	check_eq(emitted_by_all() - before, MANY);
}

/* Without SA_RESTART, a call may end before kmes-run gets it, with nothing done. */
static void under_a_plain_timer(void)
{
	uint64_t before = emitted_by_all();

	tick_every_ms(true, 0);
	for (int i = 0; i < MANY / 5;) {
		if (emit("native.tick") == 0)
			i++;
		else
			check_eq(errno, EINTR);
	}
	tick_every_ms(false, 0);
	check(ticks > MANY / 100);
	check_eq(emitted_by_all() - before, MANY / 5);
}

static void *emit_some(void *arg)
{
	uint64_t capacity;

	(void)arg;
	for (int i = 0; i < 50; i++) {
		check_eq(emit("native.thread"), 0);
		if (i % 10 == 0)
			check_eq(close(ring_attach(0, &capacity, NULL)), 0);
	}
	return NULL;
}

static void threads_and_children(void)
{
	uint64_t before = emitted_by_all();
	pthread_t threads[4];
	int status;

	for (int i = 0; i < 4; i++)
		check(pthread_create(&threads[i], NULL, emit_some, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			emit_some(NULL);
			exit(0);
		}
	while (wait(&status) > 0)
		check_eq(status, 0);
	check_eq(emitted_by_all() - before, 8 * 50);
}

/* Attach, mmap, and find the emitted event with the identity of this process. */
static void attach_and_read(void)
{
	struct vm_ring r;
	struct kmes_event_header h;
	unsigned char buf[4096];
	struct kmes_ring_span span;
	uint64_t pos;

	pin(0);
	r = ring_open(0);
	check(fcntl(r.fd, F_GETFD) & FD_CLOEXEC);
	pos = kmes_load_acquire(&r.producer->write_pos);
	check_eq(emit("native.read"), 0);
	check_eq(kmes_ring_copy(&r.view, pos, buf, sizeof(buf), &span), 0);
	check(span.len > KMES_HEADER_SIZE);
	memcpy(&h, buf + span.skip, sizeof(h));
	check_eq(h.type_len, strlen("native.read"));
	check(!memcmp(buf + span.skip + KMES_HEADER_SIZE, "native.read", h.type_len));
	ring_close(&r);
}

/* Arguments are truncated to their width, as by a system call. */
static void truncated_arguments(void)
{
	struct kmes_batch_entry entry = { .event_type = (uintptr_t) "ab",
					  .event_type_len = 2,
					  .payload = (uintptr_t) "\x80",
					  .payload_len = 1 };
	uint64_t slots = 0, capacity = 0;
	uint32_t emitted = 77;

	check_eq(syscall(KMES_NR_ATTACH, 0xabcd0000FFFFFFFFull, &slots), 0);
	check(slots > 0);
	check_eq(close((int)syscall(KMES_NR_ATTACH, 0x100000000ull, &capacity)), 0);
	check(capacity > 0);
	check_eq(syscall(KMES_NR_EMIT, "ab", 0x10002ull, "\x80", 0x100000001ull), 0);
	check_errno(syscall(KMES_NR_EMIT, "ab", 0x10000ull, "\x80", 1), EINVAL);
	check_errno(syscall(KMES_NR_EMIT, "ab", 2, "\x80", 0x100000000ull), EINVAL);
	check_eq(syscall(KMES_NR_EMIT_BATCH, &entry, 0x100000001ull, &emitted), 0);
	check_eq(emitted, 1);
	check_errno(syscall(KMES_NR_EMIT_BATCH, &entry, 0x100000000ull, &emitted),
		    EINVAL);
}

static void continue_parent(int sig)
{
	(void)sig;
	kill(getppid(), SIGCONT);
	_exit(1);
}

/* Other calls do not go through kmes-run: they return while it is stopped. */
static void other_calls(void)
{
	const long others[] = { KMES_NR_EMIT - 1, KMES_NR_EMIT_BATCH + 1 };
	pid_t parent = getppid();

	signal(SIGALRM, continue_parent);
	alarm(20);
	check(kill(parent, SIGSTOP) == 0);
	for (int i = 0; i < 2; i++)
		check_errno(syscall(others[i], "ab", 2, "\x80", 1), ENOSYS);
#ifdef __x86_64__
	/* The same numbers in the ABI of 32-bit pointers. */
	check_errno(syscall(0x40000000 | KMES_NR_EMIT, "ab", 2, "\x80", 1), ENOSYS);
#endif
	check(kill(parent, SIGCONT) == 0);
	alarm(0);
}

/* The descriptors of kmes-run, our parent, while it waits for the next call. */
struct belongings {
	int descriptors;
	long memory_kib;
};

static struct belongings parents_belongings(void)
{
	struct belongings b;
	char path[64];

	/* Answered, so it is also done with starting the program. */
	check_eq(emit("native.idle"), 0);
	snprintf(path, sizeof(path), "/proc/%d/fd", getppid());
	b.descriptors = count_entries(path);
	b.memory_kib = parent_status("VmSize:");
	return b;
}

static void check_parent_has(struct belongings before)
{
	struct belongings now = parents_belongings();

	check_eq(now.descriptors, before.descriptors);
	check_eq(now.memory_kib, before.memory_kib);
}

static _Noreturn void call_for_ever(int which)
{
	struct kmes_batch_entry entries[20];
	uint64_t capacity;
	uint32_t emitted;

	for (int i = 0; i < 20; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "many",
							.event_type_len = 4,
							.payload = (uintptr_t) "\x80",
							.payload_len = 1 };
	for (;;)
		switch (which) {
		case 0:
			check_eq(emit("native.killed"), 0);
			break;
		case 1:
			check_eq(syscall(KMES_NR_EMIT_BATCH, entries, 20, &emitted), 0);
			break;
		default:
			check_eq(close(ring_attach(0, &capacity, NULL)), 0);
		}
}

/* A process killed during a call does not disturb others, and nothing is leaked. */
static void killed_callers(void)
{
	struct belongings before = parents_belongings();

	for (int i = 0; i < 150; i++) {
		pid_t pid = fork_bound();
		int status;

		if (!pid)
			call_for_ever(i % 3);
		usleep((useconds_t)(i * 37 % 3000));
		kill(pid, SIGKILL);
		check(waitpid(pid, &status, 0) == pid);
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	check_eq(emit("native.after"), 0);
	check_parent_has(before);
}

static void *emit_for_ever(void *arg)
{
	(void)arg;
	call_for_ever(0);
}

/* A thread executes another program while others are in calls. */
static void exec_amid_calls(void)
{
	char *text = getenv("KMES_TEST_ROUND"), next[16];
	int round = text ? atoi(text) : 0;
	pthread_t thread;

	check_eq(emit("native.round"), 0);
	if (round == 20)
		return;
	for (int i = 0; i < 3; i++)
		check(pthread_create(&thread, NULL, emit_for_ever, NULL) == 0);
	usleep((useconds_t)(round * 211 % 4000));
	snprintf(next, sizeof(next), "%d", round + 1);
	setenv("KMES_TEST_ROUND", next, 1);
	execl("/proc/self/exe", "native_cases", "exec", NULL);
	fail("cannot execute this program again");
}

/* Refused calls leak no descriptor, neither here nor in kmes-run. */
static void no_descriptor_left(void)
{
	struct rlimit limit;
	uint64_t capacity;
	int here = count_entries("/proc/self/fd");
	struct belongings there = parents_belongings();

	for (int i = 0; i < 50; i++) {
		check_errno(ring_attach(0, (void *)8, NULL), EFAULT);
		check_errno(ring_attach(0xFFFFFFFE, &capacity, NULL), EINVAL);
		check_errno(emit_raw("x", 1, (void *)8, 1), EFAULT);
	}
	check(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = (rlim_t)dup(0);
	close((int)limit.rlim_cur);
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < 50; i++)
		check_errno(ring_attach(0, &capacity, NULL), EMFILE);
	limit.rlim_cur = limit.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	check_eq(count_entries("/proc/self/fd"), here);
	check_parent_has(there);
}

/* A signal queued to kmes-run arrives here with its value. */
static void passed_signals(void)
{
	const int signals[] = { SIGHUP,	 SIGINT,  SIGQUIT,	SIGUSR1,
				SIGUSR2, SIGPIPE, SIGTERM,	SIGWINCH,
				SIGPWR,	 SIGURG,  SIGRTMIN + 3, SIGRTMAX,
				SIGABRT, SIGSEGV, SIGBUS,	SIGTRAP };
	struct timespec limit = { 60, 0 };
	siginfo_t info;
	sigset_t set;

	sigfillset(&set);
	check(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		union sigval value = { .sival_int = 42 + (int)i };

		check(sigqueue(getppid(), signals[i], value) == 0);
		check_eq(sigtimedwait(&set, &info, &limit), signals[i]);
		check_eq(info.si_value.sival_int, value.sival_int);
	}
	check(kill(getppid(), SIGUSR1) == 0);
	check_eq(sigtimedwait(&set, &info, &limit), SIGUSR1);
}

static int filter_calls(uint32_t flags, uint32_t answered, uint32_t answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, answered, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, answer),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* A program may have seccomp filters of its own, but no listener. */
static void listener_of_its_own(void)
{
	check_errno(filter_calls(SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 0), EBUSY);
	check_eq(filter_calls(0, 0, 0), 0);
	check_eq(emit("native.filtered"), 0);
}

/* kmes-run on a kernel that refuses the seccomp flag of 5.19, as older ones do. */
static void kernel_of_5_18(void)
{
	check_eq(filter_calls(0, 1u << 5, SECCOMP_RET_ERRNO | EINVAL), 0);
	execlp("kmes-run", "kmes-run", "touch", "ran", NULL);
	fail("cannot run kmes-run");
}

static void one_event(void)
{
	check_eq(emit("native.one"), 0);
}

/* Emits until the call fails with ENOSYS. */
static void until_not_implemented(void)
{
	while (emit("native.until") == 0)
		;
	check_eq(errno, ENOSYS);
}

static const struct vm_case cases[] = {
	{ "timer", under_a_timer },	      { "plain-timer", under_a_plain_timer },
	{ "threads", threads_and_children },  { "read", attach_and_read },
	{ "truncated", truncated_arguments }, { "killed", killed_callers },
	{ "exec", exec_amid_calls },	      { "descriptors", no_descriptor_left },
	{ "signals", passed_signals },	      { "listener", listener_of_its_own },
	{ "5.18", kernel_of_5_18 },	      { "one", one_event },
	{ "until", until_not_implemented },   { "others", other_calls },
};

KMES_CASES(cases)
