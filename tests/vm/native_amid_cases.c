// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * native_amid_cases.c - what may happen between the steps of a call.
 *
 * tests/preload/amidcall.c makes kmes-run wait during the call until it is released.
 */
#include <linux/sched.h>

#include "tests/vm/ring.h"

#define UNCHANGED 77

/* At the same address in the caller and its successor: both are forked here. */
static volatile uint64_t word = UNCHANGED;
static volatile sig_atomic_t over;

static void on_over(int sig)
{
	(void)sig;
	over = 1;
}

static void make_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	check(fd >= 0);
	close(fd);
}

/* A child that makes a call, during which kmes-run waits. */
static pid_t begin_call(void (*call)(void))
{
	pid_t pid;

	make_file("armed");
	pid = fork_bound();
	if (!pid) {
		call();
		_exit(0);
	}
	while (access("waits", F_OK) < 0)
		sleep_ms(1);
	return pid;
}

/* ---- the caller is killed, and its pid is reused ---- */

/* A child with this pid, whose exit status is 0 if `word` is unchanged. */
static void start_successor(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };
	long r = syscall(SYS_clone3, &args, sizeof(args));

	check(r >= 0);
	if (r)
		return;
	while (!over)
		sleep_ms(1);
	_exit(word != UNCHANGED);
}

/*
 * Kills a child during a call and lets kmes-run continue when the pid has been reused:
 * nothing may be done to the successor, or on its behalf.
 */
static void replace_caller(void (*call)(void))
{
	int status;
	pid_t pid = begin_call(call);

	signal(SIGUSR1, on_over);
	check(kill(pid, SIGKILL) == 0);
	check(waitpid(pid, &status, 0) == pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	start_successor(pid);
	check(unlink("waits") == 0);
	/* Answered, so kmes-run is done with the one before it. */
	check_eq(emit("reuse.after"), 0);
	check(kill(pid, SIGUSR1) == 0);
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
}

static void attach_here(void)
{
	ring_attach(0, (void *)&word, NULL);
}

static void emit_here(void)
{
	(void)emit("reuse.of the dead");
}

static void batch_here(void)
{
	static struct kmes_batch_entry entry = { .event_type_len = 5, .payload_len = 1 };

	entry.event_type = (uintptr_t) "reuse";
	entry.payload = (uintptr_t) "\x80";
	syscall(KMES_NR_EMIT_BATCH, &entry, 1, &word);
}

static void attaching(void)
{
	replace_caller(attach_here);
}

static void emitting(void)
{
	uint64_t before = emitted_by_all();

	replace_caller(emit_here);
	check_eq(emitted_by_all() - before, 1);
}

static void in_a_batch(void)
{
	uint64_t before = emitted_by_all();

	replace_caller(batch_here);
	check_eq(emitted_by_all() - before, 1);
}

/* When the event can no longer be kept out of the ring. */
static void after_a_batch(void)
{
	replace_caller(batch_here);
}

/* ---- the limit is raised ---- */

static void large_batch_here(void)
{
	static struct kmes_batch_entry entries[KMES_BATCH_MAX];
	const uint32_t size = 1u << 20;
	unsigned char *text = sized_payload(size, 'l');
	uint32_t emitted = UNCHANGED;

	for (unsigned int i = 0; i < KMES_BATCH_MAX; i++)
		entries[i] = (struct kmes_batch_entry){ .event_type = (uintptr_t) "large",
							.event_type_len = 5,
							.payload = (uintptr_t)text,
							.payload_len = i ? size : 6 };
	memcpy(text, "\xc4\x04", 2);
	check_errno(syscall(KMES_NR_EMIT_BATCH, entries, KMES_BATCH_MAX, &emitted),
		    ENOSPC);
	check_eq(emitted, 1);
}

/* When kmes-run checked it, the second event was too large. */
static void limit_is_raised(void)
{
	pid_t pid = begin_call(large_batch_here);
	int status;

	check_eq(config_set("max_event_size", 4194304), 0);
	check(unlink("waits") == 0);
	check(waitpid(pid, &status, 0) == pid);
	check_eq(config_set("max_event_size", 65536), 0);
	check_eq(status, 0);
}

/* ---- a batch is refused while another process uses its emitted_out ---- */

static uint32_t *number;

static void refused_batch_here(void)
{
	static struct kmes_batch_entry entry = { .event_type_len = 5, .payload_len = 1 };

	entry.event_type = (uintptr_t) "amid";
	entry.payload = (uintptr_t) "\x80";
	drop_capabilities(CAP(AUDIT_WRITE));
	check_errno(syscall(KMES_NR_EMIT_BATCH, &entry, 1, number), EPERM);
}

/* A call that is refused before it would store 0 stores nothing. */
static void refused_batch(void)
{
	int status;
	pid_t pid;

	number = mmap(NULL, KMES_PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(number != MAP_FAILED);
	*number = UNCHANGED;
	pid = begin_call(refused_batch_here);
	*number = UNCHANGED + 1;
	check(unlink("waits") == 0);
	check(waitpid(pid, &status, 0) == pid);
	check_eq(status, 0);
	check_eq(*number, UNCHANGED + 1);
}

static const struct vm_case cases[] = {
	{ "attach", attaching },      { "emit", emitting },
	{ "batch", in_a_batch },      { "after-batch", after_a_batch },
	{ "limit", limit_is_raised }, { "refused", refused_batch },
};

KMES_CASES(cases)
