// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* format_json.c - events as JSON, one object per line. */
#include "base/clock.h"
#include "base/float.h"
#include "payload.h"
#include "print/format.h"
#include "print/origin.h"
#include "print/sid_guid.h"
#include "print/value.h"

/* ---- keys other than strings: the text form of the value, as a string ---- */

/* Escapes text for the inside of a JSON string. */
struct quoter {
	struct kmes_outbuf out;
	struct kmes_outbuf *target;
	char room[2 * KMES_OUT_PIECE];
};

static void quoter_flush(struct quoter *q)
{
	char *p = kmesp_out_begin(q->target);

	p = kmesp_put_json(q->target, p, (const uint8_t *)q->room, q->out.len);
	kmesp_out_end(q->target, p);
	q->out.len = 0;
}

static int quoter_full(struct kmes_outbuf *out)
{
	quoter_flush((struct quoter *)out);
	return 0;
}

static char *put_text_key(struct kmes_outbuf *out, char *p, struct kmes_walk *w)
{
	struct quoter q = {
		.out = { .data = q.room, .size = sizeof(q.room), .full = quoter_full },
		.target = out,
	};
	struct kmes_walk inner;

	kmesp_out_end(out, kmesp_put_char(p, '"'));
	kmesp_walk_init(&inner, w->pos, w->end);
	kmesp_out_end(&q.out, kmesp_put_value(&q.out, q.room, &inner, false));
	quoter_flush(&q);
	w->pos = inner.pos;
	p = kmesp_out_room(out, kmesp_out_begin(out), KMES_TEXT_SLACK);
	return kmesp_put_char(p, '"');
}

/* ---- values ---- */

static char *put_quoted(struct kmes_outbuf *out, char *p, const uint8_t *s, uint32_t len)
{
	p = kmesp_put_char(p, '"');
	p = kmesp_put_json(out, p, s, len);
	return kmesp_put_char(p, '"');
}

/* Tags begin with $, so an event's key that does so gets another one. */
static char *put_string_key(struct kmes_outbuf *out, char *p, const uint8_t *s,
			    uint32_t len)
{
	p = kmesp_put_char(p, '"');
	if (len && *s == '$')
		p = kmesp_put_char(p, '$');
	p = kmesp_put_json(out, p, s, len);
	return kmesp_put_char(p, '"');
}

/* Numbers of JSON are doubles: a float is printed as the double of the same value. */
static char *put_float_or_null(char *p, uint64_t bits)
{
	return kmesp_float64_is_finite(bits) ? kmesp_put_float64(p, bits)
					     : kmesp_put_lit(p, "null");
}

static char *put_tagged_base64(struct kmes_outbuf *out, char *p, const uint8_t *s,
			       uint32_t len)
{
	p = kmesp_put_char(p, '"');
	p = kmesp_put_base64(out, p, s, len);
	return kmesp_put_lit(p, "\"}");
}

static char *put_ext(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok)
{
	p = kmesp_put_lit(p, "{\"$ext\":[");
	p = kmesp_put_i64(p, tok->ext_type);
	p = kmesp_put_lit(p, ",\"");
	p = kmesp_put_base64(out, p, tok->data, tok->len);
	return kmesp_put_lit(p, "\"]}");
}

static char *put_plain(struct kmes_outbuf *out, char *p, const struct kmes_mp_token *tok)
{
	switch (tok->type) {
	case KMES_MP_NIL:
		return kmesp_put_lit(p, "null");
	case KMES_MP_BOOL:
		return tok->value.u ? kmesp_put_lit(p, "true")
				    : kmesp_put_lit(p, "false");
	case KMES_MP_UINT:
		return kmesp_put_u64(p, tok->value.u);
	case KMES_MP_INT:
		return kmesp_put_i64(p, tok->value.i);
	case KMES_MP_FLOAT32:
		return put_float_or_null(p, kmesp_float_widen(tok->value.u));
	case KMES_MP_FLOAT64:
		return put_float_or_null(p, tok->value.u);
	case KMES_MP_STR:
		return put_quoted(out, p, tok->data, tok->len);
	case KMES_MP_BIN:
		p = kmesp_put_lit(p, "{\"$bin\":");
		return put_tagged_base64(out, p, tok->data, tok->len);
	case KMES_MP_EXT:
		return put_ext(out, p, tok);
	case KMES_MP_ARRAY:
		return kmesp_put_lit(p, "[]");
	case KMES_MP_MAP:
		return kmesp_put_lit(p, "{}");
	}
	return p;
}

static char *put_json_scalar(struct kmes_outbuf *out, char *p,
			     const struct kmes_mp_token *tok, enum kmes_hint hint)
{
	struct kmes_moment moment;

	if (tok->type == KMES_MP_STR)
		return put_quoted(out, p, tok->data, tok->len);
	if (tok->type == KMES_MP_UINT) /* masks too */
		return kmesp_put_u64(p, tok->value.u);
	switch (kmesp_special_of(tok, hint, &moment)) {
	case KMES_SID:
		p = kmesp_put_lit(p, "{\"$sid\":\"");
		p = kmesp_put_sid(p, tok->data);
		return kmesp_put_lit(p, "\"}");
	case KMES_GUID:
		p = kmesp_put_lit(p, "{\"$guid\":\"");
		p = kmesp_put_guid(p, tok->data);
		return kmesp_put_lit(p, "\"}");
	case KMES_TIME:
		p = kmesp_put_lit(p, "{\"$time\":\"");
		p = kmesp_put_time_iso(p, moment.second, moment.ns);
		return kmesp_put_lit(p, "\"}");
	case KMES_MASK:
	case KMES_PLAIN:
		break;
	}
	return put_plain(out, p, tok);
}

static bool is_string_next(const struct kmes_walk *w)
{
	uint8_t form = *w->pos;

	return (form >= 0xa0 && form <= 0xbf) || (form >= 0xd9 && form <= 0xdb);
}

static char *put_json_value(struct kmes_outbuf *out, char *p, struct kmes_walk *w)
{
	struct kmes_mp_token tok;
	const uint8_t *key;
	enum kmes_then then;
	uint64_t number;
	uint32_t key_len;

	for (;;) {
		enum kmes_place place = kmesp_walk_place(w);
		enum kmes_hint hint;

		p = kmesp_out_room(out, p, KMES_TEXT_SLACK);
		if (place == KMES_AT_KEY && kmesp_walk_short_key(w, &key, &key_len)) {
			p = put_string_key(out, p, key, key_len);
			p = kmesp_put_char(p, ':');
			place = KMES_AT_VALUE;
		} else if (place == KMES_AT_KEY && !is_string_next(w)) {
			p = put_text_key(out, p, w);
			kmesp_walk_done(w, NULL);
			p = kmesp_put_char(p, ':');
			continue;
		}
		hint = w->hint;
		if (place != KMES_AT_KEY && kmesp_walk_uint(w, &number)) {
			p = kmesp_put_u64(p, number);
			then = kmesp_walk_done(w, NULL);
		} else {
			kmesp_walk_next(w, &tok);
			if (kmesp_token_opens(&tok)) {
				p = kmesp_put_char(p,
						   tok.type == KMES_MP_MAP ? '{' : '[');
				continue;
			}
			if (place == KMES_AT_KEY)
				p = put_string_key(out, p, tok.data, tok.len);
			else
				p = put_json_scalar(out, p, &tok, hint);
			then = kmesp_walk_done(w, &tok);
		}
		for (; then == KMES_THEN_CLOSE; then = kmesp_walk_done(w, NULL))
			p = kmesp_put_char(p, w->closed_map ? '}' : ']');
		if (then == KMES_THEN_END)
			return kmesp_out_room(out, p, KMES_TEXT_SLACK);
		p = kmesp_put_char(p, then == KMES_THEN_VALUE ? ':' : ',');
	}
}

/* ---- lines ---- */

/* Without leading zeros, which JSON does not allow. */
static char *put_ts_ns(char *p, struct kmes_formatter *f, uint64_t ts_ns)
{
	uint32_t ns;

	if (ts_ns < KMES_NS_PER_S)
		return kmesp_put_u64(p, ts_ns);
	p = kmesp_put_clock_epoch(p, &f->clock, ts_ns, &ns);
	return kmesp_put_9(p, ns);
}

static char *put_stamps(char *p, struct kmes_formatter *f, uint64_t ts_ns, uint16_t cpu)
{
	p = kmesp_put_lit(p, "{\"time\":\"");
	p = kmesp_put_clock_iso(p, &f->clock, ts_ns);
	p = kmesp_put_lit(p, "\",\"ts_ns\":");
	p = put_ts_ns(p, f, ts_ns);
	p = kmesp_put_lit(p, ",\"cpu\":");
	return kmesp_put_u64(p, cpu);
}

static char *put_guid_field(char *p, const char *name, const uint8_t *guid)
{
	if (kmesp_guid_is_null(guid))
		return p;
	p = kmesp_put_bytes(p, name, strlen(name));
	p = kmesp_put_guid(p, guid);
	return kmesp_put_char(p, '"');
}

static char *put_payload(struct kmes_outbuf *out, char *p, const struct kmes_event *e)
{
	struct kmes_walk w;

	p = kmesp_put_lit(p, ",\"payload\":");
	if (kmesp_event_check(e)) {
		p = kmesp_put_lit(p, "{\"$raw\":");
		return put_tagged_base64(out, p, e->payload, e->payload_len);
	}
	kmesp_walk_init(&w, e->payload, e->payload + e->payload_len);
	return put_json_value(out, p, &w);
}

static char *put_end(char *p, const struct kmes_formatter *f)
{
	if (f->options.boot_id) {
		p = kmesp_put_lit(p, ",\"boot\":\"");
		p = kmesp_put_uuid(p, f->options.boot_id);
		p = kmesp_put_char(p, '"');
	}
	return kmesp_put_lit(p, "}\n");
}

static void json_event(struct kmes_formatter *f, struct kmes_outbuf *out,
		       const struct kmes_event *e)
{
	char *p = kmesp_out_room(out, kmesp_out_begin(out), KMES_TEXT_SLACK);
	struct kmes_origin_room room;
	const char *origin = kmesp_origin_name(e->origin, &room);

	p = put_stamps(p, f, e->ts_ns, e->cpu);
	p = kmesp_put_lit(p, ",\"seq\":");
	p = kmesp_put_u64(p, e->seq);
	p = kmesp_put_lit(p, ",\"origin\":\"");
	p = kmesp_put_bytes(p, origin, strlen(origin));
	p = kmesp_put_lit(p, "\",\"type\":");
	p = put_quoted(out, p, (const uint8_t *)e->type, e->type_len);
	p = put_guid_field(p, ",\"process\":\"", e->process_guid);
	p = put_guid_field(p, ",\"token\":\"", e->effective_token_guid);
	p = put_guid_field(p, ",\"true_token\":\"", e->true_token_guid);
	if (e->payload_len)
		p = put_payload(out, p, e);
	kmesp_out_end(out, put_end(p, f));
}

static void json_loss(struct kmes_formatter *f, struct kmes_outbuf *out,
		      const struct kmes_loss *loss)
{
	char *p = kmesp_out_room(out, kmesp_out_begin(out), KMES_TEXT_SLACK);

	p = put_stamps(p, f, loss->ts_ns, loss->cpu);
	p = kmesp_put_lit(p, ",\"lost\":");
	p = kmesp_put_u64(p, loss->last - loss->first + 1);
	p = kmesp_put_lit(p, ",\"first\":");
	p = kmesp_put_u64(p, loss->first);
	p = kmesp_put_lit(p, ",\"last\":");
	p = kmesp_put_u64(p, loss->last);
	kmesp_out_end(out, put_end(p, f));
}

const struct kmes_format kmesp_format_json = { "json", json_event, json_loss };
