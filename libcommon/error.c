// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* error.c - formats messages for users, where an errno is not enough. */
#include <stdarg.h>
#include <stdio.h>

#include "kmes.h"

int kmes_error_set(struct kmes_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}
