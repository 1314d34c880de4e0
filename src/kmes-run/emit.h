/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* emit.h - the program's calls that emit events; each returns the call's result. */
#ifndef RUN_EMIT_H
#define RUN_EMIT_H

#include "call.h"

int run_emit(const struct run_call *c);
int run_emit_batch(const struct run_call *c);

#endif
