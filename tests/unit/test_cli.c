// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What all tools share: options, CPU lists, messages. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cli/cli.h"
#include "unit.h"

/* ---- options ---- */

static const struct poptOption table[] = {
	{ "number", 'n', POPT_ARG_STRING, NULL, 'n', "a number", "N" },
	{ "text", 't', POPT_ARG_STRING, NULL, 't', "a text", "TEXT" },
	{ "flag", 'f', POPT_ARG_NONE, NULL, 'f', "a flag", NULL },
	{ "other", 'x', POPT_ARG_NONE, NULL, 'x', "another flag", NULL },
	CLI_SOURCE_OPTIONS,
	CLI_CPU_OPTIONS,
	CLI_HELP_OPTIONS,
	POPT_TABLEEND,
};

/* A parsed command line as text: "n=5 f <operand> ". */
static void describe(char *buf, size_t size, unsigned int flags, char **argv)
{
	struct cli cli;
	const char *text;
	FILE *to = fmemopen(buf, size, "w");
	int argc, option;

	for (argc = 0; argv[argc]; argc++)
		;
	cli_begin(&cli, "kmes-test", argc, argv, table, flags, "[OPTION...]");
	while ((option = cli_next(&cli, &text))) {
		if (option == 'n')
			fprintf(to, "n=%llu ",
				(unsigned long long)cli_number(&cli, text, 1, 100));
		else if (text)
			fprintf(to, "%c=%s ", option, text);
		else
			fprintf(to, "%c ", option);
	}
	if (cli.source)
		fprintf(to, "S=%s ", cli.source);
	if (cli.cpus.count)
		fprintf(to, "c*%zu ", cli.cpus.count);
	while ((text = cli_operand(&cli, "OPERAND")))
		fprintf(to, "<%s> ", text);
	fclose(to);
	cli_end(&cli);
}

#define ARGS(...) ((char *[]){ "kmes-test", __VA_ARGS__, NULL })

static void assert_described(char **argv, unsigned int flags, const char *expected)
{
	char buf[512] = "";

	describe(buf, sizeof(buf), flags, argv);
	assert_string_equal(buf, expected);
}

static void forget_posix(void)
{
	unsetenv("POSIXLY_CORRECT");
}
ALL_TESTS(forget_posix, NULL);

TEST(cli_options_are_accepted_in_every_spelling)
{
	assert_described(ARGS("-n", "5", "-n6", "--number=7", "--number", "8"), 0,
			 "n=5 n=6 n=7 n=8 ");
	assert_described(ARGS("-fx", "-fn3"), 0, "f x f n=3 ");
	assert_described(ARGS("-S", "sim", "-c1", "--source=dev", "-c", "2-3,4"), 0,
			 "S=dev c*3 ");
	assert_described(ARGS("-t", "", "--text="), 0, "t= t= ");
	assert_described(ARGS("-t", "--flag"), 0, "t=--flag ");
	assert_described(ARGS("a", "-f", "-", "--", "-x", "--"), 0,
			 "f <a> <-> <-x> <--> ");
	assert_described(ARGS("-f", "a", "-x"), CLI_STOP_AT_OPERAND, "f <a> <-x> ");
	assert_described(ARGS("-f", "--", "-x"), CLI_STOP_AT_OPERAND, "f <-x> ");
}

/* popt would substitute the next argument. */
TEST(cli_options_keep_popts_placeholder_as_typed)
{
	assert_described(ARGS("-t", "a!#:+b!#:+", "-t!#:!#:+", "--text=!#:+", "c!#:+"), 0,
			 "t=a!#:+b!#:+ t=!#:!#:+ t=!#:+ <c!#:+> ");
}

TEST(cli_operands_are_not_altered)
{
	char *argv[] = { "kmes-test", "-f", "echo", "-n", "!#:+", NULL };
	struct cli cli;
	const char *text;
	char **operands;

	cli_begin(&cli, "kmes-test", 5, argv, table, CLI_STOP_AT_OPERAND, "");
	assert_int_equal(cli_next(&cli, &text), 'f');
	assert_int_equal(cli_next(&cli, &text), 0);
	operands = cli_operands(&cli);
	assert_string_equal(operands[0], "echo");
	assert_string_equal(operands[1], "-n");
	assert_string_equal(operands[2], "!#:+");
	assert_null(operands[3]);
	cli_end(&cli);

	cli_begin(&cli, "kmes-test", 2, argv, table, CLI_STOP_AT_OPERAND, "");
	assert_int_equal(cli_next(&cli, &text), 'f');
	assert_int_equal(cli_next(&cli, &text), 0);
	assert_null(cli_operands(&cli)[0]);
	cli_end(&cli);
}

TEST(cli_aliases_of_popt_work_and_exec_lines_do_not)
{
	char dir[] = "/tmp/kmes-test.XXXXXX", path[64];
	FILE *file;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.popt", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("kmes-test alias --both -f --number=9\n"
	      "kmes-test exec --run /bin/false\n"
	      "kmes-other alias --flag --other\n",
	      file);
	fclose(file);
	setenv("HOME", dir, 1);
	assert_described(ARGS("--both", "-x"), 0, "f n=9 x ");
	assert_described(ARGS("--run", "-x"), 0, "x ");
	assert_described(ARGS("--flag"), 0, "f ");
	unsetenv("HOME");
	unlink(path);
	rmdir(dir);
}

static void body_describe(void *arg)
{
	char buf[512];

	describe(buf, sizeof(buf), 0, arg);
}

TEST(cli_invalid_options_are_named_and_exit_2)
{
	static const struct {
		char *argv[4];
		const char *message;
	} cases[] = {
		{ { "kmes-test", "--wrong" }, "unknown option: '--wrong'" },
		{ { "kmes-test", "-w" }, "unknown option: '-w'" },
		{ { "kmes-test", "-fw" }, "unknown option: '-fw'" },
		{ { "kmes-test", "-flag" }, "unknown option: '-flag'" },
		{ { "kmes-test", "--num", "5" }, "unknown option: '--num'" },
		{ { "kmes-test", "--flag=1" }, "option takes no value: '--flag=1'" },
		{ { "kmes-test", "--flag=" }, "option takes no value: '--flag='" },
		{ { "kmes-test", "-f=x" }, "option takes no value: '-f=x'" },
		{ { "kmes-test", "-f=" }, "option takes no value: '-f='" },
		{ { "kmes-test", "--number" }, "option needs a value: '--number'" },
		{ { "kmes-test", "-n" }, "option needs a value: '-n'" },
		{ { "kmes-test", "-n", "" }, "--number: not a number: ''" },
		{ { "kmes-test", "-n", "3x" }, "--number: not a number: '3x'" },
		{ { "kmes-test", "-n", "0" }, "--number: not between 1 and 100: '0'" },
		{ { "kmes-test", "-n", "18446744073709551617" },
		  "--number: not between 1 and 100: '18446744073709551617'" },
		{ { "kmes-test", "-c3x" },
		  "--cpu: not a list of CPUs such as 0,2-5: '3x'" },
		{ { "kmes-test", "-c", "70000" },
		  "--cpu: a CPU is at most 65535: '70000'" },
		{ { "kmes-test", "--\x1b[31m\n!#:+" },
		  "unknown option: '--\\x1b[31m\\x0a!#:+'" },
	};
	char expected[256];
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		struct child_result r = child_run(body_describe, (void *)cases[i].argv);

		snprintf(expected, sizeof(expected), "kmes-test: %s\n", cases[i].message);
		assert_int_equal(r.messages, 2);
		assert_string_equal(r.message[0], expected);
		assert_string_equal(r.message[1],
				    "kmes-test: 'kmes-test --help' lists the options\n");
		child_assert_exit(&r, 2);
	}
}

static bool only_even_below_8(void *arg, uint16_t cpu)
{
	(void)arg;
	return cpu < 8 && cpu % 2 == 0;
}

static void body_check_cpus(void *arg)
{
	char *argv[] = { "kmes-test", "-c", arg, NULL };
	struct cli cli;
	const char *text;

	cli_begin(&cli, "kmes-test", 3, argv, table, 0, "");
	while (cli_next(&cli, &text))
		;
	cli_check_cpus(&cli, only_even_below_8, NULL);
	cli_end(&cli);
}

TEST(cli_cpus_without_a_ring_are_listed)
{
	static const struct {
		char *list;
		const char *message;
	} cases[] = {
		{ "0,2-5", NULL },
		{ "1-2,6", NULL },
		{ "0,3", "kmes-test: --cpu: this CPU has no ring: '3'\n" },
		{ "3-3", "kmes-test: --cpu: this CPU has no ring: '3'\n" },
		{ "0,8-65535",
		  "kmes-test: --cpu: none of these CPUs has a ring: '8-65535'\n" },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		struct child_result r = child_run(body_check_cpus, cases[i].list);

		child_assert_exit(&r, cases[i].message ? 2 : 0);
		if (cases[i].message)
			assert_string_equal(r.message[0], cases[i].message);
		else
			assert_int_equal(r.messages, 0);
	}
}

/* ---- messages ---- */

static void body_messages(void *arg)
{
	child_begin_tool();
	cli_warn("cpu%u: %s", 3, "\x1b]0;title\a two\nlines");
	cli_error("%s", (char *)arg);
}

TEST(cli_messages_are_one_safe_line_and_one_write)
{
	char *text = malloc(200001);
	struct child_result r;

	assert_non_null(text);
	memset(text, '\x1b', 200000);
	text[200000] = '\0';
	r = child_run(body_messages, text);
	free(text);
	assert_int_equal(r.messages, 2);
	assert_string_equal(r.message[0],
			    "kmes-test: cpu3: \\x1b]0;title\\x07 two\\x0alines\n");
	/* what exceeds one write is truncated */
	assert_true(strlen(r.message[1]) <= 4096);
	assert_true(strlen(r.message[1]) > 4080);
	assert_string_equal(r.message[1] + strlen(r.message[1]) - 8, "\\x1b...\n");
	assert_null(strchr(r.message[1], '\x1b'));
	child_assert_exit(&r, 0);
}

static void body_stuck_stderr(void *arg)
{
	int pair[2];
	char block[4096] = { 0 };

	(void)arg;
	child_begin_tool();
	if (pipe2(pair, O_NONBLOCK) < 0)
		_exit(9);
	while (write(pair[1], block, sizeof(block)) > 0)
		;
	dup2(pair[1], STDERR_FILENO);
	cli_error("lost");
	_exit(7);
}

TEST(cli_messages_to_a_blocked_stderr_do_not_block)
{
	struct child_result r = child_run(body_stuck_stderr, NULL);

	child_assert_exit(&r, 7);
}
