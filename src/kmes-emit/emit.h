/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * emit.h - the parts of kmes-emit.
 *
 *	main.c	  options, the CPU, the run
 *	event.c	  the one event of the command line
 *	lines.c	  the events of a file
 *	input.c	  lines of a file, in bounded memory
 *	json.c	  JSON text to MessagePack, and the object around an event
 *	strict.c  strict JSON checks that yajl does not make
 *	build.c	  a MessagePack value, written part by part
 *	tags.c	  {"$bin": ..} and similar objects to the values they represent
 *	sender.c  batches, pace, the rate limit
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

/* The tag of that name, or TAG_NONE. */
enum tag tag_find(const char *key, size_t len);

/*
 * Replaces the map at `start`, whose only value is at `value`, with the value that it
 * represents. 0, or -EINVAL and the reason.
 */
int tag_resolve(struct kmes_pack *out, uint32_t start, uint32_t value, enum tag tag,
		struct kmes_error *why);

/* ---- build.c ---- */

/* Nested containers; a tag adds up to two that are replaced. */
#define BUILD_LEVELS (KMES_DEPTH_MAX + 2)

struct build_level {
	uint32_t start; /* offset of the container */
	uint32_t value; /* offset of the value of the first key */
	uint32_t count; /* of elements, or of pairs */
	bool is_map;
	enum tag tag; /* of the first key of a map */
};

/* A value being written; `depth` is 0 between values. */
struct build {
	struct kmes_pack *out;
	struct kmes_error *why;
	uint32_t depth;
	struct build_level levels[BUILD_LEVELS];
};

/* Each returns 0, or -EINVAL and the reason. */
int build_nil(struct build *b);
int build_bool(struct build *b, bool value);
int build_number(struct build *b, const char *text, size_t len);
int build_string(struct build *b, const char *text, size_t len);
int build_key(struct build *b, const char *text, size_t len);
int build_open(struct build *b, bool is_map);
int build_close(struct build *b);

/* ---- json.c ---- */

/* Offsets of an event's type and payload in the buffer. */
struct place {
	uint32_t type, payload;
	uint32_t payload_len;
	uint16_t type_len;
};

struct json;

struct json *json_new(void);
void json_free(struct json *j);

/*
 * Appends the event of one line to `out`. 1; 0 if the line contains none (blank, or a
 * loss record); or -EINVAL and the reason, with `out` unchanged. `line[len]` is a
 * newline.
 */
int json_event(struct json *j, const char *line, size_t len, struct kmes_pack *out,
	       struct place *place, struct kmes_error *why);

/* Appends the value that `text` is. 0, or -EINVAL and the reason, `out` unchanged. */
int json_value(struct json *j, const char *text, size_t len, struct kmes_pack *out,
	       struct kmes_error *why);

/* ---- strict.c ---- */

/* 0, or -EINVAL and the reason. Other errors of syntax are left to yajl. */
int strict_check(const char *text, size_t len, struct kmes_error *why);

/* ---- input.c ---- */

/* The longest line of an event: 4 MiB, written as \uHHHH throughout. */
#define INPUT_LINE_MAX (32u << 20)

struct input {
	int fd;
	const char *name;
	char *buf;
	size_t size;
	size_t start, end; /* read, but not returned yet */
	size_t seen;	   /* searched for a newline up to here */
	uint64_t line;	   /* number of the line returned last */
	bool is_at_end;
	bool is_too_long; /* the rest of a line is being discarded */
};

int input_open(struct input *in, const char *path);
void input_close(struct input *in);

/*
 * The next line, with a newline after its `len` bytes: 1. 0: input_read must be called;
 * -EFBIG: the line is longer than INPUT_LINE_MAX; -ENODATA: the end.
 */
int input_next(struct input *in, char **line, size_t *len);

/* Whether input_read would not block. */
bool input_is_ready(const struct input *in);

/* Reads more; 0 or -errno: -EINTR, a signal arrived; -ENOMEM. */
int input_read(struct input *in);

/* ---- sender.c ---- */

struct sender {
	struct kmes_source *src;
	int cpu;
	uint32_t batch;	   /* most events in one step */
	uint32_t step;	   /* the number that the rate limit seems to allow */
	uint64_t rate;	   /* events per second, 0: no pace */
	uint64_t paced;	   /* events since start_ns */
	uint64_t start_ns; /* of the pace */
	const char *input; /* for messages; NULL: the command line */
	uint64_t later;	   /* events after those that are queued */
	bool has_refused;
	bool is_over; /* no more events can be sent */

	/* the queue */
	struct kmes_pack out;
	uint32_t count;
	struct place places[KMES_BATCH_MAX];
	uint64_t lines[KMES_BATCH_MAX];
};

int sender_init(struct sender *s);
void sender_fini(struct sender *s);

/* Room for the next event; the batch must not be full. */
struct kmes_pack *sender_room(struct sender *s);

/* Queues the event that was written there; sends the batch if it is full. */
int sender_add(struct sender *s, const struct place *place, uint64_t line);

/* Reports that a line is refused. */
void sender_refuse(struct sender *s, uint64_t line, const char *reason);

/*
 * Sends the queue. 0, or -errno after a message: no more events can be sent; -EINTR: a
 * signal to stop.
 */
int sender_flush(struct sender *s);

/* Sends the one queued event `times` times. */
int sender_repeat(struct sender *s, uint64_t times);

/* ---- event.c ---- */

/*
 * Queues an event; its payload is JSON or, if that is NULL, a map of `pairs` KEY=TEXT or
 * KEY:=JSON. Errors in them exit 2.
 */
void event_make(struct sender *s, const char *type, const char *payload, char **pairs);

/* ---- lines.c ---- */

/*
 * Emits all lines of `in`, also those read before a failure or a stop, if possible. 0 at
 * the end of the input, or -errno after a message; none for a stop (-EINTR).
 */
int lines_emit(struct input *in, struct sender *s);

#endif
