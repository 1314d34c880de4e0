// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* lines.c - each line of a file becomes an event, or is refused. */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "emit.h"

static int take_line(struct json *json, struct sender *s, const struct input *in,
		     const char *line, size_t len)
{
	struct place place;
	struct kmes_error why;
	int rc = json_event(json, line, len, sender_room(s), &place, &why);

	if (rc > 0)
		return sender_add(s, &place, in->line);
	if (rc < 0)
		sender_refuse(s, in->line, why.text);
	return 0;
}

/* Sends the queue ahead of a read that may block. */
static int read_more(struct input *in, struct sender *s)
{
	int rc = input_is_ready(in) ? 0 : sender_flush(s);

	if (rc < 0 || cli_stop_signal())
		return rc < 0 ? rc : -EINTR;
	rc = input_read(in);
	if (rc == 0 || rc == -EINTR)
		return 0;
	cli_error("%s: cannot read: %s", in->name, strerror(-rc));
	return rc;
}

/* 0 at the end of the input, or -errno after a message; none for a stop (-EINTR). */
static int all_lines(struct json *json, struct input *in, struct sender *s)
{
	char *line;
	size_t len;
	int rc = 0;

	while (rc == 0) {
		switch (input_next(in, &line, &len)) {
		case 1:
			rc = take_line(json, s, in, line, len);
			break;
		case 0:
			rc = read_more(in, s);
			break;
		case -EFBIG:
			sender_refuse(s, in->line, "longer than 32 MiB");
			break;
		default:
			return sender_flush(s);
		}
	}
	return rc;
}

int lines_emit(struct input *in, struct sender *s)
{
	struct json *json = json_new();
	int rc, last;

	if (!json)
		cli_no_memory();
	rc = all_lines(json, in, s);
	json_free(json);
	if (rc < 0 && !s->is_over) {
		last = sender_flush(s);
		rc = last < 0 ? last : rc;
	}
	return rc;
}
