// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* capture.c - kmes-stat -r: totals, times, loss and types of a capture. */
#include "capture.h"

#include <errno.h>
#include <string.h>

#include "capture/capture.h"
#include "print.h"

/* Poll interval of a pipe without data. */
#define WAIT_MS 1000

typedef unsigned long long ull;

struct capture_stat {
	uint64_t events, bytes, lost;
	uint64_t first_ns, last_ns; /* time stamps, valid with events */
	uint32_t slots;		    /* the highest of the headers; 0: unknown */
	bool is_truncated;	    /* or damaged; a message has said why */
	struct stat_types types;
};

static int take_item(struct capture_stat *cs, const struct kmes_item *item,
		     const struct kmes_cpus *cpus)
{
	const struct kmes_event *e = item->event;

	if (item->kind == KMES_ITEM_LOSS) {
		if (!cpus || kmes_cpus_has(cpus, item->loss.cpu))
			cs->lost = cli_sum_capped(cs->lost,
						  item->loss.last - item->loss.first + 1);
		return 0;
	}
	if (cpus && !kmes_cpus_has(cpus, e->cpu))
		return 0;
	if (cs->slots && e->cpu >= cs->slots)
		cs->slots = e->cpu + 1u;
	if (!cs->events || e->ts_ns < cs->first_ns)
		cs->first_ns = e->ts_ns;
	if (!cs->events || e->ts_ns > cs->last_ns)
		cs->last_ns = e->ts_ns;
	cs->events++;
	cs->bytes += e->size;
	return stat_types_add(&cs->types, e->type, e->type_len, e->size);
}

/* A header without a slot count makes the whole count unknown. */
static void note_slots(struct capture_stat *cs, bool *is_open,
		       const struct kmes_capture_info *info)
{
	*is_open |= info && !info->slots;
	if (*is_open)
		cs->slots = 0;
	else if (info && info->slots > cs->slots)
		cs->slots = info->slots;
}

static int read_capture(struct capture_stat *cs, const char *file,
			const struct kmes_cpus *cpus)
{
	const char *name = strcmp(file, "-") ? file : "standard input";
	int rc, fd = kmesp_capture_open_file(file);
	struct kmes_capture_reader *reader;
	struct kmes_item item;
	bool is_open = false;

	memset(cs, 0, sizeof(*cs));
	if (fd < 0) {
		cli_error("%s: %s", name, strerror(-fd));
		return -EIO;
	}
	if (kmesp_capture_open(&reader, fd, false) < 0)
		cli_no_memory();
	do {
		rc = kmesp_capture_next(reader, &item);
		note_slots(cs, &is_open, kmesp_capture_info(reader));
		if (rc > 0 && item.kind == KMES_ITEM_NOTE) {
			cli_error("%s: %s", name, item.note);
			cs->is_truncated = true;
		} else if (rc > 0 && take_item(cs, &item, cpus) < 0) {
			cli_no_memory();
		}
		if (rc == 0)
			kmesp_capture_wait(reader, WAIT_MS, -1);
	} while (rc >= 0 && !cli_stop_signal());
	if (*kmesp_capture_warning(reader))
		cli_warn("%s: %s", name, kmesp_capture_warning(reader));
	if (rc < 0 && rc != -ENODATA) {
		cli_error("%s: %s", name, kmesp_capture_error(reader));
		cs->is_truncated = true;
	}
	rc = kmesp_capture_info(reader) ? 0 : -EPROTO;
	kmesp_capture_close(reader);
	return rc;
}

static void print_text(struct cli_out *out, const struct capture_stat *cs)
{
	char first[STAT_TIME_TEXT], last[STAT_TIME_TEXT];

	cli_out_printf(out, "events  %llu\nbytes   %llu\nlost    %llu\n", (ull)cs->events,
		       (ull)cs->bytes, (ull)cs->lost);
	if (cs->events) {
		stat_time_text(first, cs->first_ns);
		stat_time_text(last, cs->last_ns);
		cli_out_printf(out, "first   %s\nlast    %s\n", first, last);
	}
	if (cs->is_truncated)
		cli_out_printf(out, "truncated or damaged: counted up to there\n");
	cli_out_printf(out, "\n");
	stat_table_types(out, &cs->types);
}

static void put_time(struct kmes_json_out *j, const char *key, uint64_t ns, bool is_known)
{
	if (is_known)
		stat_json_time(j, key, ns);
	else
		kmesp_json_null(j, key);
}

static void print_json(struct cli_out *out, const struct capture_stat *cs)
{
	struct kmes_json_out j;

	kmesp_json_begin(&j, &out->buf);
	kmesp_json_open_object(&j, NULL);
	put_time(&j, "first", cs->first_ns, cs->events);
	put_time(&j, "last", cs->last_ns, cs->events);
	kmesp_json_u64(&j, "events", cs->events);
	kmesp_json_u64(&j, "lost", cs->lost);
	kmesp_json_bool(&j, "truncated", cs->is_truncated);
	stat_json_types(&j, &cs->types);
	kmesp_json_close(&j);
}

static bool capture_has_cpu(void *arg, uint16_t cpu)
{
	const struct capture_stat *cs = arg;

	return cpu < cs->slots;
}

int stat_capture_run(const struct stat_opts *opts, struct cli *cli)
{
	const struct kmes_cpus *cpus = cli->cpus.count ? &cli->cpus.set : NULL;
	struct capture_stat cs;
	struct cli_out out;
	int status, rc = read_capture(&cs, opts->capture, cpus);

	if (cs.slots && !cli_stop_signal())
		cli_check_cpus(cli, capture_has_cpu, &cs);
	cli_out_stdout(&out);
	if (rc == 0 && opts->format == &stat_json)
		print_json(&out, &cs);
	else if (rc == 0)
		print_text(&out, &cs);
	status = cli_out_close(&out);
	if (cs.is_truncated || rc < 0)
		status = CLI_FAILED;
	stat_types_fini(&cs.types);
	if (cli_stop_signal())
		cli_die_by_signal(cli_stop_signal());
	return status;
}
