// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* watch.c - kmes-stat --watch: fill level, rate, age and loss of each ring. */
#include "watch.h"

#include <errno.h>

#include "base/clock.h"
#include "interval.h"

#ifdef KMES_HAVE_NCURSES

#include <curses.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Poll interval for keys, signals and the clock. */
#define KEY_MS 100

struct watch {
	struct stat_sampler *s;
	unsigned int top; /* the first ring shown */
};

/* Lines for rings: all but two header lines, the totals and the help line. */
static unsigned int room_for_rings(void)
{
	return LINES > 4 ? (unsigned int)LINES - 4 : 0;
}

static void scroll_to(struct watch *w, long top)
{
	long last = (long)w->s->ring_count - (long)room_for_rings();

	if (top > last)
		top = last;
	w->top = top > 0 ? (unsigned int)top : 0;
}

static void short_number(char *text, size_t size, bool known, double v)
{
	static const char units[] = " KMGTPE";
	unsigned int unit = 0;

	if (!known) {
		snprintf(text, size, "-");
		return;
	}
	while (v >= 99999.5 && unit < sizeof(units) - 2) {
		v /= 1000;
		unit++;
	}
	snprintf(text, size, unit ? "%.0f%c" : "%.0f", v, units[unit]);
}

static void short_age(char *text, size_t size, struct stat_value oldest, uint64_t now_ns)
{
	uint64_t s = oldest.known && now_ns > oldest.value
			     ? (now_ns - oldest.value) / KMES_NS_PER_S
			     : 0;

	if (!oldest.known)
		snprintf(text, size, "-");
	else if (s < 600)
		snprintf(text, size, "%llus", (unsigned long long)s);
	else if (s < 36000)
		snprintf(text, size, "%llum", (unsigned long long)s / 60);
	else
		snprintf(text, size, "%lluh", (unsigned long long)s / 3600);
}

static void draw_bar(int y, int x, int width, double part)
{
	int i, full;

	if (width < 3)
		return;
	full = (int)(part * (width - 2) + 0.5);
	mvaddch(y, x, '[');
	for (i = 0; i < width - 2; i++)
		addch(i < full ? '#' : ' ');
	addch(']');
}

/* The bar takes the columns that the numbers on its right leave. */
static void draw_row(int y, const char *name, const struct stat_row *row, uint64_t now_ns)
{
	enum { NAME = 6, FIGURES = 6 + 8 + 7 + 8 };
	int bar = COLS - NAME - FIGURES;
	double capacity = (double)row->capacity_bytes.value;
	double part = row->used_bytes.known && capacity > 0
			      ? (double)row->used_bytes.value / capacity
			      : 0;
	char rate[32], age[32], lost[32], line[160];
	bool lost_known = row->overwritten.known && row->dropped.known;

	short_number(rate, sizeof(rate), row->events_rate.known,
		     row->events_rate.per_second);
	short_age(age, sizeof(age), row->oldest_ts_ns, now_ns);
	short_number(lost, sizeof(lost), lost_known,
		     (double)(row->overwritten.value + row->dropped.value));
	mvprintw(y, 0, "%5s%c", name, row->reset ? '*' : ' ');
	draw_bar(y, NAME, bar, part);
	snprintf(line, sizeof(line), " %4.0f%% %7s %6s %7s", part * 100, rate, age, lost);
	mvaddnstr(y, bar > 2 ? NAME + bar : NAME, line, COLS - NAME);
}

static void draw_head(const struct stat_sampler *s)
{
	char clock[16], line[160];
	time_t seconds = (time_t)(s->time_ns / KMES_NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	snprintf(line, sizeof(line), "kmes-stat %s  %sZ  %u rings",
		 kmes_source_name(s->src), clock, s->ring_count);
	mvaddnstr(0, 0, line, COLS);
	attron(A_REVERSE);
	mvhline(1, 0, ' ', COLS);
	mvaddnstr(1, 0, "  CPU", COLS);
	snprintf(line, sizeof(line), " %5s %7s %6s %7s", "USED", "EV/S", "REACH", "LOST");
	mvaddnstr(1, COLS > 35 ? COLS - 29 : 6, line, COLS);
	attroff(A_REVERSE);
}

static void draw(const struct watch *w)
{
	unsigned int i, room = room_for_rings();

	erase();
	draw_head(w->s);
	for (i = 0; i < room && w->top + i < w->s->ring_count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", w->s->rings[w->top + i].row.cpu);
		draw_row((int)i + 2, name, &w->s->rings[w->top + i].row, w->s->time_ns);
	}
	if (LINES > 3)
		draw_row(LINES - 2, "total", &w->s->totals, w->s->time_ns);
	mvaddnstr(LINES - 1, 0, "q quit  up, down, page keys scroll  * replaced", COLS);
	refresh();
}

/* False: leave. */
static bool handle_key(struct watch *w, int key)
{
	long page = (long)room_for_rings();

	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case KEY_UP:
	case 'k':
		scroll_to(w, (long)w->top - 1);
		break;
	case KEY_DOWN:
	case 'j':
		scroll_to(w, (long)w->top + 1);
		break;
	case KEY_PPAGE:
		scroll_to(w, (long)w->top - page);
		break;
	case KEY_NPAGE:
	case ' ':
		scroll_to(w, (long)w->top + page);
		break;
	case KEY_HOME:
		scroll_to(w, 0);
		break;
	case KEY_END:
		scroll_to(w, (long)w->s->ring_count);
		break;
	case KEY_RESIZE:
		scroll_to(w, (long)w->top);
		break;
	}
	return true;
}

/* On a terminal that hung up, getch() fails at once, and would do so forever. */
static bool terminal_is_gone(void)
{
	struct pollfd ends[] = { { .fd = STDIN_FILENO }, { .fd = STDOUT_FILENO } };

	return poll(ends, 2, 0) > 0 &&
	       (ends[0].revents | ends[1].revents) & (POLLERR | POLLHUP);
}

/*
 * Handles keys until the next sample is due, at least one key when samples take longer to
 * draw than the interval. False: leave.
 */
static bool until(struct watch *w, uint64_t due_ns)
{
	uint64_t now = kmesp_clock_ns(CLOCK_MONOTONIC);

	do {
		uint64_t left_ms = now < due_ns ? (due_ns - now) / 1000000 + 1 : 0;
		int key;

		timeout(left_ms < KEY_MS ? (int)left_ms : KEY_MS);
		key = getch();
		if (cli_stop_signal() || terminal_is_gone())
			return false;
		if (key != ERR && !handle_key(w, key))
			return false;
		if (key != ERR)
			draw(w);
		now = kmesp_clock_ns(CLOCK_MONOTONIC);
	} while (now < due_ns);
	return true;
}

static int watch_loop(struct watch *w, uint64_t interval_ns, uint64_t count,
		      watch_follow *follow, void *arg, struct kmes_error *err)
{
	uint64_t done = 0;
	struct interval interval;

	interval_start(&interval, interval_ns);
	for (;;) {
		int rc = stat_sampler_take(w->s, err);

		if (cli_stop_signal())
			return 1;
		if (rc < 0 && (rc != -ESHUTDOWN || !done))
			return rc;
		if (rc == 0) {
			draw(w);
			if (++done == count || !until(w, interval.next_ns))
				return 1;
		}
		interval_pass(&interval);
		rc = follow(arg, err);
		if (rc <= 0)
			return rc;
		scroll_to(w, (long)w->top);
	}
}

int watch_run(struct stat_sampler *s, uint64_t interval_ns, uint64_t count,
	      watch_follow *follow, void *arg, struct kmes_error *err)
{
	struct watch w = { .s = s };
	SCREEN *screen = NULL;
	int rc;

	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return kmes_error_set(err, -ENOTTY,
				      "--watch needs a terminal (see TERM)");
	set_term(screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	rc = watch_loop(&w, interval_ns ? interval_ns : KMES_NS_PER_S, count, follow, arg,
			err);
	endwin();
	delscreen(screen);
	return rc;
}

#else

int watch_run(struct stat_sampler *s, uint64_t interval_ns, uint64_t count,
	      watch_follow *follow, void *arg, struct kmes_error *err)
{
	(void)s;
	(void)interval_ns;
	(void)count;
	(void)follow;
	(void)arg;
	return kmes_error_set(err, -EOPNOTSUPP, "--watch: built without ncursesw");
}

#endif
