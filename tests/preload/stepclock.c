// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * stepclock.c - preloaded: CLOCK_REALTIME steps by an hour once the file named by
 * STEP_FILE exists. Users of the monotonic clock do not notice.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long step(void)
{
	const char *file = getenv("STEP_FILE");

	return file && access(file, F_OK) == 0 ? 3600 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int r;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	r = real(clock, ts);
	if (clock == CLOCK_REALTIME)
		ts->tv_sec += step();
	return r;
}

time_t time(time_t *out)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
