/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * time_text.h - points in time to text, and dates from text.
 *
 * Gain: gmtime_r(), strftime() and sprintf() take 103 ns for an ISO time, this 5.6 ns,
 * and 3.9 ns within the second of the one before (tests/bench/bench_base.c).
 */
#ifndef KMES_TIME_TEXT_H
#define KMES_TIME_TEXT_H
#include <stdbool.h>
#include <stdint.h>

struct kmes_date {
	int year, month, day; /* 2026, 11, 29 */
};

/* Days since 1970-01-01 in the Gregorian calendar, which is extended to all years. */
int64_t kmesp_date_days(const struct kmes_date *date);

/* Reads YYYY-MM-DD, or YYYYMMDD if `is_basic`; false for a day that does not exist. */
bool kmesp_scan_date(const char **s, const char *end, bool is_basic,
		     struct kmes_date *date);

/* The range of kmesp_put_time_iso: the years 0000 to 9999. */
#define KMES_ISO_SECOND_MIN (-62167219200)
#define KMES_ISO_SECOND_MAX 253402300799

/* 2026-11-29T20:21:22.123456789Z; `second` within the bounds above, `ns` below 10^9. */
char *kmesp_put_time_iso(char *p, int64_t second, uint32_t ns);

/*
 * The text of the last second that was printed: most events share it with the one before.
 * Initially all zero.
 */
struct kmes_time_cache {
	uint64_t utc_second, local_second;
	bool utc_valid, local_valid;
	char utc[20];	/* 2026-11-29T20:21:22. */
	char local[8];	/* 21:21:22 */
	char epoch[12]; /* 1795983682 */
	uint8_t epoch_len;
};

/* The same for time stamps of events. */
char *kmesp_put_clock_iso(char *p, struct kmes_time_cache *clock, uint64_t ts_ns);

/* 1795983682, the seconds since the epoch; the nanoseconds go to `ns`. */
char *kmesp_put_clock_epoch(char *p, struct kmes_time_cache *clock, uint64_t ts_ns,
			    uint32_t *ns);

/* 20:21:22.123456, in UTC or in the time zone of the process. */
char *kmesp_put_clock_utc(char *p, struct kmes_time_cache *clock, uint64_t ts_ns);
char *kmesp_put_clock_local(char *p, struct kmes_time_cache *clock, uint64_t ts_ns);

#endif
