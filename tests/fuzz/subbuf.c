// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * subbuf.c - damaged trace sub-buffers, and their records with damaged formats, under a
 * sanitizer. [T9]
 *
 * A page is filled with records of all kinds, then some of its bits are flipped. Then a
 * walk still ends, only advances, and returns only bytes of the page; every event that a
 * record is converted to can be parsed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kmes_msgpack.h"
#include "tap.h"
#include "trace/subbuf.h"
#ifdef KMES_HAVE_TRACEEVENT
#include "trace/trace_format.h"
#endif

#define IDS 8u

static uint64_t state = 20261130;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- pages ---- */

static uint32_t put_u32(uint8_t *to, uint32_t at, uint32_t v)
{
	memcpy(to + at, &v, sizeof(v));
	return at + 4;
}

/* A record of some kind at `at`, with at least 128 bytes of room; returns its end. */
static uint32_t put_record(uint8_t *page, uint32_t at)
{
	static const uint32_t kinds[] = { 0, 29, 30, 31, 1, 3, 8, 17, 28 };
	uint32_t i, len, kind = kinds[random_below(9)];

	at = put_u32(page, at, kind | (1 + random_below(1000)) << 5);
	if (kind == 30 || kind == 31)
		return put_u32(page, at, random_below(4));
	len = kind && kind != 29 ? kind * 4 : random_below(28) * 4;
	if (!kind)
		put_u32(page, at, len + 4);
	if (kind == 29)
		len = put_u32(page, at, len + 4) - at + len - 4;
	at += kind ? 0 : 4;
	for (i = kind == 29 ? 4 : 0; i < len; i++)
		page[at + i] = (uint8_t)random_below(256);
	if (len >= 4 && kind != 29)
		put_u32(page, at, random_below(IDS));
	return at + len;
}

static uint8_t *make_page(uint32_t size)
{
	uint8_t *page = calloc(1, size);
	uint32_t i, flips, at = KMES_SUBBUF_HEADER, used = random_below(size - 400);

	if (!page)
		abort();
	while (at < used)
		at = put_record(page, at);
	put_u32(page, 8, (at - KMES_SUBBUF_HEADER) | random_below(4) << 30);
	flips = random_below(3) ? random_below(12) : 0;
	for (i = 0; i < flips; i++)
		page[random_below(random_below(4) ? at : 24)] ^=
			(uint8_t)(1 << random_below(8));
	return page;
}

/* ---- records ---- */

#ifdef KMES_HAVE_TRACEEVENT
static struct kmes_trace_formats *formats;

/* Fields anywhere, of any size; some outside any record. */
static void make_formats(void)
{
	static const char *const types[] = { "u8 %s",
					     "int %s",
					     "char %s[16]",
					     "__data_loc char[] %s",
					     "__rel_loc char[] %s",
					     "__data_loc u64[] %s",
					     "unsigned long %s[4]",
					     "char %s[]",
					     "struct odd %s",
					     "void * %s",
					     "__data_loc char[][2] %s",
					     "__attribute__((user)) char * %s",
					     "union { int x[2]; } %s[3]" };
	const uint32_t type_count = sizeof(types) / sizeof(types[0]);
	uint32_t id, i;

	if (kmesp_trace_formats_new(&formats) < 0)
		abort();
	for (id = 1; id < IDS; id++) {
		char text[4096];
		int len = snprintf(text, sizeof(text), "name: e%u\nID: %u\nformat:\n", id,
				   id);

		for (i = 0; i < 8; i++) {
			char name[8];

			snprintf(name, sizeof(name), "f%u", i);
			len += snprintf(text + len, sizeof(text) - (size_t)len,
					"\tfield:");
			/* The types are fixed, not fuzzed. */
			len += snprintf(text + len, sizeof(text) - (size_t)len,
					types[random_below(type_count)], name);
			len += snprintf(text + len, sizeof(text) - (size_t)len,
					";\toffset:%u;\tsize:%u;\tsigned:%u;\n",
					random_below(64), random_below(40),
					random_below(2));
		}
		kmesp_trace_formats_add(formats, "fuzz", text, (size_t)len);
	}
}

/* What is wrong with the record's event, or NULL. */
static const char *check_event(const struct kmes_subbuf_record *rec)
{
	const struct kmes_trace_stamp stamp = { rec->ts_ns, 1, 0 };
	uint32_t size, room = random_below(4) ? 65536 : random_below(400);
	uint8_t *to = malloc(room ? room : 1);
	const char *wrong = NULL;
	static struct kmes_mp_scratch scratch;
	struct kmes_event event;

	if (!to)
		abort();
	size = kmesp_trace_convert(formats, &stamp, rec->data, rec->len, !random_below(9),
				   to, room);
	if (size > room)
		wrong = "more than the room";
	else if (size && kmes_event_parse(&event, to, size, size) != 1)
		wrong = "no event";
	else if (size && kmes_mp_check(event.payload, event.payload_len, 4, &scratch) !=
				 KMES_MP_OK)
		wrong = "no MessagePack";
	free(to);
	return wrong;
}
#else
static void make_formats(void)
{
}

static const char *check_event(const struct kmes_subbuf_record *rec)
{
	(void)rec;
	return NULL;
}
#endif

/* ---- walks ---- */

static const char *check_walk(const uint8_t *page, uint32_t size, uint64_t *records)
{
	struct kmes_subbuf_head head;
	struct kmes_subbuf_record rec;
	struct kmes_subbuf sb;
	uint32_t before = 0;
	int r = kmesp_subbuf_begin(&sb, page, size, &head);

	if (r < 0)
		return NULL;
	if (head.has_count)
		(void)kmesp_subbuf_missed(&sb, &head);
	/* Sometimes only a part has been copied. */
	if (kmesp_subbuf_extend(&sb, random_below(4) ? head.commit
						     : random_below(head.commit + 1)) < 0)
		return "cannot extend";
	while ((r = kmesp_subbuf_next(&sb, &rec)) > 0) {
		const char *wrong = check_event(&rec);

		if (wrong)
			return wrong;
		if (rec.data < page + KMES_SUBBUF_HEADER ||
		    rec.data + rec.len > sb.data + sb.end)
			return "a record outside";
		if (sb.off <= before || sb.off > sb.end)
			return "not forwards";
		before = sb.off;
		++*records;
	}
	return sb.off == sb.end ? NULL : "not to the end";
}

int main(void)
{
	time_t end = time(NULL) + (time_t)tap_fuzz_seconds();
	uint64_t pages = 0, records = 0;
	const char *wrong = NULL;

	make_formats();
	do {
		uint32_t size = random_below(8) ? 4096 : 16384;
		uint8_t *page = make_page(size);

		wrong = check_walk(page, size, &records);
		free(page);
		pages++;
	} while (!wrong && (pages % 256 || time(NULL) < end));
	tap_note("%llu pages, %llu records", (unsigned long long)pages,
		 (unsigned long long)records);
	tap_ok(!wrong, "walks of damaged sub-buffers end%s%s", wrong ? ": " : "",
	       wrong ? wrong : "");
	tap_ok(records > pages, "most pages have records");
#ifdef KMES_HAVE_TRACEEVENT
	kmesp_trace_formats_free(formats);
#endif
	return tap_done();
}
