// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * trace_text.c - prepares the text of a format file for libtraceevent's parser.
 *
 * The parser gives up at a declaration that it does not know and drops all later fields;
 * some declarations crash it. The format gives each field's offset and size as numbers,
 * so an unusual declaration is replaced by one of an unknown struct.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "trace/trace_program.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kmesp_is_digit(c) ||
	       c == '_';
}

/* Words, asterisks, and at most one pair of brackets around at most one word. */
static bool is_usual(const char *text, size_t len)
{
	bool has_brackets = false;
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] == '[' && !has_brackets) {
			has_brackets = true;
			do
				i++;
			while (i < len && is_letter(text[i]));
			if (i == len || text[i] != ']')
				return false;
		} else if (!is_letter(text[i]) && text[i] != ' ' && text[i] != '*') {
			return false;
		}
	}
	return true;
}

/* Finds the last word outside of brackets. Returns its length, 0: none. */
static size_t find_name(const char *text, size_t len, const char **name)
{
	size_t i, depth = 0, found = 0;

	for (i = 0; i < len; i++) {
		if (memchr("([{", text[i], 3))
			depth++;
		else if (memchr(")]}", text[i], 3))
			depth -= depth > 0;
		if (depth || !is_letter(text[i]))
			continue;
		if (!found || text + i != *name + found) {
			*name = text + i;
			found = 0;
		}
		found++;
	}
	return found;
}

/* Finds the declaration of a field in a line. Returns its length, 0: none. */
static size_t find_declaration(const char *line, size_t len, const char **at)
{
	static const char field[] = "field:", offset[] = "offset:";
	const char *end, *from = memmem(line, len, field, sizeof(field) - 1);

	if (!from)
		return 0;
	*at = from + sizeof(field) - 1;
	end = memmem(*at, len - (size_t)(*at - line), offset, sizeof(offset) - 1);
	while (end > *at && strchr("; \t", end[-1]))
		end--;
	return end ? (size_t)(end - *at) : 0;
}

/* One line of the text, without its newline. */
static void put_line(FILE *to, const char *line, size_t len)
{
	const char *at = line, *name = "";
	size_t name_len, at_len = find_declaration(line, len, &at);

	if (at_len && !is_usual(at, at_len)) {
		name_len = find_name(at, at_len, &name);
		fwrite(line, 1, (size_t)(at - line), to);
		fprintf(to, "struct unknown %.*s[]", (int)name_len, name);
		len -= (size_t)(at + at_len - line);
		line = at + at_len;
	}
	fwrite(line, 1, len, to);
	putc('\n', to);
}

int kmesp_trace_text(const char *text, size_t len, char **out, size_t *out_len)
{
	/* The print format is not used, and is the hardest part to parse. */
	static const char print[] = "\nprint fmt:";
	const char *end = memmem(text, len, print, sizeof(print) - 1);
	FILE *to = open_memstream(out, out_len);

	if (!to)
		return -ENOMEM;
	if (end)
		len = (size_t)(end - text);
	while (len) {
		const char *line_end = memchr(text, '\n', len);
		size_t line = line_end ? (size_t)(line_end - text) : len;

		put_line(to, text, line);
		line += line_end != NULL;
		text += line;
		len -= line;
	}
	fprintf(to, "%s \"\"\n", print);
	if (fclose(to) == 0)
		return 0;
	free(*out);
	return -ENOMEM;
}
