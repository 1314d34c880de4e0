// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * bench_capture.c - whether a recorder keeps up, and how fast it compresses.
 *
 * One ring of 4 MiB is written at a million events of 160 bytes per second for 20 seconds
 * (KMES_BENCH_SECONDS), while kmes-dump -w records into a plain file on tmpfs: none may
 * be lost. The ring holds 26 ms of that; so the longest pause of the writer, which does
 * not catch up afterwards, is reported, too. Then a capture of 2 million of these events
 * is compressed by kmes-dump and by `pigz -1`, in turns; the best and the median of
 * several rounds are shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "capture/capture.h"

#define RATE 1000000u
/* Events that are later than this are omitted. */
#define SLACK 0.005
#define PACKED_EVENTS 2000000u
#define ROUNDS 5

static double longest_pause; /* of the writer at RATE, in seconds */

/* A payload of 67 bytes, with realistic variation. */
static uint16_t make_payload(char *to, uint64_t n)
{
	static const char *const users[] = { "alice", "bobby", "carol", "david" };

	memcpy(to,
	       "\x84\xa4user\xa5"
	       "alice\xa3pid\xcd\x12\x67\xa6result\x00\xa4path\xd9\x21/usr/lib/",
	       43);
	memcpy(to + 7, users[n % 4], 5);
	to[17] = (char)(n >> 8);
	to[18] = (char)n;
	snprintf(to + 43, 25, "%024" PRIu64, n * 2654435761u);
	return 67;
}

/* Waits until due; returns the next due time. */
static double take_turn(double due)
{
	double late = bench_now() - due;

	for (; late < 0; late = bench_now() - due)
		usleep(100);
	if (late > longest_pause)
		longest_pause = late;
	if (late > SLACK)
		due += late - SLACK;
	return due + (double)KMES_BATCH_MAX / RATE;
}

/* Emits at RATE for `duration`, or `count` events at full speed if not 0. */
static uint64_t emit(double duration, uint64_t count)
{
	static char payloads[KMES_BATCH_MAX][80];
	struct kmes_record records[KMES_BATCH_MAX];
	struct kmes_error err = { "" };
	struct kmes_source *src;
	double begin = bench_now(), due = begin;
	uint64_t total = 0;
	uint32_t i, emitted;

	if (kmes_source_open(&src, bench_source, NULL, &err))
		bench_die(err.text);
	while (count ? total < count : bench_now() - begin < duration) {
		if (!count)
			due = take_turn(due);
		for (i = 0; i < KMES_BATCH_MAX; i++)
			records[i] = (struct kmes_record){
				"audit.file.opens", payloads[i],
				make_payload(payloads[i], total + i), 16
			};
		if (kmes_source_emit_batch(src, 0, records, KMES_BATCH_MAX, &emitted))
			bench_die("emit");
		total += emitted;
	}
	kmes_source_close(src);
	return total;
}

struct held {
	uint64_t events, lost;
	uint32_t size; /* of an event */
};

static struct held read_back(const char *path)
{
	struct kmes_capture_reader *r;
	struct held held = { 0 };
	struct kmes_item item;
	int rc;

	if (kmesp_capture_open(&r, open(path, O_RDONLY | O_CLOEXEC), false) < 0)
		bench_die(path);
	while ((rc = kmesp_capture_next(r, &item)) >= 0) {
		if (rc && item.kind == KMES_ITEM_LOSS)
			held.lost += item.loss.last - item.loss.first + 1;
		if (rc && item.kind == KMES_ITEM_EVENT) {
			held.events++;
			held.size = item.event->size;
		}
	}
	if (rc != -ENODATA)
		bench_die("the capture is not complete");
	kmesp_capture_close(r);
	return held;
}

/* Records during `emit`; returns the file's content, and the cost. */
static struct held record(const char *path, double duration, uint64_t count, double *rate,
			  double *cpu)
{
	const char *args[] = { "kmes-dump", "-q", "-S", bench_source, "-w", path, NULL };
	struct rusage usage;
	double begin;
	int status;

	pid_t recorder = bench_start(args, STDERR_FILENO);
	usleep(500000);
	begin = bench_now();
	*rate = (double)emit(duration, count) / (bench_now() - begin);
	usleep(500000);
	kill(recorder, SIGTERM);
	if (wait4(recorder, &status, 0, &usage) < 0 || status)
		bench_die("kmes-dump -w failed");
	*cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
	       (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	return read_back(path);
}

static double time_of(const char *const *argv, const char *to)
{
	int status, out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	double begin = bench_now();
	pid_t pid;

	if (out < 0)
		bench_die(to);
	pid = bench_start(argv, out);
	close(out);
	if (waitpid(pid, &status, 0) < 0)
		bench_die(argv[0]);
	return status ? -1 : bench_now() - begin;
}

static void show(const char *name, double *seconds, double megabytes, const char *path)
{
	struct stat st;

	bench_sort(seconds, ROUNDS);
	if (stat(path, &st) < 0)
		bench_die(path);
	printf("%-28s %7.0f MB/s, median %.0f; to %.1f %%\n", name,
	       megabytes / seconds[0], megabytes / seconds[ROUNDS / 2],
	       (double)st.st_size / megabytes / 1e4);
}

static void compare_packing(const char *plain)
{
	const char *ours[] = { "kmes-dump", "-q", "-r", plain, "-z", "-w", "-", NULL };
	const char *theirs[] = { "pigz", "-1", "-c", plain, NULL };
	double our_time[ROUNDS], their_time[ROUNDS];
	char our_file[96], their_file[96];
	bool has_pigz = true;
	struct stat st;
	int i;

	snprintf(our_file, sizeof(our_file), "%s/ours.gz", bench_folder);
	snprintf(their_file, sizeof(their_file), "%s/theirs.gz", bench_folder);
	for (i = 0; i < ROUNDS; i++) {
		our_time[i] = time_of(ours, our_file);
		if (our_time[i] < 0)
			bench_die("kmes-dump -z failed");
		if (has_pigz)
			their_time[i] = time_of(theirs, their_file);
		has_pigz = has_pigz && their_time[i] >= 0;
	}
	if (stat(plain, &st) < 0)
		bench_die(plain);
	show("kmes-dump -r -z -w", our_time, (double)st.st_size / 1e6, our_file);
	if (has_pigz)
		show("pigz -1", their_time, (double)st.st_size / 1e6, their_file);
	else
		printf("pigz -1: skipped, pigz is not installed\n");
}

int main(void)
{
	const char *seconds = getenv("KMES_BENCH_SECONDS");
	double duration = seconds ? strtod(seconds, NULL) : 20, rate, cpu;
	struct held held;
	char path[96];

	bench_sim_start("/dev/shm", "4M");
	snprintf(path, sizeof(path), "%s/plain.kmes", bench_folder);
	held = record(path, duration, 0, &rate, &cpu);
	printf("recorded %.2f million events/s of %u bytes for %.0f s: %" PRIu64
	       " events, %" PRIu64
	       " lost; kmes-dump took %.0f %% of a core, the writer paused for %.1f ms at most\n",
	       rate / 1e6, held.size, duration, held.events, held.lost,
	       cpu / duration * 100, longest_pause * 1e3);
	fflush(stdout);
	held = record(path, 0, PACKED_EVENTS, &rate, &cpu);
	compare_packing(path);
	bench_sim_stop();
	return 0;
}
