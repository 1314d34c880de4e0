/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * cli.h - what the tools share: options, values, messages, signals and output. Unlike
 * libkmes this part prints and exits; it is not installed.
 *
 * A tool's main() begins like this:
 *
 *	struct cli cli;
 *	const char *text;
 *	int option;
 *
 *	cli_begin(&cli, "kmes-dump", argc, argv, options, 0, "[OPTION...] [CAPTURE...]");
 *	while ((option = cli_next(&cli, &text)) != 0) {
 *		switch (option) {
 *		case 'n':
 *			opts.count = cli_number(&cli, text, 1, UINT64_MAX);
 *			break;
 *		}
 *	}
 *
 * Its popt table contains only POPT_ARG_NONE and POPT_ARG_STRING with a NULL pointer, has
 * a distinct value for each option, and includes the tables below:
 *
 *	{"count", 'n', POPT_ARG_STRING, NULL, 'n', "stop after N events", "N"},
 *	CLI_SOURCE_OPTIONS,
 *	CLI_HELP_OPTIONS,
 *	POPT_TABLEEND,
 */
#ifndef KMES_CLI_H
#define KMES_CLI_H
#include <popt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outbuf.h"
#include "kmes.h"

#define CLI_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* Exit status; for precedence see cli_status_max(). */
enum cli_status {
	CLI_DONE = 0,
	CLI_FAILED = 1, /* at run time; reported */
	CLI_USAGE = 2,
	CLI_LOSS = 3, /* defined by the tool: events lost, COMMAND failed */
};

/* The status of higher precedence: 2, 1, 3, 0. */
int cli_status_max(int a, int b);

/* ---- options ---- */

/* Values of the shared options; a tool's are letters, or CLI_OPTION_OWN and above. */
enum {
	CLI_OPTION_SHARED = 0x10000, /* handled here, never returned by cli_next */
	CLI_OPTION_OWN = 0x20000,
};

extern struct poptOption cli_help_table[];   /* -h --help, --usage, -V --version */
extern struct poptOption cli_source_table[]; /* -S --source, into cli->source */
extern struct poptOption cli_cpu_table[];    /* -c --cpu, repeatable, into cli->cpus */

#define CLI_TABLE(table, title)                                                          \
	{                                                                                \
		NULL, '\0', POPT_ARG_INCLUDE_TABLE, table, 0, title, NULL                \
	}
#define CLI_HELP_OPTIONS CLI_TABLE(cli_help_table, "Help:")
#define CLI_SOURCE_OPTIONS CLI_TABLE(cli_source_table, "Source:")
#define CLI_CPU_OPTIONS CLI_TABLE(cli_cpu_table, "CPUs:")

/* One item of a CPU list as given: a CPU, or a range including both ends. */
struct cli_cpu_range {
	uint16_t first, last;
};

/*
 * The -c options: their union, and the items, which are checked once the source is open.
 */
struct cli_cpus {
	struct kmes_cpus set;
	struct cli_cpu_range *ranges;
	size_t count; /* 0: the option was not given */
};

/* The command line being parsed. Strings returned are valid until cli_end. */
struct cli {
	const char *name;   /* of the tool */
	const char *value;  /* what is being parsed, for messages: "--count" or "SIZE" */
	const char *source; /* of -S, or NULL */
	struct cli_cpus cpus;
	poptContext context;
	const struct poptOption *options;
	char **argv;
	char **texts;
	size_t text_count;
};

/* For cli_begin: the first operand ends the options (a COMMAND follows). */
#define CLI_STOP_AT_OPERAND 1u

/*
 * Prepares the process (SIGPIPE and SIGXFSZ ignored, descriptors 0-2 open) and parsing.
 * `usage` follows the name in the help. Popt aliases in /etc/popt and ~/.popt apply.
 */
void cli_begin(struct cli *cli, const char *name, int argc, char **argv,
	       const struct poptOption *options, unsigned int flags, const char *usage);
void cli_end(struct cli *cli);

/*
 * The next option's value, its argument in `*text` (NULL for a flag); 0 after the last
 * one. Prints help and version, and reports wrong options; both exit.
 */
int cli_next(struct cli *cli, const char **text);

/* After the options: the next operand or NULL; sets cli->value for messages about it. */
const char *cli_operand(struct cli *cli, const char *value);

/* After the options: the remaining operands, NULL-terminated; owned by `cli`. */
char **cli_operands(struct cli *cli);

/* If an operand remains, reports it and exits 2. */
void cli_no_more_operands(struct cli *cli);

/* ---- messages ---- */

/*
 * One line on stderr with one write(2): the tool's name, then the message, in which
 * whatever could control a terminal is escaped, including the arguments.
 */
void cli_error(const char *format, ...) CLI_PRINTF(1, 2);
void cli_warn(const char *format, ...) CLI_PRINTF(1, 2);

/* Reports "out of memory" and exits 1. */
_Noreturn void cli_no_memory(void);

/*
 * Wrong usage: prints `kmes-NAME: WHAT: 'TEXT'` and a line that refers to the help (or
 * `hint`), and exits 2. `text` is what the user has typed; NULL: it is not printed.
 */
_Noreturn void cli_usage_error(const char *what, const char *text);
void cli_set_usage_status(int status); /* instead of 2, for a tool like env(1) */
_Noreturn void cli_usage_error_hint(const char *hint, const char *what, const char *text);

/*
 * Escapes for a terminal: control characters and malformed UTF-8 as \xHH, invisible code
 * points as \uHHHH or \UHHHHHHHH. Stores at most `size` - 1 bytes and a NUL, complete
 * characters only; returns false if `text` was truncated.
 */
bool cli_escape(char *buf, size_t size, const char *text, size_t len);

/* ---- values ---- */

/*
 * Each parses all of `text` and returns 0, -EINVAL (malformed) or -ERANGE (too large).
 * Digits are ASCII decimal digits; no sign, no space, no other base.
 */
int cli_parse_number(uint64_t *number, const char *text);
int cli_parse_time(uint64_t *time_ns, const char *text); /* 10, 1.5s, 20ms, 5m, 2h, 1d */
int cli_parse_size(uint64_t *size_bytes, const char *text); /* 64K, 4MiB, 1g */
int cli_parse_rate(uint64_t *per_second, const char *text); /* N or N/s */

/* Adds "0,2-5" to `cpus`. Also -ENOMEM. */
int cli_parse_cpus(struct cli_cpus *cpus, const char *text);
void cli_cpus_fini(struct cli_cpus *cpus);

/* a + b, at most UINT64_MAX. */
static inline uint64_t cli_sum_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The longest TIME: 2^63 ns. */
#define CLI_TIME_MAX (UINT64_C(1) << 63)

/* The same for the current option or operand; wrong values are reported and exit 2. */
uint64_t cli_number(struct cli *cli, const char *text, uint64_t min, uint64_t max);
uint64_t cli_time(struct cli *cli, const char *text); /* ns, 0 included */
uint64_t cli_size(struct cli *cli, const char *text);
uint64_t cli_rate(struct cli *cli, const char *text); /* at least 1 */

/*
 * Exits 2, naming the first CPU or range of the -c options that has no ring at all by
 * `has_ring`. Does nothing without -c.
 */
void cli_check_cpus(const struct cli *cli, bool (*has_ring)(void *arg, uint16_t cpu),
		    void *arg);

/* ---- the source ---- */

/*
 * Opens the source of -S, else KMES_SOURCE, else auto, with a warning if auto chose the
 * simulator. Never returns NULL: a wrong name exits 2, any other error exits 1.
 */
struct kmes_source *cli_source_open(const struct cli *cli);

/*
 * In a child before exec: restores the limit of open files that the tool was started
 * with, which cli_source_open raises to the maximum.
 */
void cli_source_limit_for_child(void);

/* Closes it; a source that is still open is closed when the tool exits. */
void cli_source_close(struct kmes_source *src);

/*
 * For a failed request: if the reason is a signal to stop, closes the source and dies by
 * the signal.
 */
void cli_source_die_if_stopped(struct kmes_source *src);

/* The name of what cli_source_open opens, to open it again. A wrong name exits 2. */
const char *cli_source_name(const struct cli *cli);

/* ---- signals ---- */

/*
 * Catches SIGINT and SIGTERM, unless they were ignored at the start. A repeated signal
 * has no effect. cli_stop_on adds another signal.
 */
void cli_stop_catch(void);
void cli_stop_on(int sig);

/* The signal to stop that was caught, or 0. */
int cli_stop_signal(void);

/* The same, for code that waits by itself. */
const volatile sig_atomic_t *cli_stop_flag(void);

/* Counts a signal (SIGHUP, SIGUSR1), unless it was ignored at the start. */
void cli_signal_catch(int sig);

/* Whether it has arrived since the last call. */
bool cli_signal_arrived(int sig);

/* Ends the process by this signal, so that a loop in a shell ends too. */
_Noreturn void cli_die_by_signal(int sig);

/* In a child before exec: restores the dispositions and the mask of the start. */
void cli_signals_for_child(void);

/* ---- output ---- */

#define CLI_OUT_SIZE 65536

/*
 * A descriptor with a buffer of 64 KiB. After the first error all output is discarded and
 * the functions return that error: -EPIPE, the reader is gone; -ETIMEDOUT, no byte could
 * be written for a second after a signal to stop.
 */
struct cli_out {
	struct kmes_outbuf buf; /* first; formats may write to it */
	int fd;
	int error;
	const char *name; /* in messages */
};

/* `name` must outlive it. Exits 1 if out of memory. */
void cli_out_init(struct cli_out *out, int fd, const char *name);
void cli_out_stdout(struct cli_out *out);

int cli_out_write(struct cli_out *out, const void *data, size_t len);
int cli_out_printf(struct cli_out *out, const char *format, ...) CLI_PRINTF(2, 3);
int cli_out_flush(struct cli_out *out);

/* Whether the reader of a pipe or socket is gone; to be polled when output is rare. */
bool cli_out_reader_is_gone(const struct cli_out *out);

/*
 * Flushes and closes, and reports the first error, if any. Returns the exit status:
 * CLI_DONE, also if the reader is gone, or CLI_FAILED.
 */
int cli_out_close(struct cli_out *out);

/* Writes all bytes, unbuffered; 0 or -errno as above. */
int cli_write_all(int fd, const void *data, size_t len);

#endif
