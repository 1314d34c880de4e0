// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * stopclock.c - preloaded: once the file named by STOP_FILE exists, the STOP_AT-th read
 * of the monotonic clock stops the process first, for as long as a test wants.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void stop_once(void)
{
	static int looks;
	const char *file = getenv("STOP_FILE"), *at = getenv("STOP_AT");

	if (file && at && access(file, F_OK) == 0 && ++looks == atoi(at))
		raise(SIGSTOP);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	if (clock == CLOCK_MONOTONIC)
		stop_once();
	return real(clock, ts);
}
