// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_source.c - the source that a tool reads from or emits to. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/cli.h"
#include "source.h"

const char *cli_source_name(const struct cli *cli)
{
	static const char hint[] = "a source is one of " KMESP_SOURCE_NAMES;
	const char *from_env = getenv("KMES_SOURCE");

	if (cli->source) {
		if (!kmesp_source_is_name(cli->source))
			cli_usage_error_hint(hint, "--source: not a source", cli->source);
		return cli->source;
	}
	if (!from_env || !*from_env)
		return "auto";
	if (!kmesp_source_is_name(from_env))
		cli_usage_error_hint(hint, "KMES_SOURCE: not a source", from_env);
	return from_env;
}

/* A source that is open when a tool exits by an error leaves nothing in the kernel. */
static struct kmes_source *left_open;

static void close_left(void)
{
	kmes_source_close(left_open);
}

void cli_source_close(struct kmes_source *src)
{
	if (src == left_open)
		left_open = NULL;
	kmes_source_close(src);
}

void cli_source_die_if_stopped(struct kmes_source *src)
{
	if (!cli_stop_signal())
		return;
	cli_source_close(src);
	cli_die_by_signal(cli_stop_signal());
}

static struct rlimit original_files;

/* A ring needs up to two descriptors: the usual 1024 do not suffice for 512 rings. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &original_files) < 0)
		return;
	limit = original_files;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void cli_source_limit_for_child(void)
{
	if (original_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &original_files);
}

struct kmes_source *cli_source_open(const struct cli *cli)
{
	const char *name = cli_source_name(cli);
	struct kmes_source *src = NULL;
	struct kmes_error err = { "" };
	int rc;

	raise_file_limit();
	rc = kmes_source_open(&src, name, cli_stop_flag(), &err);
	if (rc < 0) {
		cli_source_die_if_stopped(NULL);
		if (*err.text)
			cli_error("%s", err.text);
		else
			cli_error("%s: cannot open the source: %s", name, strerror(-rc));
		exit(CLI_FAILED);
	}
	if (!strcmp(name, "auto") && src->ops->is_simulation)
		cli_warn("no KMES in this kernel: using the simulator's rings (-S sim)");
	left_open = src;
	atexit(close_left);
	return src;
}
