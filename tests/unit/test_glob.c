// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Patterns over bytes: each element, adversarial input, an independent oracle. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "unit.h"

static bool matches_bytes(const char *pattern, size_t pattern_len, const void *text,
			  size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct kmes_glob *glob;
	const char *why;
	bool matches;

	assert_non_null(copy);
	memcpy(copy, text, len);
	assert_int_equal(kmesp_glob_new(&glob, pattern, pattern_len, &why), 0);
	matches = kmesp_glob_matches(glob, copy, len);
	kmesp_glob_free(glob);
	free(copy);
	return matches;
}

static bool matches(const char *pattern, const char *text)
{
	return matches_bytes(pattern, strlen(pattern), text, strlen(text));
}

struct glob_case {
	const char *pattern, *text;
	bool matches;
};

static void check_globs(const struct glob_case *c, size_t count)
{
	for (; count; count--, c++)
		if (matches(c->pattern, c->text) != c->matches)
			fail_msg("'%s' %s '%s'", c->pattern,
				 c->matches ? "does not match" : "matches", c->text);
}

TEST(glob_must_match_the_entire_text)
{
	static const struct glob_case rows[] = {
		{ "app.login", "app.login", true },
		{ "app.login", "app.login2", false },
		{ "app.login", "app.logi", false },
		{ "app.login", "App.login", false },
		{ "", "", true },
		{ "", "a", false },
	};

	check_globs(rows, COUNT(rows));
}

TEST(glob_star_matches_any_run)
{
	static const struct glob_case rows[] = {
		{ "*", "", true },
		{ "*", "a/b.c", true },
		{ "app.*", "app.", true },
		{ "*.login", "app.login", true },
		{ "a*b*c", "axxbyybzc", true },
		{ "a*b*c", "axxbyybz", false },
		{ "**a**", "xxaxx", true },
		{ "*ab", "aab", true },
		{ "*aab*ab", "aaaabaab", true },
	};

	check_globs(rows, COUNT(rows));
}

TEST(glob_question_mark_matches_one_byte)
{
	static const struct glob_case rows[] = {
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "?", "", false },
		{ "??", "\xc3\xa4", true },
	};

	check_globs(rows, COUNT(rows));
}

TEST(glob_sets_match_their_members)
{
	static const struct glob_case rows[] = {
		{ "[abc]x", "bx", true },
		{ "[abc]x", "dx", false },
		{ "cpu[0-9]", "cpu7", true },
		{ "cpu[0-9]", "cpux", false },
		{ "[!0-9]", "x", true },
		{ "[^0-9]", "5", false },
		{ "[]x]", "]", true },
		{ "[!]x]", "a", true },
		{ "[!]x]", "]", false },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "[\\]]", "]", true },
		{ "[a\\-z]", "-", true },
		{ "[a\\-z]", "m", false },
		{ "[[]", "[", true },
		{ "[*]", "*", true },
		{ "[\x80-\xff]", "\xe4", true },
		{ "[!\x80-\xff]", "\xe4", false },
	};

	check_globs(rows, COUNT(rows));
}

TEST(glob_backslash_escapes_the_next_byte)
{
	static const struct glob_case rows[] = {
		{ "a\\*b", "a*b", true },	{ "a\\*b", "axb", false },
		{ "\\?\\[\\\\", "?[\\", true }, { "\\a", "a", true },
		{ "\\!x", "!x", true },
	};

	check_globs(rows, COUNT(rows));
}

TEST(glob_text_may_contain_any_byte)
{
	assert_true(matches_bytes("a?b*", 4, "a\0b\0", 4));
	assert_true(matches_bytes("a\0*", 3, "a\0xyz", 5));
	assert_false(matches_bytes("a", 1, "a\0", 2));
	assert_true(matches_bytes("[!a]", 4, "\0", 1));
}

TEST(glob_invalid_patterns_are_refused)
{
	static const char *const patterns[] = {
		"[",	 "a[",	"[]",	"[!]",	       "[a-",	  "[a",	     "a\\",
		"[z-a]", "[\\", "[a\\", "[[:alpha:]]", "[[.a.]]", "[[=a=]]",
	};
	struct kmes_glob *glob;
	const char *why;
	size_t i;

	for (i = 0; i < COUNT(patterns); i++) {
		if (kmesp_glob_new(&glob, patterns[i], strlen(patterns[i]), &why) !=
		    -EINVAL)
			fail_msg("'%s' is accepted", patterns[i]);
		assert_non_null(why);
		assert_null(glob);
	}
}

/* A matcher that backtracks into every star would need exponential time. */
TEST(glob_many_stars_need_no_exponential_time)
{
	char pattern[512], text[4096];
	int i;

	for (i = 0; i < 250; i++)
		memcpy(pattern + 2 * i, "*a", 2);
	pattern[500] = 'b';
	memset(text, 'a', sizeof(text));
	assert_false(matches_bytes(pattern, 501, text, sizeof(text)));
	text[sizeof(text) - 1] = 'b';
	assert_true(matches_bytes(pattern, 501, text, sizeof(text)));
}

/* The obvious recursive definition of `*`, `?` and plain bytes. */
static bool oracle(const char *p, const char *s)
{
	if (!*p)
		return !*s;
	if (*p == '*')
		return oracle(p + 1, s) || (*s && oracle(p, s + 1));
	return *s && (*p == '?' || *p == *s) && oracle(p + 1, s + 1);
}

TEST(glob_agrees_with_the_definition)
{
	char pattern[8], text[10];
	uint32_t seed = 1;
	int round, i, n;

	for (round = 0; round < 200000; round++) {
		seed = seed * 1664525 + 1013904223;
		n = (int)(seed >> 29);
		for (i = 0; i < n; i++)
			pattern[i] = "ab*?"[seed >> (2 * i + 8) & 3];
		pattern[n] = '\0';
		seed = seed * 1664525 + 1013904223;
		n = (int)(seed >> 28) % 10;
		for (i = 0; i < n; i++)
			text[i] = "ab"[seed >> (i + 8) & 1];
		text[n] = '\0';
		if (matches(pattern, text) != oracle(pattern, text))
			fail_msg("'%s' against '%s'", pattern, text);
	}
}
