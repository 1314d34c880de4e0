/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * names.h - the files of a rotated capture: STEM-NNNNNN-YYYYMMDDTHHMMSSZ.EXT.
 *
 * The number comes first, so that names sort as the files were written, whatever the
 * clock did. Only names of exactly this form are ever counted or removed.
 */
#ifndef DUMP_NAMES_H
#define DUMP_NAMES_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct dump_names {
	char *dir;     /* with a slash behind it, or "" */
	char *stem;    /* of the file */
	char *ext;     /* from the dot on, or "" */
	uint64_t last; /* the highest number given */
};

/* Takes FILE apart and finds the highest number there is. 0 or -errno. */
int dump_names_init(struct dump_names *names, const char *file);
void dump_names_fini(struct dump_names *names);

/*
 * Makes the file with the next number: a descriptor, or -errno. `*path` is its name, to be
 * freed by the caller, also on failure.
 */
int dump_names_create(struct dump_names *names, char **path);

/*
 * Removes the oldest file if there are more than `keep`: 1, 0 when there is none to be
 * removed, or -errno. One that some recorder still writes stays, be it us or another.
 */
int dump_names_remove_oldest(const struct dump_names *names, uint64_t keep);

/* The name of the first file that `is` is true of, to be freed; NULL: of none. */
char *dump_names_find(const struct dump_names *names,
		      bool (*is)(const void *arg, const struct stat *st),
		      const void *arg);

/*
 * Marks the file as being written, by whom else ever asks. 0, or -EBUSY when it is already.
 */
int dump_names_lock(int fd);

#endif
