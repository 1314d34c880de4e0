// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* kmes-run without the module: its filter, and callers that are gone. */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/kmes-run/call.h"
#include "unit.h"

/* Shared with the callers: their results, and what their calls point to. */
struct common {
	int result;
	uint64_t place;
};

static struct common *common;

/* Not available in user-mode emulation. */
static bool has_seccomp;

static bool try_seccomp(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(run_filter_install() < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void needs_seccomp(void)
{
	if (has_seccomp)
		return;
	print_message("# no seccomp listener can be had here\n");
	skip();
}

static void setup(void)
{
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	has_seccomp = try_seccomp();
	assert_ptr_not_equal(common, MAP_FAILED);
}

static void teardown(void)
{
	munmap(common, sizeof(*common));
}
ALL_TESTS(setup, teardown);

/* A child that installs the filter; returns its listener. */
static int start(pid_t *pid, void (*run)(void))
{
	int pidfd, ours = -1;

	common->result = -1;
	*pid = fork();
	if (*pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		__atomic_store_n(&common->result, run_filter_install(),
				 __ATOMIC_SEQ_CST); /* not ring memory */
		run();
		_exit(0);
	}
	assert_true(*pid > 0);
	while (__atomic_load_n(&common->result, __ATOMIC_SEQ_CST) ==
	       -1) /* not ring memory */
		usleep(1000);
	assert_true(common->result >= 0);
	pidfd = (int)syscall(SYS_pidfd_open, *pid, 0);
	ours = (int)syscall(SYS_pidfd_getfd, pidfd, common->result, 0);
	close(pidfd);
	assert_true(ours >= 0);
	return ours;
}

/* Receives the next call as kmes-run does, without an answer. */
static void take(struct run_call *c, struct seccomp_notif *notif, int listener)
{
	memset(notif, 0, sizeof(*notif));
	assert_return_code(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, notif), errno);
	*c = (struct run_call){ .listener = listener, .notif = notif };
	/* Not the device: it answers ENOTTY. */
	c->device = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(run_target_open(&c->target, (pid_t)notif->pid), 0);
}

static void leave(struct run_call *c)
{
	run_target_close(&c->target);
	close(c->device);
	close(c->listener);
}

static void make_one_call(void)
{
	syscall(KMES_NR_ATTACH, 3, &common->place);
}

TEST(run_filter_forwards_native_calls_with_their_arguments)
{
	struct seccomp_notif_resp resp = { .error = -ERANGE };
	struct seccomp_notif notif;
	struct run_call c;
	pid_t pid;

	needs_seccomp();
	take(&c, &notif, start(&pid, make_one_call));
	assert_int_equal(notif.data.nr, 1091);
	assert_int_equal(notif.data.args[0], 3);
	assert_int_equal(notif.data.args[1], (uintptr_t)&common->place);
	assert_int_equal(notif.pid, pid);
	resp.id = notif.id;
	assert_return_code(ioctl(c.listener, SECCOMP_IOCTL_NOTIF_SEND, &resp), errno);
	leave(&c);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Nothing is done for, or stored into, a process killed in the call. */
TEST(run_call_of_a_killed_process_is_gone)
{
	struct seccomp_notif notif;
	uint64_t value = 0x1122334455667788, found = 0;
	struct run_call c;
	pid_t pid;

	needs_seccomp();
	common->place = 0;
	take(&c, &notif, start(&pid, make_one_call));
	assert_int_equal(run_call_device(&c, KMES_IOC_ATTACH_FOR, &value), -ENOTTY);
	assert_int_equal(run_call_store(&c, notif.data.args[1], &value, sizeof(value)),
			 0);
	assert_int_equal(common->place, value);
	assert_int_equal(
		run_target_read(&c.target, &found, notif.data.args[1], sizeof(found)), 0);
	assert_int_equal(found, value);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(run_call_device(&c, KMES_IOC_ATTACH_FOR, &value), RUN_GONE);
	assert_int_equal(run_call_store(&c, notif.data.args[1], &value, sizeof(value)),
			 RUN_GONE);
	leave(&c);
}

#define STACK 65536

static int execute_another(void *unused)
{
	char *argv[] = { "sleep", "100", NULL };

	(void)unused;
	/* Not before the other thread's call has been received. */
	while (!__atomic_load_n(&common->place, __ATOMIC_SEQ_CST)) /* not ring memory */
		usleep(1000);
	execvp(argv[0], argv);
	_exit(1);
}

/* The leader calls; another thread calls execve(2) and gets the leader's id. */
static void call_while_a_thread_executes(void)
{
	char *stack = malloc(STACK);

	common->place = 0;
	if (clone(execute_another, stack + STACK,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM,
		  NULL) > 0)
		make_one_call();
}

TEST(run_call_before_an_execve_is_gone_though_the_id_exists)
{
	struct seccomp_notif notif;
	struct run_call c;
	uint64_t value = 1;
	pid_t pid;
	char name[32] = "";

	needs_seccomp();
	take(&c, &notif, start(&pid, call_while_a_thread_executes));
	assert_int_equal(notif.pid, pid);
	assert_int_equal(run_call_store(&c, notif.data.args[1], &value, sizeof(value)),
			 0);
	for (int i = 0; i < 10000 && strcmp(name, "sleep") != 0; i++) {
		usleep(1000);
		run_target_name(pid, name, sizeof(name));
	}
	assert_string_equal(name, "sleep");
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(run_call_device(&c, KMES_IOC_ATTACH_FOR, &value), RUN_GONE);
	assert_int_equal(run_call_store(&c, notif.data.args[1], &value, sizeof(value)),
			 RUN_GONE);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	leave(&c);
}

/* Calls of two threads belong to the same process. */
static int call_in_thread(void *unused)
{
	(void)unused;
	make_one_call();
	return 0;
}

static void call_in_a_thread(void)
{
	char *stack = malloc(STACK);

	clone(call_in_thread, stack + STACK,
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		      CLONE_SYSVSEM,
	      NULL);
	pause();
}

TEST(run_target_of_a_thread_is_its_process)
{
	char path[64], text[4096] = "";
	struct seccomp_notif notif;
	struct run_call c;
	pid_t pid;
	int fd;

	needs_seccomp();
	take(&c, &notif, start(&pid, call_in_a_thread));
	assert_int_not_equal(notif.pid, pid);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", c.target.pidfd);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	snprintf(path, sizeof(path), "\nPid:\t%d\n", pid);
	assert_non_null(strstr(text, path));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	leave(&c);
}

/* Where the process may not store, kmes-run may not either. */
TEST(run_target_write_faults_where_the_process_would)
{
	struct run_target self;
	uint64_t value = 1;
	char *page = mmap(NULL, 12288, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	needs_seccomp();
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_return_code(mprotect(page + 4096, 4096, PROT_READ), errno);
	assert_return_code(mprotect(page + 8192, 4096, PROT_NONE), errno);
	assert_int_equal(run_target_open(&self, getpid()), 0);
	assert_int_equal(run_target_write(&self, (uintptr_t)page, &value, 8), 0);
	assert_int_equal(run_target_write(&self, (uintptr_t)page + 4088, &value, 8), 0);
	assert_int_equal(run_target_write(&self, (uintptr_t)page + 4089, &value, 8),
			 -EFAULT);
	assert_int_equal(run_target_write(&self, (uintptr_t)page + 4096, &value, 8),
			 -EFAULT);
	assert_int_equal(run_target_read(&self, &value, (uintptr_t)page + 4096, 8), 0);
	assert_int_equal(run_target_read(&self, &value, (uintptr_t)page + 8189, 8),
			 -EFAULT);
	assert_int_equal(run_target_read(&self, &value, 1, 0), 0);
	run_target_close(&self);
	munmap(page, 12288);
}

TEST(run_target_gather_ends_at_the_first_fault)
{
	struct run_target self;
	char from[] = "abcdef", to[] = "--------";
	const struct iovec pieces[] = {
		{ from, 2 }, { from, 0 }, { from + 4, 2 }, { (void *)8, 1 }, { from, 1 },
	};

	needs_seccomp();
	assert_int_equal(run_target_open(&self, getpid()), 0);
	assert_int_equal(run_target_gather(&self, to, 6, pieces, 5), 4);
	assert_memory_equal(to, "abef--", 6);
	assert_int_equal(run_target_gather(&self, to, 4, pieces, 3), 4);
	run_target_close(&self);
}

/* To the CPU that a thread is bound to. */
TEST(run_target_join_moves_to_where_the_thread_may_run)
{
	struct run_target target;
	cpu_set_t before, one, now;
	int ends[2], cpu = -1;
	pid_t pid;
	char c;

	needs_seccomp();
	assert_return_code(sched_getaffinity(0, sizeof(before), &before), errno);
	while (!CPU_ISSET(++cpu, &before))
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_return_code(pipe(ends), errno);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setaffinity(0, sizeof(one), &one);
		if (write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &c, 1), 1);
	assert_int_equal(run_target_open(&target, pid), 0);
	for (int i = 0; i < 2; i++) {
		run_target_join(&target);
		assert_return_code(sched_getaffinity(0, sizeof(now), &now), errno);
		assert_true(CPU_EQUAL(&now, &one));
		/* Moved to another CPU meanwhile, if there is one. */
		CPU_XOR(&now, &before, &one);
		sched_setaffinity(0, sizeof(now), &now);
	}
	run_target_close(&target);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
	assert_return_code(sched_setaffinity(0, sizeof(before), &before), errno);
}

/* As kernels before 5.19 answer to a flag that they do not know. */
static void refuse_the_flag(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1u << 5, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	};
	struct sock_fprog program = { COUNT(code), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

TEST(run_on_a_kernel_before_5_19_is_one_line_and_125)
{
	char *argv[] = { "/bin/true", NULL }, text[512] = "";
	struct run_program program;
	int ends[2], status;
	pid_t pid;

	assert_return_code(pipe(ends), errno);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		refuse_the_flag();
		_exit(run_program_prepare(&program, argv));
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 125);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	assert_non_null(strstr(text, "needs Linux 5.19"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}
