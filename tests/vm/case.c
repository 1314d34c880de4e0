// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* case.c - running cases, and the files and processes that they work with. */
#include "tests/vm/case.h"

#include <dirent.h>
#include <stdarg.h>

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static const struct vm_case *find_case(const struct vm_case *cases, size_t count,
				       const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	fail("no case named %s", name);
}

int run_cases(const struct vm_case *cases, size_t count, char **names)
{
	for (; *names; names++)
		find_case(cases, count, *names)->run();
	return 0;
}

int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	check(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = 0;

	check(fd >= 0);
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

uint64_t file_number(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	check(fd >= 0);
	check(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strtoull(text, NULL, 10);
}

int config_set(const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), SYSFS "%s", name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	return file_write(path, text);
}

uint64_t counter(unsigned int cpu, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "cpu%u/%s", cpu, name);
	return file_number(path);
}

void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0);
}

void drop_capabilities(uint64_t mask)
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

pid_t fork_bound(void)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

pid_t fork_paused(void (*become)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	check(pipe2(ready, O_CLOEXEC) == 0);
	pid = fork_bound();
	if (!pid) {
		become();
		/* A change of the user id has reset this. */
		check(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		check(write(ready[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	check(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	check(fd >= 0);
	return fd;
}

void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

bool task_is(pid_t tid, char state)
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

long parent_status(const char *key)
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

int in_child(void (*run)(void))
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

bool store_faults(volatile unsigned char *p)
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

uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	check(clock_gettime(clock, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ms_since(uint64_t start_ns)
{
	return (now_ns(CLOCK_MONOTONIC) - start_ns) / 1000000;
}

void sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}
