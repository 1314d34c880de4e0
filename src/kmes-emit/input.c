// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * input.c - lines of a file, in a buffer that grows with the longest one up to a limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emit.h"

#define FIRST_SIZE (512u << 10)
#define PIECE (256u << 10)

int input_open(struct input *in, const char *path)
{
	memset(in, 0, sizeof(*in));
	in->name = path;
	if (strcmp(path, "-") == 0) {
		in->fd = STDIN_FILENO;
		in->name = "standard input";
	} else {
		in->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (in->fd < 0)
			return -errno;
	}
	in->size = FIRST_SIZE;
	in->buf = malloc(in->size);
	return in->buf ? 0 : -ENOMEM;
}

void input_close(struct input *in)
{
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in->buf);
	in->buf = NULL;
}

/* The end of the current line, or NULL; no byte is searched twice. */
static char *find_newline(struct input *in)
{
	char *newline = memchr(in->buf + in->seen, '\n', in->end - in->seen);

	in->seen = newline ? (size_t)(newline - in->buf) : in->end;
	return newline;
}

int input_next(struct input *in, char **line, size_t *len)
{
	char *newline = find_newline(in);

	if (!newline && in->is_too_long) {
		in->start = in->seen = in->end;
	} else if (!newline && in->end - in->start > INPUT_LINE_MAX) {
		in->is_too_long = true;
		in->start = in->seen = in->end;
	}
	if (!newline && !in->is_at_end)
		return 0;
	if (!newline) {
		if (in->start == in->end && !in->is_too_long)
			return -ENODATA;
		newline = in->buf + in->end++; /* input_read has left room for it */
		*newline = '\n';
	}
	*line = in->buf + in->start;
	*len = (size_t)(newline - *line);
	in->start = in->seen = (size_t)(newline - in->buf) + 1;
	in->line++;
	if (!in->is_too_long)
		return *len > INPUT_LINE_MAX ? -EFBIG : 1;
	in->is_too_long = false;
	return -EFBIG;
}

bool input_is_ready(const struct input *in)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* Room for a piece after the data, and for one more byte. */
static int make_room(struct input *in)
{
	size_t size = in->size;
	char *buf;

	if (in->start) {
		memmove(in->buf, in->buf + in->start, in->end - in->start);
		in->seen -= in->start;
		in->end -= in->start;
		in->start = 0;
	}
	if (size - in->end > PIECE)
		return 0;
	buf = realloc(in->buf, size * 2);
	if (!buf)
		return -ENOMEM;
	in->buf = buf;
	in->size = size * 2;
	return 0;
}

int input_read(struct input *in)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };
	int rc = make_room(in);
	ssize_t n;

	if (rc < 0)
		return rc;
	n = read(in->fd, in->buf + in->end, PIECE);
	if (n < 0 && errno == EAGAIN) {
		poll(&p, 1, -1);
		return 0;
	}
	if (n < 0)
		return -errno;
	in->is_at_end = n == 0;
	in->end += (size_t)n;
	return 0;
}
