// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* table.c - samples as a table. */
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>

#include "print.h"

enum { CELL = 48 };

static void cell_value(char *cell, struct stat_value v)
{
	if (v.known)
		snprintf(cell, CELL, "%llu", (unsigned long long)v.value);
	else
		snprintf(cell, CELL, "-");
}

static void cell_rate(char *cell, struct stat_rate rate)
{
	if (rate.known)
		snprintf(cell, CELL, "%.0f", rate.per_second);
	else
		snprintf(cell, CELL, "-");
}

/* Bytes, and their percentage of the capacity. */
static void cell_used(char *cell, const struct stat_row *row)
{
	double capacity = (double)row->capacity_bytes.value;

	if (row->used_bytes.known && capacity > 0)
		snprintf(cell, CELL, "%llu %3.0f%%",
			 (unsigned long long)row->used_bytes.value,
			 100 * (double)row->used_bytes.value / capacity);
	else
		snprintf(cell, CELL, "-");
}

/* How far back the ring reaches; a clock that was stepped back makes that 0. */
static void cell_age(char *cell, struct stat_value oldest_ts_ns, uint64_t now_ns)
{
	uint64_t ms;

	if (!oldest_ts_ns.known) {
		snprintf(cell, CELL, "-");
		return;
	}
	ms = now_ns > oldest_ts_ns.value ? (now_ns - oldest_ts_ns.value) / 1000000 : 0;
	if (ms < 60000)
		snprintf(cell, CELL, "%llu.%03llus", (unsigned long long)ms / 1000,
			 (unsigned long long)ms % 1000);
	else if (ms < 3600000)
		snprintf(cell, CELL, "%llum%02llus", (unsigned long long)ms / 60000,
			 (unsigned long long)ms / 1000 % 60);
	else
		snprintf(cell, CELL, "%lluh%02llum", (unsigned long long)ms / 3600000,
			 (unsigned long long)ms / 60000 % 60);
}

static const char *const columns[] = {
	"CPU",	   "GEN",  "CAPACITY", "USED",	 "EVENTS", "TOTAL", "OVERWRITTEN",
	"DROPPED", "EV/S", "BYTES/S",  "OLDEST", "WAIT",   "WAKES",
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void fill_line(struct libscols_line *line, const char *name,
		      const struct stat_row *row, uint64_t now_ns)
{
	char cells[COLUMNS][CELL];
	size_t i;

	snprintf(cells[0], CELL, "%s%s", name, row->reset ? "*" : "");
	cell_value(cells[1], row->generation);
	cell_value(cells[2], row->capacity_bytes);
	cell_used(cells[3], row);
	cell_value(cells[4], row->events);
	cell_value(cells[5], row->total);
	cell_value(cells[6], row->overwritten);
	cell_value(cells[7], row->dropped);
	cell_rate(cells[8], row->events_rate);
	cell_rate(cells[9], row->bytes_rate);
	cell_age(cells[10], row->oldest_ts_ns, now_ns);
	snprintf(cells[11], CELL, "%s", row->waiting ? "yes" : "no");
	cell_value(cells[12], row->wakes);
	for (i = 0; i < COLUMNS; i++)
		if (scols_line_set_data(line, i, cells[i]) < 0)
			cli_no_memory();
}

static struct libscols_line *new_line(struct libscols_table *table)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	if (!line)
		cli_no_memory();
	return line;
}

static struct libscols_table *new_table(const char *const *names, size_t count)
{
	struct libscols_table *table = scols_new_table();
	size_t i;

	if (!table)
		cli_no_memory();
	/* Neither truncated nor stretched to the width of the terminal. */
	scols_table_enable_maxout(table, 0);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	for (i = 0; i < count; i++)
		if (!scols_table_new_column(table, names[i], 0, SCOLS_FL_RIGHT))
			cli_no_memory();
	return table;
}

static void print_table(struct cli_out *out, struct libscols_table *table)
{
	char *text = NULL;

	if (scols_print_table_to_string(table, &text) < 0 || !text)
		cli_no_memory();
	cli_out_printf(out, "%s\n", text);
	free(text);
	scols_unref_table(table);
}

void stat_table_types(struct cli_out *out, const struct stat_types *types)
{
	const struct stat_type **sorted = stat_types_sorted(types);
	size_t i;

	if (!sorted)
		cli_no_memory();
	cli_out_printf(out, "%20s %20s  TYPE\n", "EVENTS", "BYTES");
	for (i = 0; i < types->count; i++) {
		cli_out_printf(out, "%20llu %20llu  ",
			       (unsigned long long)sorted[i]->events,
			       (unsigned long long)sorted[i]->bytes);
		stat_print_type(out, sorted[i]->name, sorted[i]->len);
		cli_out_printf(out, "\n");
	}
	free(sorted);
}

static void print(struct cli_out *out, const struct stat_sampler *s)
{
	struct libscols_table *table = new_table(columns, COLUMNS);
	unsigned int i;

	for (i = 0; i < s->ring_count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", s->rings[i].row.cpu);
		fill_line(new_line(table), name, &s->rings[i].row, s->time_ns);
	}
	fill_line(new_line(table), "total", &s->totals, s->time_ns);
	print_table(out, table);
	if (s->want_types)
		stat_table_types(out, &s->types);
}

const struct stat_format stat_table = { .print = print };
