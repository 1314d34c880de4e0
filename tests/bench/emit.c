// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * emit.c - lines of JSON per second that kmes-emit writes to a simulator's rings.
 *
 * usage: emit [LINES]
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define LINES_DEFAULT 500000
#define ROUNDS 5

static char dir[] = "/tmp/kmes-bench.XXXXXX";

/* A path in the folder of this run; valid for four calls. */
static const char *in_dir(const char *name)
{
	static char paths[4][128];
	static unsigned int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static pid_t start(const char *tool, char *const argv[], int out)
{
	const char *bin = getenv("KMES_BIN");
	char path[512];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	snprintf(path, sizeof(path), "%s/%s", bin ? bin : "build/bin", tool);
	dup2(out, STDOUT_FILENO);
	execv(path, argv);
	perror(path);
	_exit(127);
}

static bool ends_well(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Starts a simulator and waits until it is ready; its pid or -1. */
static pid_t sim_start(const char *socket)
{
	char option[160], ready[16];
	char *argv[] = { "kmes-sim", option, "--exempt", "--slots=2", NULL };
	int fds[2];
	pid_t pid;

	snprintf(option, sizeof(option), "--socket=%s", socket);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	pid = start("kmes-sim", argv, fds[1]);
	close(fds[1]);
	if (read(fds[0], ready, sizeof(ready)) <= 0 && pid > 0) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(fds[0]);
	return pid;
}

static bool write_lines(const char *path, unsigned long lines)
{
	FILE *file = fopen(path, "w");
	unsigned long i;

	if (!file)
		return false;
	for (i = 0; i < lines; i++)
		fprintf(file,
			"{\"type\":\"app.login\",\"payload\":{\"user\":\"alice\",\"n\":%lu,"
			"\"ok\":true,\"addr\":\"10.1.2.3\"}}\n",
			i);
	return fclose(file) == 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool measure(const char *socket, const char *file, unsigned long lines)
{
	char source[160];
	char *argv[] = { "kmes-emit", "-S", source, "-i", (char *)file, NULL };
	double best = 0, begin, rate;
	int i;

	snprintf(source, sizeof(source), "sim:%s", socket);
	for (i = 0; i < ROUNDS; i++) {
		begin = now();
		if (!ends_well(start("kmes-emit", argv, STDERR_FILENO)))
			return false;
		rate = (double)lines / (now() - begin);
		best = rate > best ? rate : best;
	}
	tap_note("kmes-emit -i into kmes-sim: %.0f lines/s, best of %d", best, ROUNDS);
	return true;
}

int main(int argc, char **argv)
{
	unsigned long lines = argc > 1 ? strtoul(argv[1], NULL, 10) : LINES_DEFAULT;
	const char *socket, *file;
	pid_t sim;

	if (!mkdtemp(dir))
		return 1;
	socket = in_dir("sock");
	file = in_dir("lines");
	sim = sim_start(socket);
	tap_ok(sim > 0 && write_lines(file, lines) && measure(socket, file, lines),
	       "lines of JSON are emitted");
	if (sim > 0) {
		kill(sim, SIGTERM);
		waitpid(sim, NULL, 0);
	}
	unlink(file);
	rmdir(dir);
	return tap_done();
}
