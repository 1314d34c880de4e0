// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* trace_format.c - tables of offsets out of format files, and records by these tables. */
#include "trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "kmes_pack.h"

#define IDS 65536u
#define TYPE_MAX 512u

enum shape {
	SHAPE_NUMBER,
	SHAPE_TEXT,
	SHAPE_LIST,
	SHAPE_BYTES,
};

/* Where a field's bytes are. */
enum place {
	PLACE_FIXED,	/* size bytes at offset */
	PLACE_REST,	/* from offset to the record's end */
	PLACE_ABSOLUTE, /* a word at offset says: at lower half, upper half bytes of them */
	PLACE_RELATIVE, /* the same, counted from behind that word */
};

struct field {
	enum shape shape;
	enum place place;
	bool is_signed;
	uint8_t element; /* bytes of a number */
	uint32_t offset, size;
	uint32_t key_at, key_len; /* in the format's keys, as MessagePack */
};

struct format {
	uint8_t *head; /* an event's header and type; lengths, stamps and CPU left out */
	uint32_t head_len;
	uint8_t *keys;
	uint32_t field_count;
	struct field fields[];
};

struct kmes_trace_formats {
	struct format *by_id[IDS];
};

int kmes_trace_formats_new(struct kmes_trace_formats **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void format_free(struct format *format)
{
	if (!format)
		return;
	free(format->head);
	free(format->keys);
	free(format);
}

void kmes_trace_formats_free(struct kmes_trace_formats *f)
{
	uint32_t id;

	if (!f)
		return;
	for (id = 0; id < IDS; id++)
		format_free(f->by_id[id]);
	free(f);
}

/* ---- formats ---- */

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_text(const struct tep_format_field *from)
{
	const char *at = strstr(from->type, "char");

	return at && !strstr(from->type, "unsigned char") && !strchr(at, '*');
}

static void set_place(struct field *field, const struct tep_format_field *from)
{
	field->offset = (uint32_t)from->offset;
	field->size = (uint32_t)from->size;
	if (from->flags & TEP_FIELD_IS_RELATIVE)
		field->place = PLACE_RELATIVE;
	else if (from->flags & TEP_FIELD_IS_DYNAMIC)
		field->place = PLACE_ABSOLUTE;
	else
		field->place = from->size ? PLACE_FIXED : PLACE_REST;
}

/* Bytes of one element of a list whose type is told by its name alone; 0: not known. */
static uint32_t find_element_size(const char *type)
{
	static const struct {
		const char *name;
		uint32_t size;
	} sizes[] = {
		{ "u8[]", 1 },
		{ "s8[]", 1 },
		{ "char[]", 1 },
		{ "bool[]", 1 },
		{ "u16[]", 2 },
		{ "s16[]", 2 },
		{ "short[]", 2 },
		{ "int[]", 4 },
		{ "u32[]", 4 },
		{ "s32[]", 4 },
		{ "u64[]", 8 },
		{ "s64[]", 8 },
		{ "long[]", sizeof(long) },
		{ "size_t[]", 8 },
		{ "cpumask_t", sizeof(long) },
	};
	size_t i, len = strlen(type);

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t end = strlen(sizes[i].name);

		if (len >= end && !strcmp(type + len - end, sizes[i].name))
			return sizes[i].size;
	}
	return 0;
}

static void set_shape(struct field *field, const struct tep_format_field *from)
{
	bool is_list = from->flags & TEP_FIELD_IS_ARRAY || field->place != PLACE_FIXED;
	uint32_t element = is_list ? from->elementsize : field->size;

	if (field->place == PLACE_ABSOLUTE || field->place == PLACE_RELATIVE)
		element = find_element_size(from->type);
	field->is_signed = from->flags & TEP_FIELD_IS_SIGNED;
	field->element = (uint8_t)element;
	if (is_list && is_text(from))
		field->shape = SHAPE_TEXT;
	else if (!is_number_size(element) || (is_list && element == 1))
		field->shape = SHAPE_BYTES;
	else
		field->shape = is_list ? SHAPE_LIST : SHAPE_NUMBER;
}

static int set_head(struct format *format, const char *type)
{
	size_t len = strlen(type);
	struct kmes_event_header h = {
		.header_size = (uint32_t)(KMES_HEADER_SIZE + len),
		.origin_class = KMES_ORIGIN_TRACE,
		.type_len = (uint16_t)len,
	};

	format->head_len = h.header_size;
	format->head = malloc(h.header_size);
	if (!format->head)
		return -ENOMEM;
	memcpy(format->head, &h, KMES_HEADER_SIZE);
	memcpy(format->head + KMES_HEADER_SIZE, type, len);
	return 0;
}

/* The fields' names, each as it will stand in the map. */
static int set_keys(struct format *format, struct tep_format_field *const *from)
{
	struct kmes_pack keys;
	size_t size = 0;
	uint32_t i;

	for (i = 0; i < format->field_count; i++)
		size += strlen(from[i]->name) + 5;
	format->keys = malloc(size + 1);
	if (!format->keys)
		return -ENOMEM;
	keys = kmes_pack_begin(format->keys, (uint32_t)size);
	for (i = 0; i < format->field_count; i++) {
		format->fields[i].key_at = keys.len;
		kmes_pack_text(&keys, from[i]->name);
		format->fields[i].key_len = keys.len - format->fields[i].key_at;
	}
	return 0;
}

static int format_new(struct format **out, const char *type,
		      struct tep_format_field *const *from, uint32_t count)
{
	struct format *format =
		calloc(1, sizeof(*format) + count * sizeof(format->fields[0]));
	uint32_t i;
	int r;

	if (!format)
		return -ENOMEM;
	format->field_count = count;
	for (i = 0; i < count; i++) {
		set_place(&format->fields[i], from[i]);
		set_shape(&format->fields[i], from[i]);
	}
	r = set_head(format, type);
	if (r == 0)
		r = set_keys(format, from);
	if (r < 0) {
		format_free(format);
		return r;
	}
	*out = format;
	return 0;
}

/* common_pid and the event's own fields, as one list to be freed. */
static struct tep_format_field **list_fields(struct tep_event *event, uint32_t *count)
{
	struct tep_format_field *pid = tep_find_common_field(event, "common_pid");
	struct tep_format_field **list, *field;

	list = calloc((size_t)event->format.nr_fields + 1,
		      sizeof(struct tep_format_field *));
	*count = 0;
	if (!list)
		return NULL;
	if (pid)
		list[(*count)++] = pid;
	for (field = event->format.fields; field; field = field->next)
		list[(*count)++] = field;
	return list;
}

static int add_event(struct kmes_trace_formats *f, struct tep_event *event,
		     const char *system)
{
	struct tep_format_field **list;
	char type[TYPE_MAX];
	uint32_t count;
	int r;

	if (event->id <= 0 || (uint32_t)event->id >= IDS || f->by_id[event->id])
		return -EBADMSG;
	if ((size_t)snprintf(type, sizeof(type), "ftrace.%s.%s", system, event->name) >=
	    sizeof(type))
		return -EBADMSG;
	list = list_fields(event, &count);
	if (!list)
		return -ENOMEM;
	r = format_new(&f->by_id[event->id], type, list, count);
	free(list);
	return r;
}

/* A copy of a format's text, to be freed. */
static char *copy_format(const char *text, size_t len, size_t *copied)
{
	/* How the kernel would print it is of no interest, and the hardest to parse. */
	static const char print[] = "\nprint fmt: \"\"\n";
	const char *end = memmem(text, len, "\nprint fmt:", 11);
	size_t kept = end ? (size_t)(end - text) : len;
	char *copy = malloc(kept + sizeof(print));

	if (!copy)
		return NULL;
	memcpy(copy, text, kept);
	memcpy(copy + kept, print, sizeof(print));
	*copied = kept + sizeof(print) - 1;
	return copy;
}

int kmes_trace_formats_add(struct kmes_trace_formats *f, const char *system,
			   const char *text, size_t len)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *event = NULL;
	size_t copied = 0;
	char *copy = copy_format(text, len, &copied);
	int r = -ENOMEM;

	if (tep && copy) {
		r = -EBADMSG;
		tep_set_loglevel(TEP_LOG_NONE);
		tep_set_long_size(tep, sizeof(long));
		if (tep_parse_format(tep, &event, copy, copied, system) == 0 && event)
			r = add_event(f, event, system);
	}
	tep_free(tep); /* and the event with it */
	free(copy);
	return r;
}

/* ---- records ---- */

static uint64_t get_number(const uint8_t *at, uint32_t size)
{
	uint64_t v = 0;

	memcpy(&v, at, size);
	return v;
}

static void put_number(struct kmes_pack *p, const struct field *field, const uint8_t *at)
{
	uint64_t v;
	unsigned int unused;

	switch (field->element) { /* sizes that the compiler knows */
	case 1:
		v = get_number(at, 1);
		break;
	case 2:
		v = get_number(at, 2);
		break;
	case 4:
		v = get_number(at, 4);
		break;
	default:
		v = get_number(at, 8);
		break;
	}
	if (!field->is_signed) {
		kmes_pack_uint(p, v);
		return;
	}
	unused = 64 - 8 * (unsigned int)field->element;
	kmes_pack_int(p, (int64_t)(v << unused) >> unused);
}

/* Finds a field's bytes: false when they are not in the record. */
static bool find_bytes(const struct field *field, const uint8_t *record, uint32_t len,
		       const uint8_t **at, uint32_t *size)
{
	uint32_t offset = field->offset, word;

	*size = field->size;
	if (field->place == PLACE_REST && offset <= len)
		*size = len - offset;
	if (field->place == PLACE_ABSOLUTE || field->place == PLACE_RELATIVE) {
		if (offset > len || len - offset < sizeof(word))
			return false;
		memcpy(&word, record + offset, sizeof(word));
		offset = field->place == PLACE_RELATIVE ? offset + 4 : 0;
		offset += word & 0xFFFF;
		*size = word >> 16;
	}
	if (offset > len || *size > len - offset)
		return false;
	*at = record + offset;
	return true;
}

static void put_list(struct kmes_pack *p, const struct field *field, const uint8_t *at,
		     uint32_t size)
{
	uint32_t i, count = size / field->element;

	kmes_pack_array(p, count);
	for (i = 0; i < count && !p->cut; i++)
		put_number(p, field, at + (size_t)i * field->element);
}

static void put_field(struct kmes_pack *p, const struct field *field,
		      const uint8_t *record, uint32_t len)
{
	const uint8_t *at;
	uint32_t size;

	if (!find_bytes(field, record, len, &at, &size)) {
		/* What there is of it. */
		uint32_t offset = field->offset < len ? field->offset : len;

		kmes_pack_bin(p, record + offset,
			      len - offset < field->size ? len - offset : field->size);
		return;
	}
	switch (field->shape) {
	case SHAPE_NUMBER:
		put_number(p, field, at);
		break;
	case SHAPE_TEXT:
		kmes_pack_str(p, (const char *)at,
			      (uint32_t)strnlen((const char *)at, size));
		break;
	case SHAPE_LIST:
		put_list(p, field, at, size);
		break;
	case SHAPE_BYTES:
		kmes_pack_bin(p, at, size);
		break;
	}
}

/* The header's numbers behind what is the same in all events of a format. */
static uint32_t finish(uint8_t *to, const struct kmes_trace_stamp *stamp, uint32_t size)
{
	memcpy(to + offsetof(struct kmes_event_header, event_size), &size, sizeof(size));
	memcpy(to + offsetof(struct kmes_event_header, timestamp), &stamp->ts_ns, 8);
	memcpy(to + offsetof(struct kmes_event_header, sequence), &stamp->seq, 8);
	memcpy(to + offsetof(struct kmes_event_header, cpu_id), &stamp->cpu, 2);
	return size;
}

static uint32_t convert_raw(const struct format *format, uint32_t id,
			    const struct kmes_trace_stamp *stamp, const uint8_t *record,
			    uint32_t len, uint8_t *to, uint32_t room)
{
	struct format unknown = { 0 };
	struct kmes_pack p = kmes_pack_begin(to, room);
	char type[32];

	if (!format) {
		snprintf(type, sizeof(type), "ftrace.unknown.%u", id);
		if (set_head(&unknown, type) < 0)
			return 0;
		format = &unknown;
	}
	kmes_pack_bytes(&p, format->head, format->head_len);
	kmes_pack_map(&p, 1);
	kmes_pack_text(&p, "raw");
	kmes_pack_bin(&p, record, len);
	free(unknown.head);
	return kmes_pack_is_whole(&p) ? finish(to, stamp, p.len) : 0;
}

uint32_t kmes_trace_convert(const struct kmes_trace_formats *f,
			    const struct kmes_trace_stamp *stamp, const uint8_t *record,
			    uint32_t len, bool raw, uint8_t *to, uint32_t room)
{
	uint32_t i, id = len < 2 ? 0 : (uint32_t)get_number(record, 2);
	const struct format *format = f->by_id[id];
	struct kmes_pack p;

	if (!format || raw)
		return convert_raw(format, id, stamp, record, len, to, room);
	p = kmes_pack_begin(to, room);
	kmes_pack_bytes(&p, format->head, format->head_len);
	kmes_pack_map(&p, format->field_count);
	for (i = 0; i < format->field_count; i++) {
		const struct field *field = &format->fields[i];

		kmes_pack_bytes(&p, format->keys + field->key_at, field->key_len);
		put_field(&p, field, record, len);
	}
	return kmes_pack_is_whole(&p) ? finish(to, stamp, p.len) : 0;
}
