// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* tally.c - counters and the summary. */
#include "tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

#define CPU_IDS 65536u

int dump_tally_init(struct dump_tally *tally)
{
	*tally = (struct dump_tally){ 0 };
	/* Only pages of CPUs with losses are ever touched. */
	tally->lost_by_cpu = calloc(CPU_IDS, sizeof(*tally->lost_by_cpu));
	return tally->lost_by_cpu ? 0 : -ENOMEM;
}

void dump_tally_fini(struct dump_tally *tally)
{
	free(tally->lost_by_cpu);
}

void dump_tally_lose(struct dump_tally *tally, const struct kmes_loss *loss)
{
	uint64_t count = loss->last - loss->first + 1;

	/* An untrusted capture may report impossible counts: saturate. */
	tally->lost = cli_sum_capped(tally->lost, count);
	tally->lost_by_cpu[loss->cpu] =
		cli_sum_capped(tally->lost_by_cpu[loss->cpu], count);
}

static void print_cpus(const struct dump_tally *tally, FILE *line)
{
	const char *before = " (";
	uint32_t cpu;

	if (!tally->lost)
		return;
	for (cpu = 0; cpu < CPU_IDS; cpu++) {
		if (!tally->lost_by_cpu[cpu])
			continue;
		fprintf(line, "%scpu%" PRIu32 ": %" PRIu64, before, cpu,
			tally->lost_by_cpu[cpu]);
		before = ", ";
	}
	fputc(')', line);
}

void dump_tally_print(const struct dump_tally *tally, bool has_filter)
{
	char *text = NULL;
	size_t len = 0;
	/* With many CPUs the line exceeds the limit of a message. */
	FILE *line = open_memstream(&text, &len);

	if (!line)
		return;
	fprintf(line, "kmes-dump: %" PRIu64, tally->printed);
	if (has_filter)
		fprintf(line, " of %" PRIu64, tally->read);
	fprintf(line, " events, %" PRIu64 " lost", tally->lost);
	print_cpus(tally, line);
	fputc('\n', line);
	if (fclose(line) == 0)
		cli_write_all(STDERR_FILENO, text, len);
	free(text);
}
