// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* order_trace.c - names of shared memory, and the log of accesses to it. */
#include "order_trace.h"

#include <stdio.h>
#include <string.h>

/* What an address is called; `size` covers arrays. */
struct order_name {
	const char *name;
	const void *at;
	size_t size;
};

static struct order_name order_names[16];
char order_log[4096];
static const char *order_last;

void order_reset(void)
{
	memset(order_names, 0, sizeof(order_names));
	order_log[0] = '\0';
	order_last = "";
}

void order_name(const char *name, const void *at, size_t size)
{
	struct order_name *n = order_names;

	while (n->name)
		n++;
	*n = (struct order_name){ name, at, size };
}

/* The name of shared memory, or NULL for private memory. */
const char *order_find(const volatile void *at)
{
	const struct order_name *n;

	for (n = order_names; n->name; n++) {
		uintptr_t distance = (uintptr_t)at - (uintptr_t)n->at;

		if (distance < n->size)
			return n->name;
	}
	return NULL;
}

/* Appends "what name; "; consecutive accesses to data are logged once. */
void order_note(const char *what, const char *name)
{
	size_t len = strlen(order_log);

	if (!name || (strcmp(name, "data") == 0 && order_last == what))
		return;
	order_last = strcmp(name, "data") == 0 ? what : "";
	snprintf(order_log + len, sizeof(order_log) - len, "%s%s%s; ", what,
		 name[0] ? " " : "", name);
}

void kmes_copy_shared(void *dst, const void *src, size_t n)
{
	order_note("store", order_find(dst));
	order_note("load", order_find(src));
	memcpy(dst, src, n);
}
