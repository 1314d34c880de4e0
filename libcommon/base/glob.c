// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* glob.c - patterns compiled into a prefix of plain bytes and a list of elements. */
#include "base/glob.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum element_kind {
	ELEMENT_BYTE,
	ELEMENT_ANY,
	ELEMENT_SET,
	ELEMENT_STAR,
};

struct element {
	uint8_t kind;
	uint8_t byte; /* ELEMENT_BYTE */
	uint32_t set; /* ELEMENT_SET: its index */
};

struct set {
	uint64_t bits[4];
};

/*
 * Most patterns are plain text, or plain text and a star: the bytes before the first
 * special element are stored separately and compared at once.
 */
struct kmes_glob {
	uint8_t *prefix;
	size_t prefix_len;
	struct element *elements; /* what follows the prefix */
	size_t count;
	struct set *sets;
};

static void set_add(struct set *set, uint8_t first, uint8_t last)
{
	unsigned int byte;

	for (byte = first; byte <= last; byte++)
		set->bits[byte / 64] |= 1ull << (byte % 64);
}

static bool set_has(const struct set *set, uint8_t byte)
{
	return set->bits[byte / 64] >> (byte % 64) & 1;
}

/* Reads one byte of a set, escaped or not. */
static bool take_member(const char **pos, const char *end, uint8_t *byte)
{
	if (*pos < end && **pos == '\\')
		(*pos)++;
	if (*pos == end)
		return false;
	*byte = (uint8_t) * *pos;
	(*pos)++;
	return true;
}

/* [:alpha:], [.a.] and [=a=] would otherwise be taken for sets of those bytes. */
static bool is_class(char byte)
{
	return byte == ':' || byte == '.' || byte == '=';
}

/* Reads a set, from the byte after its bracket. NULL, or what is wrong with it. */
static const char *parse_set(const char **pos, const char *end, struct set *set)
{
	static const char open_ended[] = "'[' without its ']'";
	bool negated = *pos < end && (**pos == '!' || **pos == '^');
	bool at_start = true;
	uint8_t first, last;
	int i;

	*pos += negated;
	for (;; at_start = false) {
		if (*pos == end)
			return open_ended;
		if (**pos == ']' && !at_start)
			break;
		if (**pos == '[' && end - *pos > 1 && is_class((*pos)[1]))
			return "character classes are not supported";
		if (!take_member(pos, end, &first))
			return open_ended;
		last = first;
		if (end - *pos > 1 && **pos == '-' && (*pos)[1] != ']') {
			(*pos)++;
			if (!take_member(pos, end, &last))
				return open_ended;
			if (last < first)
				return "a range in reverse order";
		}
		set_add(set, first, last);
	}
	(*pos)++;
	for (i = 0; negated && i < 4; i++)
		set->bits[i] = ~set->bits[i];
	return NULL;
}

static const char *parse(struct kmes_glob *glob, const char *pos, const char *end)
{
	uint32_t sets = 0;
	const char *why;

	while (pos < end) {
		struct element *e = &glob->elements[glob->count++];

		e->kind = ELEMENT_BYTE;
		e->byte = (uint8_t)*pos++;
		if (e->byte == '\\') {
			if (pos == end)
				return "nothing after the last '\\'";
			e->byte = (uint8_t)*pos++;
		} else if (e->byte == '?') {
			e->kind = ELEMENT_ANY;
		} else if (e->byte == '*') {
			e->kind = ELEMENT_STAR;
		} else if (e->byte == '[') {
			e->kind = ELEMENT_SET;
			e->set = sets++;
			why = parse_set(&pos, end, &glob->sets[e->set]);
			if (why)
				return why;
		}
	}
	return NULL;
}

/* Moves the plain bytes at the start of the list into the prefix. */
static void split_prefix(struct kmes_glob *glob)
{
	size_t n = 0;

	while (n < glob->count && glob->elements[n].kind == ELEMENT_BYTE) {
		glob->prefix[n] = glob->elements[n].byte;
		n++;
	}
	glob->prefix_len = n;
	glob->count -= n;
	memmove(glob->elements, glob->elements + n,
		glob->count * sizeof(*glob->elements));
}

int kmesp_glob_new(struct kmes_glob **out, const char *pattern, size_t len,
		   const char **why)
{
	struct kmes_glob *glob = calloc(1, sizeof(*glob));
	size_t i, sets = 1;

	*out = NULL;
	if (!glob)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		sets += pattern[i] == '[';
	glob->prefix = malloc(len + 1);
	glob->elements = calloc(len + 1, sizeof(*glob->elements));
	glob->sets = calloc(sets, sizeof(*glob->sets));
	if (!glob->prefix || !glob->elements || !glob->sets) {
		kmesp_glob_free(glob);
		return -ENOMEM;
	}
	*why = parse(glob, pattern, pattern + len);
	if (*why) {
		kmesp_glob_free(glob);
		return -EINVAL;
	}
	split_prefix(glob);
	*out = glob;
	return 0;
}

void kmesp_glob_free(struct kmes_glob *glob)
{
	if (!glob)
		return;
	free(glob->prefix);
	free(glob->elements);
	free(glob->sets);
	free(glob);
}

static bool element_matches(const struct kmes_glob *glob, const struct element *e,
			    uint8_t byte)
{
	if (e->kind == ELEMENT_BYTE)
		return e->byte == byte;
	return e->kind == ELEMENT_ANY || set_has(&glob->sets[e->set], byte);
}

/*
 * A mismatch backtracks to the last star only: earlier stars need not be tried again,
 * since the last one can match any run itself.
 */
static bool elements_match(const struct kmes_glob *glob, const uint8_t *text, size_t len)
{
	const struct element *e = glob->elements;
	const struct element *end = e + glob->count;
	const struct element *behind_star = NULL;
	size_t pos = 0, taken_from = 0;

	while (pos < len) {
		if (e < end && e->kind == ELEMENT_STAR) {
			behind_star = ++e;
			if (e == end)
				return true;
			taken_from = pos;
		} else if (e < end && element_matches(glob, e, text[pos])) {
			e++;
			pos++;
		} else if (behind_star) {
			e = behind_star;
			pos = ++taken_from;
		} else {
			return false;
		}
	}
	while (e < end && e->kind == ELEMENT_STAR)
		e++;
	return e == end;
}

bool kmesp_glob_matches(const struct kmes_glob *glob, const void *text, size_t len)
{
	if (len < glob->prefix_len || memcmp(text, glob->prefix, glob->prefix_len) != 0)
		return false;
	return elements_match(glob, (const uint8_t *)text + glob->prefix_len,
			      len - glob->prefix_len);
}
