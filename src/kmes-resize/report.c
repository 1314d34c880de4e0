// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* report.c - reports what a change of capacity did, or would do, as text or JSON. */
#include "report.h"

#include "base/json_out.h"

typedef unsigned long long ull;

static void text_change(struct cli_out *out, const struct resize_change *change)
{
	unsigned int i;

	for (i = 0; i < change->rings->count; i++) {
		const struct resize_ring *r = &change->rings->ring[i];

		if (change->forecast)
			cli_out_printf(
				out,
				"cpu%u: %llu -> %llu, would keep %llu of %llu events\n",
				r->cpu, (ull)r->map.view.capacity, (ull)change->capacity,
				(ull)r->kept, (ull)r->before);
		else
			cli_out_printf(out,
				       "cpu%u: %llu -> %llu, generation %llu -> %llu, "
				       "kept %llu of %llu events\n",
				       r->cpu, (ull)r->map.view.capacity,
				       (ull)change->capacity, (ull)r->old_generation,
				       (ull)r->new_generation, (ull)r->kept,
				       (ull)r->before);
	}
}

static void text_same(struct cli_out *out, const struct resize_change *change)
{
	cli_out_printf(out, "already %llu\n", (ull)change->capacity);
}

static void text_state(struct cli_out *out, const struct resize_rings *rings,
		       uint64_t capacity)
{
	unsigned int i;

	cli_out_printf(out, "capacity %llu, a power of two from %llu to %llu\n",
		       (ull)capacity, KMES_CAPACITY_MIN, KMES_CAPACITY_MAX);
	for (i = 0; i < rings->count; i++)
		cli_out_printf(out, "cpu%u: capacity %llu, generation %llu\n",
			       rings->ring[i].cpu, (ull)rings->ring[i].map.view.capacity,
			       (ull)rings->ring[i].new_generation);
}

static void json_change(struct cli_out *out, const struct resize_change *change)
{
	struct kmes_json_out j;
	unsigned int i;

	kmesp_json_begin(&j, &out->buf);
	kmesp_json_open_object(&j, NULL);
	kmesp_json_u64(&j, "old", change->old_capacity);
	kmesp_json_u64(&j, "new", change->capacity);
	kmesp_json_open_array(&j, "rings");
	for (i = 0; i < change->rings->count; i++) {
		const struct resize_ring *r = &change->rings->ring[i];

		kmesp_json_open_object(&j, NULL);
		kmesp_json_u64(&j, "cpu", r->cpu);
		kmesp_json_open_array(&j, "generation");
		kmesp_json_u64(&j, NULL, r->old_generation);
		kmesp_json_u64(&j, NULL, r->new_generation);
		kmesp_json_close(&j);
		kmesp_json_u64(&j, "before", r->before);
		kmesp_json_u64(&j, "kept", r->kept);
		kmesp_json_u64(&j, "lost", r->before - r->kept);
		kmesp_json_close(&j);
	}
	kmesp_json_close(&j);
	kmesp_json_close(&j);
}

static void json_state(struct cli_out *out, const struct resize_rings *rings,
		       uint64_t capacity)
{
	struct kmes_json_out j;
	unsigned int i;

	kmesp_json_begin(&j, &out->buf);
	kmesp_json_open_object(&j, NULL);
	kmesp_json_u64(&j, "capacity", capacity);
	kmesp_json_u64(&j, "min", KMES_CAPACITY_MIN);
	kmesp_json_u64(&j, "max", KMES_CAPACITY_MAX);
	kmesp_json_open_array(&j, "rings");
	for (i = 0; i < rings->count; i++) {
		const struct resize_ring *r = &rings->ring[i];

		kmesp_json_open_object(&j, NULL);
		kmesp_json_u64(&j, "cpu", r->cpu);
		kmesp_json_u64(&j, "capacity", r->map.view.capacity);
		kmesp_json_u64(&j, "generation", r->new_generation);
		kmesp_json_close(&j);
	}
	kmesp_json_close(&j);
	kmesp_json_close(&j);
}

const struct resize_format resize_text = {
	.change = text_change,
	.same = text_same,
	.state = text_state,
};

const struct resize_format resize_json = {
	.change = json_change,
	.same = json_change,
	.state = json_state,
};
