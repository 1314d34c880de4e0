/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* cli_private.h - internal to libcommon/cli. */
#ifndef KMES_CLI_PRIVATE_H
#define KMES_CLI_PRIVATE_H

#include "cli/cli.h"

/* The tool's name, set once by cli_begin. */
extern const char *cli_name;

/* Saves the dispositions of the start, and ignores SIGPIPE. */
void cli_signals_begin(void);

/* A usage error about the current option or operand. */
_Noreturn void cli_value_error(const struct cli *cli, const char *what, const char *text);

#endif
