// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The stop flag as threads see it, for ThreadSanitizer. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "cli/cli.h"
#include "unit.h"

static atomic_bool is_asking;

static void *ask_main(void *arg)
{
	while (!cli_stop_signal()) {
		atomic_store(&is_asking, true);
		sched_yield();
	}
	*(int *)arg = cli_stop_signal();
	return NULL;
}

TEST(cli_stop_is_seen_by_threads_that_poll)
{
	pthread_t thread;
	int seen = 0;

	cli_stop_catch();
	assert_int_equal(pthread_create(&thread, NULL, ask_main, &seen), 0);
	while (!atomic_load(&is_asking))
		sched_yield();
	/* Not to the polling thread. */
	pthread_kill(pthread_self(), SIGTERM);
	pthread_join(thread, NULL);
	assert_int_equal(seen, SIGTERM);
}
