// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* when.c - parses points in time, and finds the day that a time of day means. */
#include "cli/when.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

#define SECOND_NS 1000000000ull
#define MINUTE_NS (60 * SECOND_NS)
#define HOUR_NS (60 * MINUTE_NS)

/* What a time of day may say of its zone. */
struct zone {
	bool given;
	int64_t east_ns;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(const char *s)
{
	size_t n = 0;

	while (is_digit(s[n]))
		n++;
	return n;
}

static bool take_char(const char **s, char c)
{
	if (**s != c)
		return false;
	(*s)++;
	return true;
}

/* Exactly `n` digits (no more than 4), in [0, max]. */
static bool take_digits(const char **s, int n, int max, int *value)
{
	*value = 0;
	while (n--) {
		if (!is_digit(**s))
			return false;
		*value = 10 * *value + (*(*s)++ - '0');
	}
	return *value <= max;
}

/* Up to nine digits behind a dot or comma, if there is one. */
static bool take_fraction(const char **s, uint64_t *ns, uint64_t *unit_ns)
{
	uint64_t unit = SECOND_NS, value = 0;
	size_t n, i;

	*ns = 0;
	*unit_ns = 1;
	if (!take_char(s, '.') && !take_char(s, ','))
		return true;
	n = count_digits(*s);
	if (n < 1 || n > 9)
		return false;
	for (i = 0; i < n; i++) {
		value = 10 * value + (uint64_t)(*(*s)++ - '0');
		unit /= 10;
	}
	*ns = value * unit;
	if (n == 6)
		*unit_ns = unit;
	return true;
}

/* HH:MM[:SS[.f]], without the colons where `basic` says so. */
static bool take_clock(const char **s, bool basic, struct kmes_when *when)
{
	int hour, minute, second = 0;
	uint64_t fraction_ns = 0;

	when->unit_ns = 1;
	if (!take_digits(s, 2, 23, &hour))
		return false;
	if (!basic && !take_char(s, ':'))
		return false;
	if (!take_digits(s, 2, 59, &minute))
		return false;
	if (basic ? is_digit(**s) : take_char(s, ':')) {
		if (!take_digits(s, 2, 59, &second) ||
		    !take_fraction(s, &fraction_ns, &when->unit_ns))
			return false;
	}
	when->ns = (uint64_t)hour * HOUR_NS + (uint64_t)minute * MINUTE_NS +
		   (uint64_t)second * SECOND_NS + fraction_ns;
	return true;
}

/* Z, +HH:MM, +HHMM, +HH, or nothing. */
static bool take_zone(const char **s, struct zone *zone)
{
	int hours, minutes = 0;
	int64_t sign = **s == '-' ? -1 : 1;

	zone->given = false;
	zone->east_ns = 0;
	if (!**s)
		return true;
	zone->given = true;
	if (take_char(s, 'Z') || take_char(s, 'z'))
		return true;
	if (!take_char(s, '+') && !take_char(s, '-'))
		return false;
	if (!take_digits(s, 2, 23, &hours))
		return false;
	if (take_char(s, ':') || **s) {
		if (!take_digits(s, 2, 59, &minutes))
			return false;
	}
	zone->east_ns = sign * ((int64_t)hours * (int64_t)HOUR_NS +
				(int64_t)minutes * (int64_t)MINUTE_NS);
	return true;
}

/* YYYY-MM-DD or YYYYMMDD; days that no calendar has are refused. */
static bool take_date(const char **s, bool basic, struct tm *date)
{
	struct tm check;
	int year, month, day;

	if (!take_digits(s, 4, 9999, &year) || (!basic && !take_char(s, '-')) ||
	    !take_digits(s, 2, 12, &month) || (!basic && !take_char(s, '-')) ||
	    !take_digits(s, 2, 31, &day))
		return false;
	memset(date, 0, sizeof(*date));
	date->tm_year = year - 1900;
	date->tm_mon = month - 1;
	date->tm_mday = day;
	check = *date;
	timegm(&check); /* moves an overlong day into the next month */
	return check.tm_mon == date->tm_mon && check.tm_mday == date->tm_mday;
}

/* The seconds since the epoch of a time on a date, in this zone. */
static int64_t seconds_at(struct tm date, uint64_t clock_ns, bool local)
{
	date.tm_hour = (int)(clock_ns / HOUR_NS);
	date.tm_min = (int)(clock_ns / MINUTE_NS % 60);
	date.tm_sec = (int)(clock_ns / SECOND_NS % 60);
	date.tm_isdst = -1;
	return local ? mktime(&date) : timegm(&date);
}

/* A point since the epoch that covers when->unit_ns; 64 bits must tell all of it. */
static const char *set_point(struct kmes_when *when, int64_t seconds, uint64_t ns)
{
	uint64_t last;

	when->kind = KMES_WHEN_ABSOLUTE;
	if (seconds < 0 ||
	    __builtin_mul_overflow((uint64_t)seconds, SECOND_NS, &when->ns) ||
	    __builtin_add_overflow(when->ns, ns, &when->ns) ||
	    __builtin_add_overflow(when->ns, when->unit_ns - 1, &last))
		return "not between 1970 and 2554";
	return NULL;
}

static const char *parse_iso(struct kmes_when *when, const char *s, bool basic,
			     bool local)
{
	static const char not_iso[] = "not a date and time";
	struct zone zone = { 0 };
	struct tm date;
	int64_t seconds;

	if (!take_date(&s, basic, &date))
		return "not a date";
	when->ns = 0;
	when->unit_ns = 1;
	if (take_char(&s, 'T') || take_char(&s, 't') || take_char(&s, ' ')) {
		if (!take_clock(&s, basic, when) || !take_zone(&s, &zone))
			return not_iso;
	}
	if (*s)
		return not_iso;
	seconds = seconds_at(date, when->ns, local && !zone.given) -
		  zone.east_ns / (int64_t)SECOND_NS;
	return set_point(when, seconds, when->ns % SECOND_NS);
}

static const char *parse_clock(struct kmes_when *when, const char *s, bool local)
{
	struct zone zone;

	if (!take_clock(&s, false, when) || !take_zone(&s, &zone) || *s)
		return "not a time of day";
	when->kind = KMES_WHEN_CLOCK;
	when->local = local && !zone.given;
	when->ns = (when->ns + KMES_DAY_NS - (uint64_t)zone.east_ns) % KMES_DAY_NS;
	return NULL;
}

static const char *parse_epoch(struct kmes_when *when, const char *s)
{
	int64_t seconds = 0;
	uint64_t fraction_ns;
	size_t n = count_digits(s);

	if (n < 1 || n > 11)
		return "not seconds since the epoch";
	while (n--)
		seconds = 10 * seconds + (*s++ - '0');
	if (!take_fraction(&s, &fraction_ns, &when->unit_ns) || *s)
		return "not seconds since the epoch";
	return set_point(when, seconds, fraction_ns);
}

static const char *parse_age(struct kmes_when *when, const char *s, uint64_t now_ns)
{
	uint64_t age_ns;
	int rc = cli_parse_time(&age_ns, s);

	if (rc == -ERANGE)
		return "too long ago";
	if (rc)
		return "not a time";
	when->kind = KMES_WHEN_ABSOLUTE;
	when->ns = age_ns < now_ns ? now_ns - age_ns : 0;
	when->unit_ns = 1;
	return NULL;
}

/*
 * A number alone. Printed ones are told by their form; short ones are an age in seconds;
 * what is between the two could be either and is refused.
 */
static const char *parse_bare(struct kmes_when *when, const char *s, uint64_t now_ns)
{
	size_t n = count_digits(s);
	size_t fraction = s[n] == '.' ? count_digits(s + n + 1) : 0;
	int rc;

	if (s[n] == '.' && fraction == 9)
		return parse_epoch(when, s);
	if (n >= 18 && !s[n]) {
		rc = cli_parse_number(&when->ns, s);
		when->kind = KMES_WHEN_ABSOLUTE;
		when->unit_ns = 1;
		return rc ? "not between 1970 and 2554" : NULL;
	}
	if (n >= 8)
		return "an age (Ns) or seconds since the epoch (@N)?";
	return parse_age(when, s, now_ns);
}

static const char *parse(struct kmes_when *when, const char *text, uint64_t now_ns,
			 bool local)
{
	size_t n = count_digits(text);
	const char *behind = text + n;

	if (*text == '@')
		return parse_epoch(when, text + 1);
	if (*behind == ':')
		return parse_clock(when, text, local);
	if (n == 4 && *behind == '-')
		return parse_iso(when, text, false, local);
	if (n == 8 && (*behind == 'T' || *behind == 't'))
		return parse_iso(when, text, true, local);
	if (*behind == '.')
		behind += 1 + count_digits(behind + 1);
	if (n && !*behind)
		return parse_bare(when, text, now_ns);
	return parse_age(when, text, now_ns);
}

int kmesp_when_parse(struct kmes_when *when, const char *text, uint64_t now_ns,
		     bool local, const char **why)
{
	memset(when, 0, sizeof(*when));
	*why = parse(when, text, now_ns, local);
	return *why ? -EINVAL : 0;
}

/* The time of day on the day of `base_ns`, moved by some days; 0 when before 1970. */
static uint64_t clock_near(const struct kmes_when *when, uint64_t base_ns, int days)
{
	time_t base = (time_t)(base_ns / SECOND_NS);
	struct tm date;
	int64_t seconds;

	if (when->local)
		localtime_r(&base, &date);
	else
		gmtime_r(&base, &date);
	date.tm_mday += days;
	seconds = seconds_at(date, when->ns, when->local);
	if (seconds < 0)
		return 0;
	return (uint64_t)seconds * SECOND_NS + when->ns % SECOND_NS;
}

uint64_t kmesp_when_before(const struct kmes_when *when, uint64_t now_ns)
{
	uint64_t ns = 0;
	int days;

	if (when->kind == KMES_WHEN_ABSOLUTE)
		return when->ns;
	for (days = 1; days >= -2; days--) {
		ns = clock_near(when, now_ns, days);
		if (ns <= now_ns)
			break;
	}
	return ns;
}

uint64_t kmesp_when_after(const struct kmes_when *when, uint64_t start_ns)
{
	uint64_t ns = 0;
	int days;

	if (when->kind == KMES_WHEN_ABSOLUTE)
		return when->ns;
	for (days = -1; days <= 2; days++) {
		ns = clock_near(when, start_ns, days);
		if (ns + when->unit_ns > start_ns)
			break;
	}
	return ns;
}
