// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * msgpack_oracle.c - the MessagePack walker against msgpack-c: both accept the same
 * input, with the same values and the same depth [E3].
 *
 * msgpack-c's parser is a template, taken here with a stack larger than any input can
 * use, and with callbacks that note the height of each value and a hash over all of them.
 * Inputs are generated values and damaged copies of them.
 *
 * usage: msgpack_oracle [INPUTS [SEED]]
 *
 * `make fuzzer-msgpack_oracle` lets clang's libFuzzer choose the inputs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kmes_msgpack.h"
#include "tap.h"

#define INPUT_MAX 640
#define INPUTS_DEFAULT 10000000
#define SEED_DEFAULT 20261129
#define MUTANTS 7 /* damaged copies of each generated value */

/* ---- the oracle ---- */

#define MSGPACK_EMBED_STACK_SIZE (INPUT_MAX + 1)
#include <msgpack/unpack.h>
#include <msgpack/unpack_define.h>

/* Of a value: its height, 0 for a scalar. */
typedef struct {
	unsigned int height;
} oracle_object;

typedef struct {
	uint64_t hash; /* of all heads in order */
} oracle_user;

enum hashed { NIL, BOOL, UINT, INT, FLOAT32, FLOAT64, STR, BIN, ARRAY, MAP, EXT };

static void hash_add(uint64_t *hash, uint64_t v)
{
	*hash = (*hash ^ v) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 29;
}

static int leaf(oracle_user *u, enum hashed kind, uint64_t v, oracle_object *o)
{
	hash_add(&u->hash, kind);
	hash_add(&u->hash, v);
	o->height = 0;
	return 0;
}

static int contents(oracle_user *u, enum hashed kind, const char *p, unsigned int len,
		    oracle_object *o)
{
	leaf(u, kind, len, o);
	for (unsigned int i = 0; i < len; i++)
		hash_add(&u->hash, (uint8_t)p[i]);
	return 0;
}

static int integer(oracle_user *u, int64_t v, oracle_object *o)
{
	return leaf(u, v < 0 ? INT : UINT, v, o);
}

static oracle_object oracle_root(oracle_user *u)
{
	(void)u;
	return (oracle_object){ 0 };
}

#define INTEGER(name, type)                                                              \
	static int oracle_##name(oracle_user *u, type v, oracle_object *o)               \
	{                                                                                \
		return integer(u, v, o);                                                 \
	}
INTEGER(uint8, uint8_t)
INTEGER(uint16, uint16_t)
INTEGER(uint32, uint32_t)
INTEGER(int8, int8_t)
INTEGER(int16, int16_t)
INTEGER(int32, int32_t)
INTEGER(int64, int64_t)

static int oracle_uint64(oracle_user *u, uint64_t v, oracle_object *o)
{
	return leaf(u, UINT, v, o);
}

static int oracle_float(oracle_user *u, float v, oracle_object *o)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return leaf(u, FLOAT32, bits, o);
}

static int oracle_double(oracle_user *u, double v, oracle_object *o)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return leaf(u, FLOAT64, bits, o);
}

static int oracle_nil(oracle_user *u, oracle_object *o)
{
	return leaf(u, NIL, 0, o);
}

static int oracle_true(oracle_user *u, oracle_object *o)
{
	return leaf(u, BOOL, 1, o);
}

static int oracle_false(oracle_user *u, oracle_object *o)
{
	return leaf(u, BOOL, 0, o);
}

static int oracle_array(oracle_user *u, unsigned int n, oracle_object *o)
{
	leaf(u, ARRAY, n, o);
	o->height = 1;
	return 0;
}

static int oracle_map(oracle_user *u, unsigned int n, oracle_object *o)
{
	leaf(u, MAP, n, o);
	o->height = 1;
	return 0;
}

static int oracle_array_item(oracle_user *u, oracle_object *c, oracle_object o)
{
	(void)u;
	if (c->height < o.height + 1)
		c->height = o.height + 1;
	return 0;
}

static int oracle_map_item(oracle_user *u, oracle_object *c, oracle_object k,
			   oracle_object v)
{
	oracle_array_item(u, c, k);
	return oracle_array_item(u, c, v);
}

static int oracle_str(oracle_user *u, const char *b, const char *p, unsigned int len,
		      oracle_object *o)
{
	(void)b;
	return contents(u, STR, p, len, o);
}

static int oracle_bin(oracle_user *u, const char *b, const char *p, unsigned int len,
		      oracle_object *o)
{
	(void)b;
	return contents(u, BIN, p, len, o);
}

/* Includes the type's byte; 0 is a length of 2^32-1 that has wrapped: refused. */
static int oracle_ext(oracle_user *u, const char *b, const char *p, unsigned int len,
		      oracle_object *o)
{
	(void)b;
	if (!len)
		return -1;
	return contents(u, EXT, p, len, o);
}

#define msgpack_unpack_struct(name) struct oracle##name
#define msgpack_unpack_func(ret, name) static ret oracle##name
#define msgpack_unpack_callback(name) oracle##name
#define msgpack_unpack_object oracle_object
#define msgpack_unpack_user oracle_user
#include <msgpack/unpack_template.h>

struct verdict {
	bool valid;
	unsigned int height;
	uint64_t hash;
};

static struct verdict ask_oracle(const uint8_t *buf, uint32_t len)
{
	static struct oracle_context ctx;
	struct verdict v = { false, 0, 0 };
	size_t off = 0;

	oracle_init(&ctx);
	ctx.user.hash = 1;
	v.valid = oracle_execute(&ctx, (const char *)buf, len, &off) == 1 && off == len;
	if (v.valid) {
		v.height = oracle_data(&ctx).height;
		v.hash = ctx.user.hash;
	}
	return v;
}

/* ---- the walker ---- */

static bool ours_accepts(const uint8_t *buf, uint32_t len, uint32_t max_depth)
{
	static struct kmes_mp_scratch scratch;

	return kmes_mp_validate(buf, len, max_depth, &scratch) == 0;
}

/* The same hash as the oracle's callbacks compute, from tokens. */
static uint64_t our_hash(const uint8_t *buf, uint32_t len)
{
	static const enum hashed kinds[] = {
		[KMES_MP_NIL] = NIL,	     [KMES_MP_BOOL] = BOOL,
		[KMES_MP_UINT] = UINT,	     [KMES_MP_INT] = INT,
		[KMES_MP_FLOAT32] = FLOAT32, [KMES_MP_FLOAT64] = FLOAT64,
		[KMES_MP_STR] = STR,	     [KMES_MP_BIN] = BIN,
		[KMES_MP_ARRAY] = ARRAY,     [KMES_MP_MAP] = MAP,
		[KMES_MP_EXT] = EXT,
	};
	const uint8_t *pos = buf;
	struct kmes_mp_token tok = { 0 };
	oracle_user u = { 1 };
	oracle_object ignored;

	while (pos < buf + len && !kmes_mp_next(&pos, buf + len, &tok)) {
		enum hashed kind = kinds[tok.type];

		if (kind == ARRAY || kind == MAP)
			leaf(&u, kind, tok.count, &ignored);
		else if (kind == STR || kind == BIN)
			contents(&u, kind, (const char *)tok.data, tok.len, &ignored);
		else if (kind == EXT && tok.data[-1] == (uint8_t)tok.ext_type)
			contents(&u, kind, (const char *)tok.data - 1, tok.len + 1,
				 &ignored);
		else
			leaf(&u, kind, tok.value.u, &ignored);
	}
	return u.hash;
}

/* ---- inputs ---- */

static uint64_t rng_state;

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

static uint32_t below(uint32_t n)
{
	return (uint64_t)(uint32_t)(rng() >> 32) * n >> 32;
}

struct input {
	uint32_t len;
	uint8_t bytes[INPUT_MAX];
};

static void put(struct input *in, uint64_t number, unsigned int size)
{
	while (size && in->len < INPUT_MAX)
		in->bytes[in->len++] = number >> (8 * --size);
}

static void put_contents(struct input *in, uint32_t len)
{
	for (; len && in->len < INPUT_MAX; len--)
		in->bytes[in->len++] = rng() >> 56;
}

/* The number of length bytes of the forms 0xc0 to 0xdf, from the specification. */
static void put_scalar(struct input *in)
{
	static const uint8_t plain[] = { 0xc0, 0xc2, 0xc3, 0xca, 0xcb, 0xcc, 0xcd,
					 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3 };
	static const uint8_t plain_size[] = { 0, 0, 0, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8 };
	uint32_t r = below(64), i, len;

	if (r < 16) {
		put(in, below(2) ? below(128) : 0xe0 + below(32), 1);
	} else if (r < 32) {
		i = below(sizeof(plain));
		put(in, plain[i], 1);
		put(in, below(3) ? rng() : 0, plain_size[i]);
	} else if (r < 44) {
		len = below(32);
		put(in, 0xa0 + len, 1);
		put_contents(in, len);
	} else if (r < 52) { /* str 8, 16, 32 */
		i = below(3);
		len = below(20);
		put(in, 0xd9 + i, 1);
		put(in, len, 1u << i);
		put_contents(in, len);
	} else if (r < 58) { /* bin or ext 8, 16, 32 */
		i = below(6);
		len = below(20);
		put(in, 0xc4 + i, 1);
		put(in, len, 1u << i % 3);
		put_contents(in, len + i / 3);
	} else { /* fixext */
		i = below(5);
		put(in, 0xd4 + i, 1);
		put_contents(in, 1 + (1u << i));
	}
}

/* Opens a container of n values (an even number for a map); returns them. */
static uint32_t put_container(struct input *in, uint32_t n)
{
	bool map = n % 2 == 0 && below(2);
	uint32_t count = map ? n / 2 : n;
	unsigned int form = below(8);

	if (form > 1)
		put(in, (map ? 0x80 : 0x90) + count % 16, 1);
	else
		put(in, (map ? 0xde : 0xdc) + form, 1), put(in, count, 2u << form);
	return form > 1 ? count % 16 * (map ? 2 : 1) : n;
}

/* One value: flat, bushy, or a chain of up to 300 levels. */
static void generate(struct input *in)
{
	static uint32_t left[INPUT_MAX];
	uint32_t shape = below(64);
	uint32_t chain = shape == 0 ? 240 + below(60) : shape < 4 ? below(40) : 0;
	uint32_t depth = 0;

	in->len = 0;
	left[0] = 1;
	for (;;) {
		left[depth]--;
		if (in->len < INPUT_MAX - 64 &&
		    (chain ? depth < chain : depth < 6 && below(3) == 0)) {
			left[depth + 1] = put_container(in, chain ? 1 : below(9));
			depth++;
		} else if (in->len < INPUT_MAX - 64) {
			put_scalar(in);
		} else {
			put(in, below(128), 1);
		}
		while (!left[depth]) {
			if (!depth)
				return;
			depth--;
		}
	}
}

/* Damages it in one place. */
static void mutate(struct input *in)
{
	uint32_t at = in->len ? below(in->len) : 0;
	uint32_t n;

	switch (in->len ? below(8) : 6) {
	case 0:
		in->bytes[at] ^= 1u << below(8);
		break;
	case 1:
		in->bytes[at] = rng() >> 56;
		break;
	case 2: /* another form */
		in->bytes[at] = 0xc0 + below(32);
		break;
	case 3: /* a number with an extreme value */
		n = 1 + below(4);
		memset(in->bytes + at, below(2) ? 0xff : 0,
		       n < in->len - at ? n : in->len - at);
		break;
	case 4: /* truncated */
		in->len = at;
		break;
	case 5: /* a part removed */
		n = 1 + below(in->len - at);
		memmove(in->bytes + at, in->bytes + at + n, in->len - at - n);
		in->len -= n;
		break;
	case 6: /* longer */
		n = 1 + below(4);
		while (n-- && in->len < INPUT_MAX)
			in->bytes[in->len++] = rng() >> 56;
		break;
	default: /* a part copied elsewhere */
		n = below(in->len - at);
		memmove(in->bytes + below(in->len - n), in->bytes + at, n);
	}
}

/* ---- comparison ---- */

struct totals {
	uint64_t inputs, valid, deep, unlike_validity, unlike_values;
};

static void show(const char *what, const uint8_t *buf, uint32_t len, uint32_t max_depth)
{
	char hex[2 * INPUT_MAX + 1];

	for (uint32_t i = 0; i < len; i++)
		sprintf(hex + 2 * (size_t)i, "%02x", buf[i]);
	tap_note("%s at depth %u: %.*s", what, max_depth, (int)(2 * len), hex);
}

static void compare_at(struct totals *t, const struct verdict *v, const uint8_t *buf,
		       uint32_t len, uint32_t max_depth)
{
	bool expected = v->valid && v->height <= (max_depth < 256 ? max_depth : 256);

	if (ours_accepts(buf, len, max_depth) == expected)
		return;
	if (t->unlike_validity++ < 10)
		show(expected ? "we refuse" : "we accept", buf, len, max_depth);
}

static void compare(struct totals *t, const struct input *in)
{
	/* Ends with its allocation, so that a sanitizer sees any overrun. */
	static uint8_t *room;
	uint8_t *buf;
	struct verdict v;

	if (!room && !(room = malloc(INPUT_MAX)))
		abort();
	buf = room + INPUT_MAX - in->len;
	memcpy(buf, in->bytes, in->len);
	v = ask_oracle(buf, in->len);

	t->inputs++;
	compare_at(t, &v, buf, in->len, 256);
	if (!v.valid)
		return;
	t->valid++;
	t->deep += v.height > 32;
	compare_at(t, &v, buf, in->len, v.height);
	if (v.height)
		compare_at(t, &v, buf, in->len, v.height - 1);
	if (our_hash(buf, in->len) != v.hash && t->unlike_values++ < 10)
		show("unlike values", buf, in->len, v.height);
}

#ifdef KMES_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct totals t = { 0 };
	struct input in;

	if (len > INPUT_MAX)
		return 0;
	in.len = len;
	memcpy(in.bytes, data, len);
	compare(&t, &in);
	if (t.unlike_validity || t.unlike_values)
		abort();
	return 0;
}

#else

static uint64_t number_or(const char *text, uint64_t otherwise)
{
	uint64_t n = text ? strtoull(text, NULL, 10) : 0;

	return n ? n : otherwise;
}

int main(int argc, char **argv)
{
	uint64_t inputs = number_or(argc > 1 ? argv[1] : NULL, INPUTS_DEFAULT);
	uint64_t seed = number_or(argc > 2 ? argv[2] : NULL, SEED_DEFAULT);
	struct totals t = { 0 };
	struct input base, in;

	tap_note("seed %llu", (unsigned long long)seed);
	rng_state = seed;
	while (t.inputs < inputs) {
		generate(&base);
		compare(&t, &base);
		for (int i = 0; i < MUTANTS && t.inputs < inputs; i++) {
			in.len = base.len;
			memcpy(in.bytes, base.bytes, base.len);
			for (uint32_t n = below(3) + 1; n; n--)
				mutate(&in);
			compare(&t, &in);
		}
	}
	tap_note("%llu inputs, %llu of them valid, %llu of those deeper than 32 levels",
		 (unsigned long long)t.inputs, (unsigned long long)t.valid,
		 (unsigned long long)t.deep);
	tap_ok(t.unlike_validity == 0, "msgpack-c accepts what the walker accepts [E3]");
	tap_ok(t.unlike_values == 0, "both decode the same values [E3]");
	tap_ok(t.valid > inputs / 5 && t.valid < inputs / 5 * 4 && t.deep > inputs / 1000,
	       "valid, invalid and deep inputs are all among them");
	return tap_done();
}

#endif
