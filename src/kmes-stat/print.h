/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* print.h - the forms in which a sample is printed. */
#ifndef STAT_PRINT_H
#define STAT_PRINT_H
#include "cli/cli.h"
#include "sample.h"

struct stat_format {
	void (*print)(struct cli_out *out, const struct stat_sampler *s);
};

extern const struct stat_format stat_table;
extern const struct stat_format stat_json;
extern const struct stat_format stat_prometheus;

/* printf into an output, for lines that are not printed often. */
void stat_say(struct cli_out *out, const char *format, ...) CLI_PRINTF(2, 3);

/* A time as ISO 8601, UTC, nanoseconds. */
void stat_say_time(struct cli_out *out, uint64_t ns);

/* A name as a JSON string. */
void stat_say_name(struct cli_out *out, const char *name, size_t len);

/* An event's type as kmes-dump prints it: no two look the same. */
void stat_say_type(struct cli_out *out, const char *type, size_t len);

/* The types, busiest first, as a table; and as the JSON member `,"types":[...]`. */
void stat_table_types(struct cli_out *out, const struct stat_types *types);
void stat_json_types(struct cli_out *out, const struct stat_types *types);

/*
 * Before the first write: only a file, or a link, is replaced; and what others that were
 * killed have left in the folder is removed. 0 or -errno.
 */
int stat_textfile_check(const char *path, struct kmes_error *err);

/* Writes the metrics into `path` by way of a new file beside it. 0 or -errno. */
int stat_textfile_write(const char *path, const struct stat_sampler *s,
			struct kmes_error *err);

#endif
