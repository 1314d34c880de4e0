// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* event.c - the event of the command line: a type, and pairs or JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "emit.h"

static void put_json(struct json *json, struct kmes_pack *out, const char *text,
		     const char *what)
{
	struct kmes_error why = { "" };
	char full[sizeof(why.text) + 32];

	if (json_value(json, text, strlen(text), out, &why) == 0)
		return;
	snprintf(full, sizeof(full), "%s: %s", what, why.text);
	cli_usage_error(full, text);
}

/* KEY=TEXT or KEY:=JSON */
static void put_pair(struct json *json, struct kmes_pack *out, const char *pair)
{
	const char *equals = strchr(pair, '=');
	bool is_json = equals && equals > pair && equals[-1] == ':';
	size_t len = equals ? (size_t)(equals - pair) - is_json : 0;

	if (!len)
		cli_usage_error("not KEY=TEXT or KEY:=JSON", pair);
	kmes_pack_str(out, pair, (uint32_t)len);
	if (is_json)
		put_json(json, out, equals + 1, "the value");
	else
		kmes_pack_text(out, equals + 1);
}

void event_make(struct sender *s, const char *type, const char *payload, char **pairs)
{
	struct json *json = json_new();
	struct kmes_pack *out = sender_room(s);
	struct place place = { .type = out->len, .type_len = (uint16_t)strlen(type) };
	uint32_t count = 0;

	if (!json)
		cli_no_memory();
	kmes_pack_bytes(out, type, place.type_len);
	place.payload = out->len;
	if (payload) {
		if (*pairs)
			cli_usage_error("--payload and pairs exclude each other", *pairs);
		put_json(json, out, payload, "--payload");
	} else {
		while (pairs[count])
			count++;
		kmes_pack_map(out, count);
		while (*pairs)
			put_pair(json, out, *pairs++);
	}
	json_free(json);
	if (!kmes_pack_is_whole(out))
		cli_usage_error("larger than an event can be", NULL);
	place.payload_len = out->len - place.payload;
	s->places[0] = place;
	s->count = 1;
}
