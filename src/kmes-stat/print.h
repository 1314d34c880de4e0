/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* print.h - the forms in which a sample is printed. */
#ifndef STAT_PRINT_H
#define STAT_PRINT_H
#include "base/json_out.h"
#include "cli/cli.h"
#include "sample.h"

struct stat_format {
	void (*print)(struct cli_out *out, const struct stat_sampler *s);
};

extern const struct stat_format stat_table;
extern const struct stat_format stat_json;
extern const struct stat_format stat_prometheus;

/* Longest text of stat_time_text, with its NUL. */
#define STAT_TIME_TEXT 32

/* A time as ISO 8601 in UTC with nanoseconds; returns the length. */
size_t stat_time_text(char *text, uint64_t ns);

/* An event's type as kmes-dump prints it, so that different types look different. */
void stat_print_type(struct cli_out *out, const char *type, size_t len);

/* The types, busiest first, as a table and as the JSON member "types". */
void stat_table_types(struct cli_out *out, const struct stat_types *types);
void stat_json_types(struct kmes_json_out *j, const struct stat_types *types);

/* Opens a sample's object with its time, source and interval (0: null). */
void stat_json_begin(struct kmes_json_out *j, struct cli_out *out, uint64_t time_ns,
		     const char *source, uint64_t interval_ns);

/* Members; null where the value is unknown. */
void stat_json_value(struct kmes_json_out *j, const char *key, struct stat_value v);
void stat_json_rate(struct kmes_json_out *j, const char *key, struct stat_rate rate,
		    int places);
void stat_json_time(struct kmes_json_out *j, const char *key, uint64_t ns);

/*
 * To be called before the first write: refuses to replace anything but a regular file or
 * a symbolic link, and removes temporary files of processes that were killed. 0 or
 * -errno.
 */
int stat_textfile_check(const char *path, struct kmes_error *err);

/* Writes the metrics to a new file in the same directory and renames it. 0 or -errno. */
int stat_textfile_write(const char *path, const struct stat_sampler *s,
			struct kmes_error *err);

#endif
