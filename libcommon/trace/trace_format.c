// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* trace_format.c - compiles the kernel's format files into conversion programs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "base/pack_fast.h"
#include "kmes_pack.h"
#include "trace/trace_program.h"

#define TYPE_MAX 512u

int kmesp_trace_formats_new(struct kmes_trace_formats **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void program_free(struct kmes_trace_program *program)
{
	if (!program)
		return;
	free(program->bytes);
	free(program);
}

void kmesp_trace_formats_free(struct kmes_trace_formats *f)
{
	uint32_t id;

	if (!f)
		return;
	for (id = 0; id < KMES_TRACE_IDS; id++)
		program_free(f->by_id[id]);
	free(f);
}

/* ---- steps ---- */

static bool is_number_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void set_place(struct kmes_trace_step *step, const struct tep_format_field *from)
{
	step->offset = (uint32_t)from->offset;
	step->size = (uint32_t)from->size;
	if (from->flags & TEP_FIELD_IS_RELATIVE)
		step->place = KMES_TRACE_RELATIVE;
	else if (from->flags & TEP_FIELD_IS_DYNAMIC)
		step->place = KMES_TRACE_ABSOLUTE;
	else
		step->place = from->size ? KMES_TRACE_FIXED : KMES_TRACE_REST;
}

/* Is this the last word of a type's name, brackets excluded? */
static bool is_type(const char *type, size_t len, const char *word)
{
	size_t end = strlen(word);

	return len >= end && !memcmp(type + len - end, word, end) &&
	       (len == end || type[len - end - 1] == ' ');
}

/* An array of char, signed or of the default signedness. */
static bool is_text(const char *type)
{
	size_t len = strcspn(type, "[");

	return is_type(type, len, "char") && !is_type(type, len, "unsigned char");
}

/* The size of an element of a dynamic array, by its type's name; 0: unknown. */
static uint32_t find_element_size(const char *type)
{
	static const struct {
		const char *name;
		uint32_t size;
	} sizes[] = {
		{ "u8", 1 },
		{ "s8", 1 },
		{ "char", 1 },
		{ "bool", 1 },
		{ "u16", 2 },
		{ "s16", 2 },
		{ "short", 2 },
		{ "int", 4 },
		{ "u32", 4 },
		{ "s32", 4 },
		{ "u64", 8 },
		{ "s64", 8 },
		{ "long", sizeof(long) },
		{ "size_t", 8 },
		{ "cpumask_t", sizeof(long) },
	};
	size_t i, len = strcspn(type, "[");

	if (!strncmp(type, "__data_loc ", 11) || !strncmp(type, "__rel_loc ", 10)) {
		size_t skip = strcspn(type, " ") + 1;

		type += skip;
		len -= skip;
	}
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (is_type(type, len, sizes[i].name))
			return sizes[i].size;
	return 0;
}

static void set_shape(struct kmes_trace_step *step, const struct tep_format_field *from)
{
	bool is_list = from->flags & TEP_FIELD_IS_ARRAY ||
		       step->place != KMES_TRACE_FIXED;
	uint32_t element = is_list ? from->elementsize : step->size;

	/* Dynamic arrays, and those for which the format gives the total size only. */
	if (step->place == KMES_TRACE_ABSOLUTE || step->place == KMES_TRACE_RELATIVE ||
	    (is_list && !from->arraylen))
		element = find_element_size(from->type);
	if (is_list && is_text(from->type))
		step->shape = KMES_TRACE_TEXT;
	else if (!is_number_size(element) || (is_list && element == 1) ||
		 (step->place == KMES_TRACE_FIXED && step->size % element))
		step->shape = KMES_TRACE_BYTES;
	else
		step->shape = is_list ? KMES_TRACE_LIST : KMES_TRACE_NUMBER;
	if (is_number_size(element))
		step->element = (uint8_t)KMES_TRACE_ELEMENT(
			__builtin_ctz(element), (from->flags & TEP_FIELD_IS_SIGNED) != 0);
}

/* ---- programs ---- */

/* Header, type, and the field names as keys of the map. */
static int set_bytes(struct kmes_trace_program *program, const char *type,
		     struct tep_format_field *const *from)
{
	size_t size = KMES_HEADER_SIZE + strlen(type) + KMES_PUT_SIZE;
	struct kmes_pack p;
	uint32_t i;

	for (i = 0; i < program->step_count; i++)
		size += KMES_PUT_SIZE + strlen(from[i]->name);
	program->bytes = calloc(1, size + KMES_TRACE_COPY);
	if (!program->bytes)
		return -ENOMEM;
	p = kmes_pack_begin(program->bytes, (uint32_t)size);
	program->head_len = kmesp_trace_put_head(program->bytes, type);
	p.len = program->head_len;
	kmes_pack_map(&p, program->step_count);
	for (i = 0; i < program->step_count; i++) {
		struct kmes_trace_step *step = &program->steps[i];

		step->bytes_at = i ? p.len : 0;
		kmes_pack_text(&p, from[i]->name);
		step->bytes_len = p.len - step->bytes_at;
	}
	return kmes_pack_is_whole(&p) ? 0 : -EBADMSG;
}

static int program_new(struct kmes_trace_program **out, const char *type,
		       struct tep_format_field *const *from, uint32_t count)
{
	struct kmes_trace_program *program =
		calloc(1, sizeof(*program) + count * sizeof(program->steps[0]));
	uint32_t i;
	int rc;

	if (!program)
		return -ENOMEM;
	program->step_count = count;
	for (i = 0; i < count; i++) {
		set_place(&program->steps[i], from[i]);
		set_shape(&program->steps[i], from[i]);
	}
	rc = set_bytes(program, type, from);
	if (rc < 0) {
		program_free(program);
		return rc;
	}
	*out = program;
	return 0;
}

/* common_pid and the event's fields as one list, which the caller frees. */
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

/* A program for the records of `id`; without fields if only the name is known. */
static int add_program(struct kmes_trace_formats *f, uint32_t id, const char *system,
		       const char *name, struct tep_format_field *const *from,
		       uint32_t count)
{
	char type[TYPE_MAX];

	if (!id || id >= KMES_TRACE_IDS || f->by_id[id])
		return -EBADMSG;
	if ((size_t)snprintf(type, sizeof(type), "ftrace.%s.%s", system, name) >=
	    sizeof(type))
		return -EBADMSG;
	return program_new(&f->by_id[id], type, from, count);
}

static int add_event(struct kmes_trace_formats *f, struct tep_event *event,
		     const char *system)
{
	uint32_t count;
	struct tep_format_field **list = list_fields(event, &count);
	int rc = -ENOMEM;

	if (list)
		rc = add_program(f, (uint32_t)event->id, system, event->name, list,
				 count);
	free(list);
	return rc;
}

/* ---- format files ---- */

/* The fields cannot be parsed: records become bytes with a name. */
static int add_unparsed(struct kmes_trace_formats *f, const char *system,
			const char *text)
{
	char name[256];
	uint32_t id;

	if (sscanf(text, "name: %255s ID: %" SCNu32, name, &id) != 2)
		return -EBADMSG;
	return add_program(f, id, system, name, NULL, 0);
}

int kmesp_trace_formats_add(struct kmes_trace_formats *f, const char *system,
			    const char *text, size_t len)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *event = NULL;
	size_t copied = 0;
	char *copy = NULL;
	int rc = tep ? kmesp_trace_text(text, len, &copy, &copied) : -ENOMEM;

	if (rc == 0) {
		tep_set_loglevel(TEP_LOG_NONE);
		tep_set_long_size(tep, sizeof(long));
		/*
		 * The parser reports no error for a field it gave up on, only this flag.
		 */
		if (tep_parse_format(tep, &event, copy, copied, system) == 0 && event &&
		    !(event->flags & TEP_EVENT_FL_FAILED))
			rc = add_event(f, event, system);
		else
			rc = add_unparsed(f, system, copy);
	}
	tep_free(tep); /* frees the event, too */
	free(copy);
	return rc;
}
