/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * emit.h - the parts of kmes-emit.
 *
 *	main.c	  options, the CPU, the run
 *	event.c	  the one event of the command line
 *	lines.c	  the events of a file
 *	input.c	  lines of a file, in bounded memory
 *	json.c	  JSON text to MessagePack, and the object around an event
 *	strict.c  what the letter of JSON forbids and yajl lets pass
 *	build.c	  one MessagePack value, written as its parts come
 *	tags.c	  {"$bin": ..} and its kind, back to what they stood for
 *	sender.c  batches, pace, waiting out the rate limit
 */
#ifndef KMES_EMIT_EMIT_H
#define KMES_EMIT_EMIT_H
#include "kmes.h"
#include "kmes_pack.h"

/* ---- tags.c ---- */

enum tag {
	TAG_NONE,
	TAG_BIN,
	TAG_EXT,
	TAG_SID,
	TAG_GUID,
	TAG_TIME,
	TAG_RAW,
};

/* Which tag a key is. */
enum tag tag_find(const char *key, size_t len);

/*
 * Replaces everything from `start` on, a map of which the only value stands at `value`, by
 * what it stands for.
 */
int tag_resolve(struct kmes_pack *out, uint32_t start, uint32_t value, enum tag tag,
		struct kmes_error *why);

/* ---- build.c ---- */

/* Containers in one another; a tag takes up to two that go away again. */
#define BUILD_LEVELS (KMES_DEPTH_MAX + 2)

struct build_level {
	uint32_t start; /* where the container begins */
	uint32_t value; /* where the value of the first key begins */
	uint32_t count; /* of elements, or of pairs */
	bool is_map;
	enum tag tag; /* the first key of a map is this */
};

/* A value being written; `depth` 0 between values. */
struct build {
	struct kmes_pack *out;
	struct kmes_error *why;
	uint32_t depth;
	struct build_level levels[BUILD_LEVELS];
};

/* Each 0, or -EINVAL with the reason. */
int build_nil(struct build *b);
int build_bool(struct build *b, bool value);
int build_number(struct build *b, const char *text, size_t len);
int build_string(struct build *b, const char *text, size_t len);
int build_key(struct build *b, const char *text, size_t len);
int build_open(struct build *b, bool is_map);
int build_close(struct build *b);

/* ---- json.c ---- */

/* Where an event's texts stand in the memory that it was written to. */
struct place {
	uint32_t type, payload;
	uint32_t payload_len;
	uint16_t type_len;
};

struct json;

struct json *json_new(void);
void json_free(struct json *j);

/*
 * Writes the event of one line behind what is in `out`. 1, or 0 when the line holds none
 * (blank, or a loss record), or -EINVAL with the reason, and `out` as it was. The byte at
 * `line[len]` is a newline.
 */
int json_event(struct json *j, const char *line, size_t len, struct kmes_pack *out,
	       struct place *place, struct kmes_error *why);

/* Writes the one value that `text` is. 0, or -EINVAL with the reason, and `out` as it was. */
int json_value(struct json *j, const char *text, size_t len, struct kmes_pack *out,
	       struct kmes_error *why);

/* ---- strict.c ---- */

/* 0, or -EINVAL with the reason. What is no JSON for other reasons passes. */
int strict_check(const char *text, size_t len, struct kmes_error *why);

/* ---- input.c ---- */

/* No event needs a longer line: 4 MiB, all of it spelled \uHHHH. */
#define INPUT_LINE_MAX (32u << 20)

struct input {
	int fd;
	const char *name;
	char *buf;
	size_t size;
	size_t start, end; /* what was read and not yet handed out */
	size_t seen;	   /* no newline before this */
	uint64_t line;	   /* number of the line handed out last */
	bool is_at_end;
	bool is_too_long; /* the rest of a line is being thrown away */
};

int input_open(struct input *in, const char *path);
void input_close(struct input *in);

/*
 * The next line, without its newline, which stands behind it: 1; 0: nothing without another
 * read; -EFBIG: the line is longer than INPUT_LINE_MAX; -ENODATA: the end.
 */
int input_next(struct input *in, char **line, size_t *len);

/* Whether input_read would not wait. */
bool input_is_ready(const struct input *in);

/* Reads more; 0 or -errno: -EINTR when a signal came, -ENOMEM. */
int input_read(struct input *in);

/* ---- sender.c ---- */

struct sender {
	struct kmes_source *src;
	int cpu;
	uint32_t batch;	   /* events in one step, at most */
	uint32_t step;	   /* as many as the rate limit seems to allow at once */
	uint64_t rate;	   /* events a second, 0: no pace */
	uint64_t paced;	   /* events since pace_start_ns */
	uint64_t start_ns; /* of the pace */
	const char *input; /* in messages, NULL: the command line */
	uint64_t later;	   /* events that follow those that wait */
	bool has_refused;
	bool is_over; /* nothing more can be sent */

	/* the events that wait to be sent */
	struct kmes_pack out;
	uint32_t count;
	struct place places[KMES_BATCH_MAX];
	uint64_t lines[KMES_BATCH_MAX];
};

int sender_init(struct sender *s);
void sender_fini(struct sender *s);

/* Where json_event may write the next event; the batch is not full. */
struct kmes_pack *sender_room(struct sender *s);

/* Queues the event that was written there; sends when the batch is full. */
int sender_add(struct sender *s, const struct place *place, uint64_t line);

/* Says that a line is refused. */
void sender_refuse(struct sender *s, uint64_t line, const char *reason);

/*
 * Sends what waits. 0, or -errno when no further event can be sent, a message said why;
 * -EINTR: a stop was asked for.
 */
int sender_flush(struct sender *s);

/* Sends the one event that waits `times` times. */
int sender_repeat(struct sender *s, uint64_t times);

/* ---- event.c ---- */

/*
 * Puts an event together in `s`, its payload being JSON or, where that is NULL, a map of
 * `pairs` KEY=TEXT or KEY:=JSON. What is wrong with them exits 2.
 */
void event_make(struct sender *s, const char *type, const char *payload, char **pairs);

/* ---- lines.c ---- */

/*
 * Emits all lines of `in`. What was read before a failure or a stop is emitted too, if that
 * can be. 0 at the end of the input, or -errno; a message said why, but for a stop (-EINTR).
 */
int lines_emit(struct input *in, struct sender *s);

#endif
