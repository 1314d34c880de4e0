// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* when.c - parses points in time, and resolves a time of day to a date. */
#include "cli/when.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/scan.h"
#include "cli/cli.h"
#include "print/time_text.h"

#define MINUTE_NS (60 * KMES_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)

/* The time zone after a time of day. */
struct zone {
	bool given;
	int64_t east_ns;
};

/* Up to nine digits after a dot or comma, if there is one. */
static bool take_fraction(const char **s, uint32_t *ns, uint64_t *unit_ns)
{
	size_t n;

	*ns = 0;
	*unit_ns = 1;
	if (!kmesp_scan_char(s, NULL, '.') && !kmesp_scan_char(s, NULL, ','))
		return true;
	n = kmesp_scan_billionths(s, NULL, ns);
	if (n == 6)
		*unit_ns = 1000;
	return n != 0;
}

/* HH:MM[:SS[.f]], without the colons if `basic`. */
static bool take_clock(const char **s, bool basic, struct kmes_when *when)
{
	int hour, minute, second = 0;
	uint32_t fraction_ns = 0;

	when->unit_ns = 1;
	if (!kmesp_scan_digits(s, NULL, 2, 0, 23, &hour))
		return false;
	if (!basic && !kmesp_scan_char(s, NULL, ':'))
		return false;
	if (!kmesp_scan_digits(s, NULL, 2, 0, 59, &minute))
		return false;
	if (basic ? kmesp_is_digit(**s) : kmesp_scan_char(s, NULL, ':')) {
		if (!kmesp_scan_digits(s, NULL, 2, 0, 59, &second) ||
		    !take_fraction(s, &fraction_ns, &when->unit_ns))
			return false;
	}
	when->ns = (uint64_t)hour * HOUR_NS + (uint64_t)minute * MINUTE_NS +
		   (uint64_t)second * KMES_NS_PER_S + fraction_ns;
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
	if (kmesp_scan_char(s, NULL, 'Z') || kmesp_scan_char(s, NULL, 'z'))
		return true;
	if (!kmesp_scan_char(s, NULL, '+') && !kmesp_scan_char(s, NULL, '-'))
		return false;
	if (!kmesp_scan_digits(s, NULL, 2, 0, 23, &hours))
		return false;
	if (kmesp_scan_char(s, NULL, ':') || **s) {
		if (!kmesp_scan_digits(s, NULL, 2, 0, 59, &minutes))
			return false;
	}
	zone->east_ns = sign * ((int64_t)hours * (int64_t)HOUR_NS +
				(int64_t)minutes * (int64_t)MINUTE_NS);
	return true;
}

static bool take_date(const char **s, bool basic, struct tm *tm)
{
	struct kmes_date date;

	if (!kmesp_scan_date(s, NULL, basic, &date))
		return false;
	*tm = (struct tm){ .tm_year = date.year - 1900,
			   .tm_mon = date.month - 1,
			   .tm_mday = date.day };
	return true;
}

/* A date and a time of day, in UTC or local time, as seconds since the epoch. */
static int64_t seconds_at(struct tm date, uint64_t clock_ns, bool local)
{
	date.tm_hour = (int)(clock_ns / HOUR_NS);
	date.tm_min = (int)(clock_ns / MINUTE_NS % 60);
	date.tm_sec = (int)(clock_ns / KMES_NS_PER_S % 60);
	date.tm_isdst = -1;
	return local ? mktime(&date) : timegm(&date);
}

/* Stores a time since the epoch; the end of its unit must also fit in 64 bits. */
static const char *set_point(struct kmes_when *when, int64_t seconds, uint64_t ns)
{
	uint64_t last;

	when->kind = KMES_WHEN_ABSOLUTE;
	if (seconds < 0 ||
	    __builtin_mul_overflow((uint64_t)seconds, KMES_NS_PER_S, &when->ns) ||
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
	if (kmesp_scan_char(&s, NULL, 'T') || kmesp_scan_char(&s, NULL, 't') ||
	    kmesp_scan_char(&s, NULL, ' ')) {
		if (!take_clock(&s, basic, when) || !take_zone(&s, &zone))
			return not_iso;
	}
	if (*s)
		return not_iso;
	seconds = seconds_at(date, when->ns, local && !zone.given) -
		  zone.east_ns / (int64_t)KMES_NS_PER_S;
	return set_point(when, seconds, when->ns % KMES_NS_PER_S);
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
	uint64_t seconds;
	uint32_t fraction_ns;

	if (kmesp_count_digits(s, NULL) > 11 || kmesp_scan_number(&s, NULL, &seconds) ||
	    !take_fraction(&s, &fraction_ns, &when->unit_ns) || *s)
		return "not seconds since the epoch";
	return set_point(when, (int64_t)seconds, fraction_ns);
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
 * A bare number. Printed times are recognized by their form; short numbers are an age in
 * seconds; numbers in between are ambiguous and refused.
 */
static const char *parse_bare(struct kmes_when *when, const char *s, uint64_t now_ns)
{
	size_t n = kmesp_count_digits(s, NULL);
	size_t fraction = s[n] == '.' ? kmesp_count_digits(s + n + 1, NULL) : 0;
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
	size_t n = kmesp_count_digits(text, NULL);
	const char *after = text + n;

	if (*text == '@')
		return parse_epoch(when, text + 1);
	if (*after == ':')
		return parse_clock(when, text, local);
	if (n == 4 && *after == '-')
		return parse_iso(when, text, false, local);
	if (n == 8 && (*after == 'T' || *after == 't'))
		return parse_iso(when, text, true, local);
	if (*after == '.')
		after += 1 + kmesp_count_digits(after + 1, NULL);
	if (n && !*after)
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

/* The time of day on the date of `base_ns` plus `days`; 0 if that is before 1970. */
static uint64_t clock_near(const struct kmes_when *when, uint64_t base_ns, int days)
{
	time_t base = (time_t)(base_ns / KMES_NS_PER_S);
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
	return (uint64_t)seconds * KMES_NS_PER_S + when->ns % KMES_NS_PER_S;
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
