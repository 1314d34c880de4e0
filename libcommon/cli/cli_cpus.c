// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* cli_cpus.c - lists of CPUs: 0,2-5. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cli_private.h"

/* A number, followed by one of `ends` or the end of the text. */
static int take_cpu(const char **text, const char *ends, uint16_t *cpu)
{
	size_t len = strcspn(*text, ends);
	uint64_t number;
	char digits[32];
	int rc;

	while (len > 1 && **text == '0') {
		++*text;
		len--;
	}
	if (len >= sizeof(digits))
		return strspn(*text, "0123456789") == len ? -ERANGE : -EINVAL;
	memcpy(digits, *text, len);
	digits[len] = '\0';
	*text += len;
	rc = cli_parse_number(&number, digits);
	if (rc == 0 && number > UINT16_MAX)
		rc = -ERANGE;
	*cpu = (uint16_t)number;
	return rc;
}

static int take_range(const char **text, struct cli_cpu_range *range)
{
	int rc = take_cpu(text, "-,", &range->first);

	if (rc)
		return rc;
	range->last = range->first;
	if (**text == '-') {
		++*text;
		rc = take_cpu(text, ",", &range->last);
	}
	if (rc == 0 && range->last < range->first)
		rc = -EINVAL;
	return rc;
}

static int add_range(struct cli_cpus *cpus, struct cli_cpu_range range)
{
	size_t size = (cpus->count + 1) * sizeof(cpus->ranges[0]);
	struct cli_cpu_range *ranges = realloc(cpus->ranges, size);
	unsigned int cpu;

	if (!ranges)
		return -ENOMEM;
	ranges[cpus->count++] = range;
	cpus->ranges = ranges;
	for (cpu = range.first; cpu <= range.last; cpu++)
		kmes_cpus_add(&cpus->set, (uint16_t)cpu);
	return 0;
}

int cli_parse_cpus(struct cli_cpus *cpus, const char *text)
{
	struct cli_cpu_range range;
	int rc;

	for (;;) {
		rc = take_range(&text, &range);
		if (rc)
			return rc;
		rc = add_range(cpus, range);
		if (rc)
			return rc;
		if (!*text)
			return 0;
		text++;
	}
}

void cli_cpus_fini(struct cli_cpus *cpus)
{
	free(cpus->ranges);
	memset(cpus, 0, sizeof(*cpus));
}

static bool range_has_ring(struct cli_cpu_range range,
			   bool (*has_ring)(void *arg, uint16_t cpu), void *arg)
{
	unsigned int cpu;

	for (cpu = range.first; cpu <= range.last; cpu++)
		if (has_ring(arg, (uint16_t)cpu))
			return true;
	return false;
}

void cli_check_cpus(const struct cli *cli, bool (*has_ring)(void *arg, uint16_t cpu),
		    void *arg)
{
	char text[32];
	size_t i;

	for (i = 0; i < cli->cpus.count; i++) {
		struct cli_cpu_range range = cli->cpus.ranges[i];

		if (range_has_ring(range, has_ring, arg))
			continue;
		if (range.first == range.last) {
			snprintf(text, sizeof(text), "%u", range.first);
			cli_usage_error("--cpu: this CPU has no ring", text);
		}
		snprintf(text, sizeof(text), "%u-%u", range.first, range.last);
		cli_usage_error("--cpu: none of these CPUs has a ring", text);
	}
}
