/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * rotation.h - names of the files of a rotated capture: STEM-NNNNNN-YYYYMMDDTHHMMSSZ.EXT.
 *
 * The number comes first, so that names sort in the order of writing even if the clock
 * was stepped. Only files with names of exactly this form are counted or removed.
 */
#ifndef DUMP_ROTATION_H
#define DUMP_ROTATION_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct dump_rotation {
	char *dir;     /* with a trailing slash, or "" */
	char *stem;    /* of the file name */
	char *ext;     /* with its dot, or "" */
	uint64_t last; /* the highest number in use */
};

/* Splits the name and finds the highest number in use. 0 or -errno. */
int dump_rotation_init(struct dump_rotation *names, const char *file);
void dump_rotation_fini(struct dump_rotation *names);

/*
 * Creates the file with the next number. A descriptor or -errno. The caller frees its
 * name in `*path`, also on failure.
 */
int dump_rotation_create(struct dump_rotation *names, char **path);

/*
 * Removes the oldest file if there are more than `keep`. 1; 0: nothing to remove; or
 * -errno. Files that a recorder is writing are not removed.
 */
int dump_rotation_remove_oldest(const struct dump_rotation *names, uint64_t keep);

/* The name of a file for which `is` returns true; the caller frees it. NULL: none. */
char *dump_rotation_find(const struct dump_rotation *names,
			 bool (*is)(const void *arg, const struct stat *st),
			 const void *arg);

/* Takes an exclusive flock(2), so that other recorders refuse the file. 0 or -EBUSY. */
int dump_rotation_lock(int fd);

#endif
