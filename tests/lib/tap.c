// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* tap.c - results in the Test Anything Protocol, see tap.h */
#include "tap.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_SECONDS_DEFAULT 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int run_count;
static unsigned int failed_count;

static void print_result(bool ok, const char *name, va_list args, const char *skip)
{
	pthread_mutex_lock(&lock);
	run_count++;
	if (!ok)
		failed_count++;
	printf("%sok %u - ", ok ? "" : "not ", run_count);
	vprintf(name, args);
	if (skip)
		printf(" # SKIP %s", skip);
	putchar('\n');
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

bool tap_ok(bool ok, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	print_result(ok, name, args, NULL);
	va_end(args);
	return ok;
}

void tap_skip(const char *reason, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	print_result(true, name, args, reason);
	va_end(args);
}

void tap_note(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	pthread_mutex_lock(&lock);
	fputs("# ", stdout);
	vprintf(text, args);
	putchar('\n');
	fflush(stdout);
	pthread_mutex_unlock(&lock);
	va_end(args);
}

int tap_done(void)
{
	pthread_mutex_lock(&lock);
	printf("1..%u\n", run_count);
	fflush(stdout);
	pthread_mutex_unlock(&lock);
	return run_count == 0 || failed_count > 0;
}

bool tap_is_full_run(void)
{
	const char *level = getenv("KMES_TEST_LEVEL");

	return level && strcmp(level, "full") == 0;
}

unsigned int tap_fuzz_seconds(void)
{
	const char *text = getenv("KMES_FUZZ_TIME");
	unsigned long seconds = text ? strtoul(text, NULL, 10) : 0;

	return seconds > 0 && seconds < 1000000 ? (unsigned int)seconds
						: FUZZ_SECONDS_DEFAULT;
}
