// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * follow.c - prints the events of all rings as they come: a complete reader.
 *
 * Needs the installed library only:
 *
 *	cc follow.c -o follow $(pkg-config --static --cflags --libs kmes)
 *	./follow [SOURCE]
 */
#include <errno.h>
#include <kmes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

/* The type is untrusted: print nothing but ASCII that cannot control a terminal. */
static void print_event(const struct kmes_event *event)
{
	printf("%llu.%09llu cpu%u #%llu ",
	       (unsigned long long)(event->ts_ns / 1000000000),
	       (unsigned long long)(event->ts_ns % 1000000000), (unsigned int)event->cpu,
	       (unsigned long long)event->seq);
	for (unsigned int i = 0; i < event->type_len; i++)
		putchar(event->type[i] > ' ' && event->type[i] <= '~' ? event->type[i]
								      : '?');
	printf(" (%u bytes)\n", (unsigned int)event->payload_len);
}

static void print_item(const struct kmes_item *item)
{
	switch (item->kind) {
	case KMES_ITEM_EVENT:
		print_event(item->event);
		break;
	case KMES_ITEM_LOSS:
		printf("cpu%u lost %llu events\n", (unsigned int)item->loss.cpu,
		       (unsigned long long)(item->loss.last - item->loss.first + 1));
		break;
	case KMES_ITEM_RESIZE:
		printf("cpu%u resized to %llu bytes\n", (unsigned int)item->resize.cpu,
		       (unsigned long long)item->resize.new_capacity);
		break;
	case KMES_ITEM_NOTE:
		fprintf(stderr, "%s\n", item->note);
		break;
	}
}

/* Until a signal, the end of the source (both 0), or an error. */
static int follow(struct kmes_reader *reader)
{
	struct kmes_item item;
	int rc = 0;

	while (!stop && rc >= 0) {
		rc = kmes_reader_next(reader, &item);
		if (rc > 0) {
			print_item(&item);
		} else if (rc == 0) {
			/* Nothing more now. Stop when standard output is closed, too. */
			fflush(stdout);
			if (kmes_reader_wait(reader, -1, STDOUT_FILENO))
				break;
		}
	}
	return stop || rc >= 0 || rc == -ESHUTDOWN ? 0 : rc;
}

int main(int argc, char **argv)
{
	const struct kmes_reader_options options = { .order = KMES_ORDER_TIME };
	struct kmes_source *source = NULL;
	struct kmes_reader *reader = NULL;
	struct kmes_error error = { "" };
	int rc;

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	rc = kmes_source_open(&source, argc > 1 ? argv[1] : "auto", &stop, &error);
	if (rc == 0)
		rc = kmes_reader_open(&reader, source, &options, &error);
	if (rc < 0) {
		fprintf(stderr, "follow: %s\n", error.text);
	} else {
		rc = follow(reader);
		if (rc < 0)
			fprintf(stderr, "follow: %s\n", kmes_reader_error(reader));
	}
	kmes_reader_close(reader);
	kmes_source_close(source);
	return rc < 0;
}
