/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* names.c - numbers files, and finds them again by their names alone. */
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* "a.kmes.gz" has the extension ".kmes.gz"; a name that begins with a dot has none there. */
static const char *find_ext(const char *name)
{
	size_t len = strlen(name), i;

	if (len > 3 && !strcmp(name + len - 3, ".gz"))
		len -= 3;
	for (i = len; i > 1; i--)
		if (name[i - 1] == '.')
			return name + i - 1;
	return name + len;
}

static bool skip_digits(const char **text, unsigned int at_least, unsigned int at_most)
{
	unsigned int n = 0;

	while (**text >= '0' && **text <= '9' && n < at_most) {
		(*text)++;
		n++;
	}
	return n >= at_least;
}

static bool skip_char(const char **text, char c)
{
	return *(*text)++ == c;
}

/* The number of a name of our form, 0 for any other name. */
static uint64_t number_of(const struct dump_names *names, const char *name)
{
	size_t stem = strlen(names->stem);
	uint64_t number;
	const char *at;

	if (strncmp(name, names->stem, stem) || name[stem] != '-')
		return 0;
	at = name + stem + 1;
	number = strtoull(at, NULL, 10);
	/* Six digits, or more that do not begin with 0. */
	if (!skip_digits(&at, 6, 18) ||
	    (at - (name + stem + 1) > 6 && name[stem + 1] == '0'))
		return 0;
	if (!skip_char(&at, '-') || !skip_digits(&at, 8, 8) || !skip_char(&at, 'T') ||
	    !skip_digits(&at, 6, 6) || !skip_char(&at, 'Z') || strcmp(at, names->ext))
		return 0;
	return number;
}

/*
 * Goes over the files there are: how many, the highest number, and the lowest one with
 * its name, to be freed. 0 or -errno.
 */
static int scan(const struct dump_names *names, uint64_t *count, uint64_t *highest,
		char **oldest)
{
	DIR *dir = opendir(*names->dir ? names->dir : ".");
	uint64_t lowest = UINT64_MAX;
	struct dirent *entry;

	*count = 0;
	*highest = 0;
	*oldest = NULL;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		uint64_t number = number_of(names, entry->d_name);

		if (!number)
			continue;
		(*count)++;
		if (number > *highest)
			*highest = number;
		if (number < lowest) {
			lowest = number;
			free(*oldest);
			*oldest = strdup(entry->d_name);
		}
	}
	closedir(dir);
	return 0;
}

int dump_names_init(struct dump_names *names, const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	const char *ext = find_ext(name);
	uint64_t count;
	char *oldest;
	int r;

	names->dir = slash ? strndup(file, (size_t)(slash + 1 - file)) : strdup("");
	names->stem = strndup(name, (size_t)(ext - name));
	names->ext = strdup(ext);
	if (!names->dir || !names->stem || !names->ext)
		return -ENOMEM;
	r = scan(names, &count, &names->last, &oldest);
	free(oldest);
	return r;
}

void dump_names_fini(struct dump_names *names)
{
	free(names->dir);
	free(names->stem);
	free(names->ext);
}

int dump_names_create(struct dump_names *names, char **path)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;
	int fd;

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	for (*path = NULL;;) {
		free(*path);
		if (asprintf(path, "%s%s-%06" PRIu64 "-%s%s", names->dir, names->stem,
			     ++names->last, when, names->ext) < 0) {
			*path = NULL;
			return -ENOMEM;
		}
		fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
}

int dump_names_remove_oldest(const struct dump_names *names, uint64_t keep)
{
	uint64_t count, highest;
	char *oldest, *path = NULL;
	int r = scan(names, &count, &highest, &oldest);

	if (r == 0 && count > keep && count > 1 && oldest) {
		if (asprintf(&path, "%s%s", names->dir, oldest) < 0)
			r = -ENOMEM;
		else
			r = unlink(path) < 0 ? -errno : 1;
		free(path);
	}
	free(oldest);
	return r;
}
