// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* time_text.c - points in time to text, the date computed once per second; and back. */
#include "print/time_text.h"

#include <time.h>

#include "base/clock.h"
#include "base/outbuf.h"
#include "base/scan.h"

#define DAY 86400
#define DAYS_IN_400_YEARS 146097
#define DAYS_BEFORE_1970 719468 /* since 0000-03-01 */

/*
 * Years that begin in March have the leap day at their end; 400, 100, 4 years and 1 then
 * have fixed lengths but for the last day, and the lengths of months repeat every 153
 * days.
 */
static struct kmes_date date_of(int64_t days_since_1970)
{
	int64_t days = days_since_1970 + DAYS_BEFORE_1970;
	int64_t era =
		(days < 0 ? days - (DAYS_IN_400_YEARS - 1) : days) / DAYS_IN_400_YEARS;
	unsigned int day = days - era * DAYS_IN_400_YEARS;
	unsigned int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	unsigned int day_of_year = day - (365 * year + year / 4 - year / 100);
	unsigned int month = (5 * day_of_year + 2) / 153; /* 0 is March */
	struct kmes_date date = {
		.year = era * 400 + year + (month >= 10),
		.month = month < 10 ? month + 3 : month - 9,
		.day = day_of_year - (153 * month + 2) / 5 + 1,
	};

	return date;
}

int64_t kmesp_date_days(const struct kmes_date *date)
{
	/* As above, with March as the first month. */
	int64_t year = date->year - (date->month < 3);
	int64_t era = (year < 0 ? year - 399 : year) / 400;
	int64_t year_of_era = year - 400 * era;
	int64_t month = (date->month + 9) % 12;
	int64_t day_of_year = (153 * month + 2) / 5 + date->day - 1;

	return DAYS_IN_400_YEARS * era + 365 * year_of_era + year_of_era / 4 -
	       year_of_era / 100 + day_of_year - DAYS_BEFORE_1970;
}

static int days_in_month(int year, int month)
{
	struct kmes_date first = { year, month, 1 };
	struct kmes_date next = { year + month / 12, month % 12 + 1, 1 };

	return (int)(kmesp_date_days(&next) - kmesp_date_days(&first));
}

bool kmesp_scan_date(const char **s, const char *end, bool is_basic,
		     struct kmes_date *date)
{
	if (!kmesp_scan_digits(s, end, 4, 0, 9999, &date->year) ||
	    (!is_basic && !kmesp_scan_char(s, end, '-')) ||
	    !kmesp_scan_digits(s, end, 2, 1, 12, &date->month) ||
	    (!is_basic && !kmesp_scan_char(s, end, '-')))
		return false;
	return kmesp_scan_digits(s, end, 2, 1, days_in_month(date->year, date->month),
				 &date->day);
}

static char *put_time_of_day(char *p, unsigned int second)
{
	p = kmesp_put_2(p, second / 3600);
	p = kmesp_put_char(p, ':');
	p = kmesp_put_2(p, second / 60 % 60);
	p = kmesp_put_char(p, ':');
	return kmesp_put_2(p, second % 60);
}

/* 2026-11-29T20:21:22. */
static char *put_second(char *p, int64_t second)
{
	int64_t days = (second < 0 ? second - (DAY - 1) : second) / DAY;
	struct kmes_date date = date_of(days);

	p = kmesp_put_2(p, date.year / 100);
	p = kmesp_put_2(p, date.year % 100);
	p = kmesp_put_char(p, '-');
	p = kmesp_put_2(p, date.month);
	p = kmesp_put_char(p, '-');
	p = kmesp_put_2(p, date.day);
	p = kmesp_put_char(p, 'T');
	p = put_time_of_day(p, second - days * DAY);
	return kmesp_put_char(p, '.');
}

char *kmesp_put_time_iso(char *p, int64_t second, uint32_t ns)
{
	p = put_second(p, second);
	p = kmesp_put_9(p, ns);
	return kmesp_put_char(p, 'Z');
}

/* Updates the text to this second in UTC; returns the nanoseconds within it. */
static uint32_t clock_set_utc(struct kmes_time_cache *clock, uint64_t ts_ns)
{
	uint64_t second = ts_ns / KMES_NS_PER_S;

	if (second != clock->utc_second || !clock->utc_valid) {
		put_second(clock->utc, second);
		clock->epoch_len = kmesp_put_u64(clock->epoch, second) - clock->epoch;
		clock->utc_second = second;
		clock->utc_valid = true;
	}
	return ts_ns - second * KMES_NS_PER_S;
}

static uint32_t clock_set_local(struct kmes_time_cache *clock, uint64_t ts_ns)
{
	uint64_t second = ts_ns / KMES_NS_PER_S;
	time_t t = second;
	struct tm tm;

	if (second != clock->local_second || !clock->local_valid) {
		if (!clock->local_valid)
			tzset();
		if (!localtime_r(&t, &tm))
			gmtime_r(&t, &tm);
		put_time_of_day(clock->local,
				3600 * tm.tm_hour + 60 * tm.tm_min + tm.tm_sec);
		clock->local_second = second;
		clock->local_valid = true;
	}
	return ts_ns - second * KMES_NS_PER_S;
}

char *kmesp_put_clock_iso(char *p, struct kmes_time_cache *clock, uint64_t ts_ns)
{
	uint32_t ns = clock_set_utc(clock, ts_ns);

	p = kmesp_put_bytes(p, clock->utc, sizeof(clock->utc));
	p = kmesp_put_9(p, ns);
	return kmesp_put_char(p, 'Z');
}

char *kmesp_put_clock_epoch(char *p, struct kmes_time_cache *clock, uint64_t ts_ns,
			    uint32_t *ns)
{
	*ns = clock_set_utc(clock, ts_ns);
	memcpy(p, clock->epoch, sizeof(clock->epoch));
	return p + clock->epoch_len;
}

char *kmesp_put_clock_utc(char *p, struct kmes_time_cache *clock, uint64_t ts_ns)
{
	uint32_t ns = clock_set_utc(clock, ts_ns);

	p = kmesp_put_bytes(p, clock->utc + 11, 9);
	return kmesp_put_6(p, ns / 1000);
}

char *kmesp_put_clock_local(char *p, struct kmes_time_cache *clock, uint64_t ts_ns)
{
	uint32_t ns = clock_set_local(clock, ts_ns);

	p = kmesp_put_bytes(p, clock->local, sizeof(clock->local));
	p = kmesp_put_char(p, '.');
	return kmesp_put_6(p, ns / 1000);
}
