// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Iterating over the records of trace sub-buffers: pages written by a 6.18 kernel, each
 * kind of record, and corrupt pages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/subbuf.h"
#include "unit.h"

/* ---- pages ---- */

struct page {
	uint8_t *bytes; /* allocated exactly, so that a sanitizer sees any overrun */
	uint32_t size, len;
};

static struct page page_new(uint32_t size, uint64_t ts_ns)
{
	struct page p = { calloc(1, size), size, KMES_SUBBUF_HEADER };

	assert_non_null(p.bytes);
	memcpy(p.bytes, &ts_ns, 8);
	return p;
}

/*
 * Appends words: "3@5" is a record's first word with kind 3 and a time delta of 5, a
 * plain number is any other word. "1@5 9" is a record of one word, 9.
 */
static void put(struct page *p, const char *words)
{
	char *end;

	for (; *words; words = end + strspn(end, " ")) {
		uint32_t word = (uint32_t)strtoul(words, &end, 0);

		if (*end == '@')
			word |= (uint32_t)strtoul(end + 1, &end, 0) << 5;
		assert_true(p->size - p->len >= 4);
		memcpy(p->bytes + p->len, &word, 4);
		p->len += 4;
	}
}

static void set_commit(struct page *p, uint64_t commit)
{
	memcpy(p->bytes + 8, &commit, 8);
}

static void hex_into(struct page *p, uint32_t at, const char *hex)
{
	for (; *hex; hex += 2) {
		unsigned int byte;

		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		assert_true(at < p->size);
		p->bytes[at++] = (uint8_t)byte;
	}
}

/* Walks a page up to its commit; each record as "time+offset/length ". */
static const char *walk(struct page *p, int *last)
{
	static char text[65536];
	struct kmes_subbuf_head head;
	struct kmes_subbuf_record rec;
	struct kmes_subbuf sb;
	size_t used = 0;
	uint64_t base;
	int r = kmesp_subbuf_begin(&sb, p->bytes, p->size, &head);

	text[0] = '\0';
	memcpy(&base, p->bytes, 8);
	if (r == 0)
		r = kmesp_subbuf_extend(&sb, head.commit);
	if (r == 0)
		while ((r = kmesp_subbuf_next(&sb, &rec)) > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "%llu+%u/%u ",
						 (unsigned long long)(rec.ts_ns - base),
						 (unsigned int)(rec.data - p->bytes),
						 rec.len);
	*last = r;
	return text;
}

static void assert_walk(struct page *p, const char *records, int end)
{
	int last;

	set_commit(p, p->len - KMES_SUBBUF_HEADER);
	assert_string_equal(walk(p, &last), records);
	assert_int_equal(last, end);
	free(p->bytes);
}

/* A page of 4 KiB that begins at 7 ns. */
static void assert_words(const char *words, const char *records, int end)
{
	struct page p = page_new(4096, 7);

	put(&p, words);
	assert_walk(&p, records, end);
}

/* ---- recorded ---- */

/* Three lines written to trace_marker, 0.3 s before the second, which is long. */
static const char marks[] =
	"ce787ba3fc050000f4000000000000000600000005000001b25800001a8b4981ffffffff6f6e650a"
	"00000000fec9653f0200000000000000b000000005000001b25800001a8b4981ffffffff";
static const char last_mark[] =
	"662b110005000001b25800001a8b4981ffffffff74776f0a00000000";

/* [T9] a short record, more time, a long record, a short one */
TEST(subbuf_recorded_marks_are_walked)
{
	struct page p = page_new(4096, 0);
	int last;

	hex_into(&p, 0, marks);
	memset(p.bytes + 76, 'x', 150);
	p.bytes[76 + 150] = '\n';
	hex_into(&p, 16 + 244 - 28, last_mark);
	/* In the kernel's text: 6582.632676, 6582.934350 and 6582.934385. */
	assert_string_equal(walk(&p, &last),
			    "0+20/24 301674063+60/172 301709226+236/24 ");
	assert_int_equal(last, 0);
	free(p.bytes);
}

/* System calls of dd; an interrupt during the second record added a timestamp. */
static const char stamped[] =
	"83150000de0010027f1500000900000006000000ba0100007f15000001000000000000000100000000"
	"0000001f36256cfdf0010010000000bb0100007f150000000000000000000000000000000000000010"
	"f948e15500000100000000000000f00446406d7f000000000000000000000000000000000000c62c00"
	"00ba0100007f15000000000000000000000100000000000000b01f0000bb0100007f15000001000000"
	"0000000001000000000000000010f948e15500000100000000000000f00446406d7f00000000000000"
	"0000000000000000000000";

/* [T9] */
TEST(subbuf_recorded_absolute_timestamp_is_the_time)
{
	struct page p = page_new(4096, 17076444013891);
	int last;

	hex_into(&p, 16, stamped);
	p.len = 16 + (sizeof(stamped) - 1) / 2;
	set_commit(&p, p.len - KMES_SUBBUF_HEADER);
	/* In the kernel's text: 17076.444014, .444014, .444015, .444015 and .444016. */
	assert_string_equal(walk(&p, &last),
			    "172+20/12 172+36/24 1133+72/64 1491+140/24 1744+168/64 ");
	assert_int_equal(last, 0);
	free(p.bytes);
}

/* 145 records of sys_exit after 1595 overwritten ones: the kernel's overrun. */
static struct page recorded_exits(void)
{
	struct page p = page_new(4096, 0);
	uint32_t at;

	hex_into(&p, 0, "22cf177e00060000dc0f00c0ffffffff");
	for (at = 16; at < 16 + 4060; at += 28)
		hex_into(&p, at,
			 "46250000ba010000006400006e00000000000000fd63000000000000");
	hex_into(&p, 16 + 4060, "3b06000000000000");
	return p;
}

/* [T8] */
TEST(subbuf_recorded_miss_has_its_count)
{
	struct page p = recorded_exits();
	struct kmes_subbuf_head head;
	struct kmes_subbuf sb;

	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), 0);
	assert_int_equal(head.commit, 4060);
	assert_true(head.missed);
	assert_true(head.has_count);
	assert_int_equal(kmesp_subbuf_missed(&sb, &head), 1595);
	free(p.bytes);
}

/* [T9] */
TEST(subbuf_recorded_miss_has_all_its_records)
{
	struct page p = recorded_exits();
	const char *text;
	int last, n = 0;

	for (text = walk(&p, &last); (text = strchr(text, ' ')); text++)
		n++;
	assert_int_equal(n, 145);
	assert_int_equal(last, 0);
	free(p.bytes);
}

/* [T8] a full page has no room for the count */
TEST(subbuf_recorded_miss_without_count_says_so)
{
	struct page p = page_new(4096, 0);
	struct kmes_subbuf_head head;
	struct kmes_subbuf sb;

	hex_into(&p, 0, "aed1c2b7fc050000f00f0080ffffffff");
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), 0);
	assert_int_equal(head.commit, 4080);
	assert_true(head.missed);
	assert_false(head.has_count);
	free(p.bytes);
}

/* A count is announced, but would be past the page. */
TEST(subbuf_count_past_the_page_is_ignored)
{
	struct page p = page_new(4096, 0);
	struct kmes_subbuf_head head;
	struct kmes_subbuf sb;

	set_commit(&p, 0xC0000000u | 4076);
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), 0);
	assert_true(head.missed);
	assert_false(head.has_count);
	free(p.bytes);
}

/* ---- each kind ---- */

/* [T9] */
TEST(subbuf_empty_page_has_no_record)
{
	assert_words("", "", 0);
}

/* [T9] */
TEST(subbuf_short_records_of_each_length)
{
	uint32_t kind, word;

	for (kind = 1; kind <= 28; kind++) {
		struct page p = page_new(4096, 7);
		char text[64];

		snprintf(text, sizeof(text), "%u@3", kind);
		put(&p, text);
		for (word = 0; word < kind; word++)
			put(&p, "0xFFFFFFFF");
		put(&p, "1@4 1");
		snprintf(text, sizeof(text), "3+20/%u 7+%u/4 ", kind * 4, 24 + kind * 4);
		assert_walk(&p, text, 0);
	}
}

/* [T9] */
TEST(subbuf_length_in_the_first_word_counts_itself)
{
	assert_words("0@9 44  0 0 0 0 0 0 0 0 0 0  1@1 1", "9+24/40 10+68/4 ", 0);
}

/* [T9] a discarded record keeps its time, except for the 1 that means none */
TEST(subbuf_padding_is_skipped)
{
	assert_words("1@5 1  29@20 8 0xFFFFFFFF  1@1 1  29@1 4  1@1 1",
		     "5+20/4 26+40/4 27+56/4 ", 0);
}

/* [T9] padding without time ends the page, whatever follows */
TEST(subbuf_last_padding_ends_the_page)
{
	assert_words("1@5 1  29@0  1@5 1", "5+20/4 ", 0);
}

/* [T9] */
TEST(subbuf_last_padding_may_be_one_word)
{
	assert_words("1@5 1  29@0", "5+20/4 ", 0);
}

/* [T9] */
TEST(subbuf_time_extend_adds_its_upper_word)
{
	/* 3 * 2^27 + 2 + 1 */
	assert_words("30@2 3  1@1 1", "402653187+28/4 ", 0);
}

/* [T9] */
TEST(subbuf_absolute_timestamp_replaces_the_time)
{
	struct page p = page_new(4096, 1000);

	put(&p, "31@5 16  1@1 1"); /* 2^31 + 5 */
	assert_walk(&p, "2147482654+28/4 ", 0);
}

/* [T9] the timestamp has 59 bits; those above are the previous time's, or one more */
TEST(subbuf_absolute_timestamp_keeps_the_upper_bits)
{
	struct page p = page_new(4096, (3ull << 59) + 100);

	put(&p, "31@105 0  1@0 1  31@90 0  1@0 1");
	assert_walk(&p, "5+28/4 576460752303423478+44/4 ", 0); /* 2^59 - 10 */
}

/* [T9] */
TEST(subbuf_larger_than_a_page)
{
	struct page p = page_new(65536, 7);
	char want[64];

	put(&p, "0@1 60004");
	p.len += 60000;
	put(&p, "1@1 1");
	snprintf(want, sizeof(want), "1+24/60000 2+%u/4 ", 24 + 60000 + 4);
	assert_walk(&p, want, 0);
}

/* [T4] bytes copied later continue with the time so far */
TEST(subbuf_walk_resumes_when_more_was_copied)
{
	struct page p = page_new(4096, 7);
	struct kmes_subbuf_record rec;
	struct kmes_subbuf_head head;
	struct kmes_subbuf sb;

	put(&p, "1@5 1");
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), 0);
	assert_int_equal(kmesp_subbuf_next(&sb, &rec), 0);
	assert_int_equal(kmesp_subbuf_extend(&sb, 8), 0);
	assert_int_equal(kmesp_subbuf_next(&sb, &rec), 1);
	assert_int_equal(kmesp_subbuf_next(&sb, &rec), 0);
	put(&p, "1@6 2");
	assert_int_equal(kmesp_subbuf_extend(&sb, 16), 0);
	assert_int_equal(kmesp_subbuf_next(&sb, &rec), 1);
	assert_int_equal(rec.ts_ns, 7 + 5 + 6);
	assert_int_equal(*(const uint32_t *)(const void *)rec.data, 2);
	assert_int_equal(kmesp_subbuf_next(&sb, &rec), 0);
	free(p.bytes);
}

/* ---- corrupt pages ---- */

TEST(subbuf_commit_beyond_the_page_is_refused)
{
	struct page p = page_new(4096, 7);
	struct kmes_subbuf_head head;
	struct kmes_subbuf sb;

	set_commit(&p, 4081);
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), -EBADMSG);
	set_commit(&p, 0x3FFFFFFF);
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), -EBADMSG);
	set_commit(&p, 4080);
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), 0);
	free(p.bytes);
}

TEST(subbuf_extend_is_never_backwards_or_beyond)
{
	struct page p = page_new(4096, 7);
	struct kmes_subbuf_record rec;
	struct kmes_subbuf_head head;
	struct kmes_subbuf sb;

	put(&p, "1@5 1");
	assert_int_equal(kmesp_subbuf_begin(&sb, p.bytes, p.size, &head), 0);
	assert_int_equal(kmesp_subbuf_extend(&sb, 8), 0);
	assert_int_equal(kmesp_subbuf_next(&sb, &rec), 1);
	assert_int_equal(kmesp_subbuf_extend(&sb, 4), -EBADMSG);
	assert_int_equal(kmesp_subbuf_extend(&sb, 4081), -EBADMSG);
	free(p.bytes);
}

/* After a good record one that exceeds the page, or that no kernel writes. */
TEST(subbuf_bad_records_end_the_walk)
{
	static const char *const bad[] = {
		"1@5 1  2@1 0",		  /* eight bytes, four are there */
		"1@5 1  28@1 0",	  /* long */
		"1@5 1  0@1 0",		  /* shorter than its own word */
		"1@5 1  0@1 3",		  /* the same */
		"1@5 1  0@1 8",		  /* past the end by a word */
		"1@5 1  0@1 0xFFFFFFFC",  /* past everything */
		"1@5 1  0@1 6 0",	  /* not a multiple of four */
		"1@5 1  0@1",		  /* no length at all */
		"1@5 1  29@5 8",	  /* padding past the end */
		"1@5 1  29@5 0xFFFFFFFC", /* the same, by far */
		"1@5 1  29@5 2",	  /* padding of half a word */
		"1@5 1  29@5",		  /* padding without its length */
		"1@5 1  30@1",		  /* half a time */
		"1@5 1  31@1",		  /* half a timestamp */
	};
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		assert_words(bad[i], "5+20/4 ", -EBADMSG);
}

TEST(subbuf_padding_without_length_advances)
{
	/* Its length word is then parsed as a record without length. */
	assert_words("29@5 0  1@1 1", "", -EBADMSG);
}

TEST(subbuf_half_a_word_at_the_end_is_bad)
{
	struct page p = page_new(4096, 7);

	put(&p, "1@5 1");
	p.len += 3;
	assert_walk(&p, "5+20/4 ", -EBADMSG);
}
