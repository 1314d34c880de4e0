// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* format_text.c - events as lines for people: decoded, as hex, or with a block below. */
#include "base/clock.h"
#include "payload.h"
#include "print/columns.h"
#include "print/format.h"
#include "print/origin.h"
#include "print/sid_guid.h"
#include "print/value.h"

/* Deeper values are printed within the line, so that indentation stays bounded. */
#define BLOCK_DEPTH_MAX 32
#define INDENT 4

#define SGR_TIME "\33[32m"
#define SGR_CPU "\33[34m"
#define SGR_ORIGIN "\33[33m"
#define SGR_TYPE "\33[1m"
#define SGR_LOSS "\33[1;31m"
#define SGR_ERROR "\33[31m"

/* ---- the fields before the payload ---- */

static char *put_separator(char *p)
{
	return kmesp_put_lit(p, "  ");
}

/* Seconds and microseconds since the previous event, rounded towards zero. */
static char *put_delta(char *p, struct kmes_formatter *f, uint64_t ts_ns)
{
	uint64_t last_ns = f->has_last ? f->last_ns : ts_ns;
	uint64_t delta = ts_ns < last_ns ? last_ns - ts_ns : ts_ns - last_ns;

	f->last_ns = ts_ns;
	f->has_last = true;
	p = kmesp_put_char(p, ts_ns < last_ns ? '-' : '+');
	p = kmesp_put_u64(p, delta / KMES_NS_PER_S);
	p = kmesp_put_char(p, '.');
	return kmesp_put_6(p, delta % KMES_NS_PER_S / 1000);
}

static char *put_time(char *p, struct kmes_formatter *f, uint64_t ts_ns)
{
	uint32_t ns;

	switch (f->options.time) {
	case KMES_TIME_CLOCK:
		return kmesp_put_clock_utc(p, &f->clock, ts_ns);
	case KMES_TIME_LOCAL:
		return kmesp_put_clock_local(p, &f->clock, ts_ns);
	case KMES_TIME_ISO:
		return kmesp_put_clock_iso(p, &f->clock, ts_ns);
	case KMES_TIME_EPOCH:
		p = kmesp_put_clock_epoch(p, &f->clock, ts_ns, &ns);
		p = kmesp_put_char(p, '.');
		return kmesp_put_9(p, ns);
	case KMES_TIME_DELTA:
		return put_delta(p, f, ts_ns);
	case KMES_TIME_NONE:
		break;
	}
	return p;
}

static char *put_origin(char *p, uint8_t origin)
{
	struct kmes_origin_room room;
	const char *name;

	if (origin == KMES_ORIGIN_USERSPACE)
		return kmesp_put_lit(p, "USR");
	name = kmesp_origin_short_name(origin, &room);
	return kmesp_put_bytes(p, name, strlen(name));
}

/* No producer sends an event without a type, but a corrupt ring may contain one. */
static char *put_event_type(struct kmes_outbuf *out, char *p, const struct kmes_event *e)
{
	if (!e->type_len)
		return kmesp_put_char(p, '-');
	return kmesp_put_type(out, p, (const uint8_t *)e->type, e->type_len);
}

static char *put_head(struct kmes_formatter *f, struct kmes_outbuf *out, char *p,
		      const struct kmes_event *e)
{
	bool color = f->options.color;

#define COLOR(sgr)                                                                       \
	do {                                                                             \
		if (__builtin_expect(color, 0))                                          \
			p = kmesp_put_lit(p, sgr);                                       \
	} while (0)
	p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
	if (f->options.time != KMES_TIME_NONE) {
		COLOR(SGR_TIME);
		p = put_time(p, f, e->ts_ns);
		COLOR(KMES_SGR_RESET);
		p = put_separator(p);
	}
	COLOR(SGR_CPU);
	p = kmesp_put_lit(p, "cpu");
	p = kmesp_put_u64(p, e->cpu);
	COLOR(KMES_SGR_RESET);
	p = kmesp_put_lit(p, "  #");
	p = kmesp_put_u64(p, e->seq);
	p = put_separator(p);
	COLOR(SGR_ORIGIN);
	p = put_origin(p, e->origin);
	COLOR(KMES_SGR_RESET);
	p = put_separator(p);
	COLOR(SGR_TYPE);
	p = put_event_type(out, p, e);
	COLOR(KMES_SGR_RESET);
	return p;
}

/* ---- the payload ---- */

static char *put_undecodable(struct kmes_formatter *f, struct kmes_outbuf *out, char *p,
			     const struct kmes_event *e, enum kmes_mp_fault fault)
{
	const char *reason = kmesp_mp_reason(fault);
	bool color = f->options.color;

	p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
	COLOR(SGR_ERROR);
	p = kmesp_put_char(p, '<');
	p = kmesp_put_u64(p, e->payload_len);
	p = kmesp_put_lit(p, " bytes, not MessagePack: ");
	p = kmesp_put_bytes(p, reason, strlen(reason));
	p = kmesp_put_char(p, '>');
	COLOR(KMES_SGR_RESET);
	p = kmesp_put_lit(p, " 0x");
	return kmesp_put_hex_all(out, p, e->payload, e->payload_len);
}

static void put_line(struct kmes_formatter *f, struct kmes_outbuf *out,
		     const struct kmes_event *e)
{
	char *p = put_head(f, out, kmesp_out_begin(out), e);
	enum kmes_mp_fault fault;
	struct kmes_walk w;

	if (e->payload_len) {
		p = put_separator(p);
		fault = kmesp_event_check(e);
		if (fault) {
			p = put_undecodable(f, out, p, e, fault);
		} else {
			kmesp_walk_init(&w, e->payload, e->payload + e->payload_len);
			p = kmesp_put_value(out, p, &w, f->options.color);
		}
	}
	kmesp_out_end(out, kmesp_put_char(p, '\n'));
}

static void put_hex_line(struct kmes_formatter *f, struct kmes_outbuf *out,
			 const struct kmes_event *e)
{
	char *p = put_head(f, out, kmesp_out_begin(out), e);

	if (e->payload_len) {
		p = kmesp_put_lit(p, "  0x");
		p = kmesp_put_hex_all(out, p, e->payload, e->payload_len);
	}
	kmesp_out_end(out, kmesp_put_char(p, '\n'));
}

/* ---- the payload as a block ---- */

static char *put_indent(char *p, uint32_t depth)
{
	memset(p, ' ', INDENT * depth);
	return p + INDENT * depth;
}

/* One value within the line; `place` says whether it is a key. */
static char *put_inline(struct kmes_outbuf *out, char *p, struct kmes_walk *w,
			enum kmes_place place, bool color, struct kmes_mp_token *tok)
{
	struct kmes_walk inner;

	kmesp_walk_init(&inner, w->pos, w->end);
	inner.hint = w->hint;
	kmesp_walk_next(&inner, tok);
	if (place == KMES_AT_KEY && !kmesp_token_opens(tok)) {
		w->pos = inner.pos;
		return kmesp_put_key(out, p, tok, color);
	}
	kmesp_walk_init(&inner, w->pos, w->end);
	inner.hint = place == KMES_AT_KEY ? KMES_HINT_NONE : w->hint;
	p = kmesp_put_value(out, p, &inner, color);
	w->pos = inner.pos;
	return p;
}

/* Whether a container begins here that is printed in lines of its own. */
static bool opens_block(const struct kmes_walk *w)
{
	const uint8_t *pos = w->pos;
	struct kmes_mp_token tok;

	return w->depth < BLOCK_DEPTH_MAX && !kmes_mp_step(&pos, w->end, &tok) &&
	       kmesp_token_opens(&tok);
}

static char *put_block(struct kmes_outbuf *out, char *p, struct kmes_walk *w, bool color)
{
	enum kmes_then then = KMES_THEN_NEXT;
	struct kmes_mp_token tok;

	while (then != KMES_THEN_END) {
		enum kmes_place place = kmesp_walk_place(w);

		p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
		if (place != KMES_AT_VALUE && w->depth)
			p = put_indent(p, w->depth);
		if (place == KMES_AT_KEY) {
			p = put_inline(out, p, w, place, color, &tok);
			p = kmesp_put_char(p, ':');
			then = kmesp_walk_done(w, &tok);
			continue;
		}
		if (place == KMES_AT_ITEM)
			p = kmesp_put_char(p, '-');
		if (opens_block(w)) {
			kmesp_walk_next(w, &tok);
			if (place != KMES_AT_TOP)
				p = kmesp_put_char(p, '\n');
			continue;
		}
		p = place == KMES_AT_TOP ? put_indent(p, 1) : kmesp_put_char(p, ' ');
		p = put_inline(out, p, w, place, color, &tok);
		p = kmesp_put_char(p, '\n');
		do
			then = kmesp_walk_done(w, NULL);
		while (then == KMES_THEN_CLOSE);
	}
	return p;
}

static char *put_guid_line(char *p, const char *name, const uint8_t *guid, bool color)
{
	if (kmesp_guid_is_null(guid))
		return p;
	p = put_indent(p, 1);
	COLOR(KMES_SGR_KEY);
	p = kmesp_put_bytes(p, name, strlen(name));
	COLOR(KMES_SGR_RESET);
	p = kmesp_put_lit(p, ": ");
	p = kmesp_put_guid(p, guid);
	return kmesp_put_char(p, '\n');
}

static void put_pretty(struct kmes_formatter *f, struct kmes_outbuf *out,
		       const struct kmes_event *e)
{
	char *p = kmesp_put_char(put_head(f, out, kmesp_out_begin(out), e), '\n');
	bool color = f->options.color;
	enum kmes_mp_fault fault;
	struct kmes_walk w;

	p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
	p = put_guid_line(p, "process", e->process_guid, color);
	p = put_guid_line(p, "token", e->effective_token_guid, color);
	p = put_guid_line(p, "true_token", e->true_token_guid, color);
	if (e->payload_len) {
		fault = kmesp_event_check(e);
		if (fault) {
			p = put_indent(p, 1);
			p = put_undecodable(f, out, p, e, fault);
			p = kmesp_put_char(p, '\n');
		} else {
			kmesp_walk_init(&w, e->payload, e->payload + e->payload_len);
			p = put_block(out, p, &w, color);
		}
	}
	kmesp_out_end(out, p);
}

/* ---- loss ---- */

static void put_loss(struct kmes_formatter *f, struct kmes_outbuf *out,
		     const struct kmes_loss *loss)
{
	char *p = kmesp_out_room(out, kmesp_out_begin(out), KMES_TEXT_SLACK);
	bool color = f->options.color;

	COLOR(SGR_LOSS);
	p = kmesp_put_lit(p, "--- cpu");
	p = kmesp_put_u64(p, loss->cpu);
	p = kmesp_put_lit(p, ": lost ");
	p = kmesp_put_u64(p, loss->last - loss->first + 1);
	p = kmesp_put_lit(p, " events (#");
	p = kmesp_put_u64(p, loss->first);
	p = kmesp_put_lit(p, "-#");
	p = kmesp_put_u64(p, loss->last);
	p = kmesp_put_lit(p, ") ---");
	COLOR(KMES_SGR_RESET);
	kmesp_out_end(out, kmesp_put_char(p, '\n'));
}

/* ---- the formats: as above, through a cutter if there is a width ---- */

#define FORMAT(word, put)                                                                \
	static void word##_event(struct kmes_formatter *f, struct kmes_outbuf *out,      \
				 const struct kmes_event *e)                             \
	{                                                                                \
		struct kmes_cutter cutter;                                               \
                                                                                         \
		if (!f->options.width) {                                                 \
			put(f, out, e);                                                  \
			return;                                                          \
		}                                                                        \
		kmesp_cutter_init(&cutter, out, f->options.width);                       \
		put(f, &cutter.out, e);                                                  \
		kmesp_cutter_flush(&cutter);                                             \
	}                                                                                \
	const struct kmes_format kmesp_format_##word = { #word, word##_event, text_loss }

static void text_loss(struct kmes_formatter *f, struct kmes_outbuf *out,
		      const struct kmes_loss *loss)
{
	struct kmes_cutter cutter;

	if (!f->options.width) {
		put_loss(f, out, loss);
		return;
	}
	kmesp_cutter_init(&cutter, out, f->options.width);
	put_loss(f, &cutter.out, loss);
	kmesp_cutter_flush(&cutter);
}

FORMAT(text, put_line);
FORMAT(hex, put_hex_line);
FORMAT(pretty, put_pretty);
