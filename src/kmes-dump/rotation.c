// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* rotation.c - creates numbered files, and finds them by their names. */
#include "rotation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/scan.h"

/* Limits of a number. */
#define DIGITS_MAX 18
#define NUMBER_MAX 999999999999999999ull

/* "a.kmes.gz" has the extension ".kmes.gz". A leading dot does not begin one. */
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

static bool skip_digits(const char **text, size_t count)
{
	bool is_there = kmesp_count_digits(*text, NULL) == count;

	*text += is_there ? count : 0;
	return is_there;
}

/* The number in a name of our form; 0: another name. */
static uint64_t number_of(const struct dump_rotation *names, const char *name)
{
	size_t stem = strlen(names->stem);
	uint64_t number;
	const char *at;
	size_t digits;

	if (strncmp(name, names->stem, stem) || name[stem] != '-')
		return 0;
	at = name + stem + 1;
	digits = kmesp_count_digits(at, NULL);
	/* Six digits, or more without a leading 0. */
	if (digits < 6 || digits > DIGITS_MAX || (digits > 6 && *at == '0') ||
	    kmesp_scan_number(&at, NULL, &number))
		return 0;
	if (!kmesp_scan_char(&at, NULL, '-') || !skip_digits(&at, 8) ||
	    !kmesp_scan_char(&at, NULL, 'T') || !skip_digits(&at, 6) ||
	    !kmesp_scan_char(&at, NULL, 'Z') || strcmp(at, names->ext))
		return 0;
	return number;
}

typedef void visitor(void *arg, int dir, const char *name, uint64_t number);

static bool is_file(int dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_REG;
	return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}

/* Visits the files in any order. 0 or -errno. */
static int each_file(const struct dump_rotation *names, visitor *visit, void *arg)
{
	DIR *dir = opendir(*names->dir ? names->dir : ".");
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		uint64_t number = number_of(names, entry->d_name);

		if (number && is_file(dirfd(dir), entry))
			visit(arg, dirfd(dir), entry->d_name, number);
	}
	closedir(dir);
	return 0;
}

static void note_highest(void *arg, int dir, const char *name, uint64_t number)
{
	uint64_t *highest = arg;

	(void)dir;
	(void)name;
	if (number > *highest)
		*highest = number;
}

int dump_rotation_init(struct dump_rotation *names, const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	const char *ext = find_ext(name);

	names->last = 0;
	names->dir = slash ? strndup(file, (size_t)(slash + 1 - file)) : strdup("");
	names->stem = strndup(name, (size_t)(ext - name));
	names->ext = strdup(ext);
	if (!names->dir || !names->stem || !names->ext)
		return -ENOMEM;
	return each_file(names, note_highest, &names->last);
}

void dump_rotation_fini(struct dump_rotation *names)
{
	free(names->dir);
	free(names->stem);
	free(names->ext);
}

int dump_rotation_create(struct dump_rotation *names, char **path)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;
	int fd;

	*path = NULL;
	if (names->last >= NUMBER_MAX)
		return -EOVERFLOW;
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	for (;;) {
		free(*path);
		if (asprintf(path, "%s%s-%06" PRIu64 "-%s%s", names->dir, names->stem,
			     ++names->last, when, names->ext) < 0) {
			*path = NULL;
			return -ENOMEM;
		}
		fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST) {
			names->last--; /* not used */
			return -errno;
		}
	}
}

int dump_rotation_lock(int fd)
{
	/* A file system without locks is accepted. */
	return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY : 0;
}

static bool is_being_written(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is = fd >= 0 && dump_rotation_lock(fd) < 0;

	if (fd >= 0)
		close(fd);
	return is;
}

/* The number of files, and the oldest one above a given number. */
struct oldest {
	uint64_t count, above, number;
	char name[NAME_MAX + 1];
};

static void note_oldest(void *arg, int dir, const char *name, uint64_t number)
{
	struct oldest *o = arg;

	(void)dir;
	o->count++;
	if (number <= o->above || (o->number && number >= o->number) ||
	    strlen(name) > NAME_MAX)
		return;
	o->number = number;
	strcpy(o->name, name);
}

/* Removes a file that is not being written. 1; 0: it is; or -errno. */
static int remove_file(const struct dump_rotation *names, const char *name)
{
	int rc = 0, dir = open(*names->dir ? names->dir : ".", O_RDONLY | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	/* Another process may remove it, too. */
	if (!is_being_written(dir, name))
		rc = unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 1;
	close(dir);
	return rc;
}

int dump_rotation_remove_oldest(const struct dump_rotation *names, uint64_t keep)
{
	struct oldest o = { 0 };
	int rc = 0;

	do {
		o.above = o.number;
		o.count = 0;
		o.number = 0;
		rc = each_file(names, note_oldest, &o);
		if (rc < 0 || o.count <= keep || !o.number)
			return rc;
		rc = remove_file(names, o.name);
	} while (rc == 0);
	return rc;
}

struct search {
	bool (*is)(const void *arg, const struct stat *st);
	const void *arg;
	char *found;
};

static void note_found(void *arg, int dir, const char *name, uint64_t number)
{
	struct search *search = arg;
	struct stat st;

	(void)number;
	if (!search->found && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    search->is(search->arg, &st))
		search->found = strdup(name);
}

char *dump_rotation_find(const struct dump_rotation *names,
			 bool (*is)(const void *arg, const struct stat *st),
			 const void *arg)
{
	struct search search = { is, arg, NULL };
	char *path = NULL;

	each_file(names, note_found, &search);
	if (search.found && asprintf(&path, "%s%s", names->dir, search.found) < 0)
		path = NULL;
	free(search.found);
	return path;
}
