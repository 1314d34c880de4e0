// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The small MessagePack writer, and a producer's events about itself. */
#include <string.h>

#include "base/pack_fast.h"
#include "kmes_msgpack.h"
#include "kmes_self.h"
#include "unit.h"

static __u8 buf[KMES_SELF_SIZE];

#define ASSERT_PACKED(p, literal)                                                        \
	do {                                                                             \
		assert_int_equal((p).len, sizeof(literal) - 1);                          \
		assert_memory_equal((p).buf, literal, sizeof(literal) - 1);              \
	} while (0)

#define ASSERT_UINT(v, literal)                                                          \
	do {                                                                             \
		struct kmes_pack packed = kmes_pack_begin(buf, sizeof(buf));             \
		kmes_pack_uint(&packed, v);                                              \
		ASSERT_PACKED(packed, literal);                                          \
	} while (0)

#define ASSERT_INT(v, literal)                                                           \
	do {                                                                             \
		struct kmes_pack packed = kmes_pack_begin(buf, sizeof(buf));             \
		kmes_pack_int(&packed, v);                                               \
		ASSERT_PACKED(packed, literal);                                          \
	} while (0)

TEST(pack_unsigned_numbers_take_the_shortest_form)
{
	ASSERT_UINT(0, "\x00");
	ASSERT_UINT(127, "\x7f");
	ASSERT_UINT(128, "\xcc\x80");
	ASSERT_UINT(255, "\xcc\xff");
	ASSERT_UINT(256, "\xcd\x01\x00");
	ASSERT_UINT(65535, "\xcd\xff\xff");
	ASSERT_UINT(65536, "\xce\x00\x01\x00\x00");
	ASSERT_UINT(UINT32_MAX, "\xce\xff\xff\xff\xff");
	ASSERT_UINT(1ull << 32, "\xcf\x00\x00\x00\x01\x00\x00\x00\x00");
	ASSERT_UINT(UINT64_MAX, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
}

TEST(pack_signed_numbers_take_the_shortest_form)
{
	ASSERT_INT(5, "\x05");
	ASSERT_INT(-1, "\xff");
	ASSERT_INT(-32, "\xe0");
	ASSERT_INT(-33, "\xd0\xdf");
	ASSERT_INT(-128, "\xd0\x80");
	ASSERT_INT(-129, "\xd1\xff\x7f");
	ASSERT_INT(-32769, "\xd2\xff\xff\x7f\xff");
	ASSERT_INT(-2147483648ll, "\xd2\x80\x00\x00\x00");
	ASSERT_INT(-2147483649ll, "\xd3\xff\xff\xff\xff\x7f\xff\xff\xff");
	ASSERT_INT(INT64_MIN, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00");
}

static unsigned int shortest_unsigned(__u64 v)
{
	return v < 0x80		 ? 1
	       : v <= UINT8_MAX	 ? 2
	       : v <= UINT16_MAX ? 3
	       : v <= UINT32_MAX ? 5
				 : 9;
}

static unsigned int shortest_signed(__s64 v)
{
	if (v >= 0)
		return shortest_unsigned((__u64)v);
	return v >= -32		? 1
	       : v >= INT8_MIN	? 2
	       : v >= INT16_MIN ? 3
	       : v >= INT32_MIN ? 5
				: 9;
}

static void assert_reads_back(const struct kmes_pack *p, __u64 v, unsigned int size)
{
	const __u8 *pos = p->buf;
	struct kmes_mp_token tok;

	assert_int_equal(p->len, size);
	assert_int_equal(kmes_mp_next(&pos, p->buf + p->len, &tok), 0);
	assert_ptr_equal(pos, p->buf + p->len);
	assert_true(tok.value.u == v);
}

/* The fast path writes the same bytes. */
static void assert_put(const struct kmes_pack *p, const __u8 *put, const __u8 *end)
{
	assert_int_equal(end - put, p->len);
	assert_memory_equal(put, p->buf, p->len);
}

TEST(pack_numbers_of_each_size_are_read_back)
{
	__u8 put[KMES_PUT_SIZE];
	unsigned int bit;
	int beside;

	for (bit = 0; bit < 64; bit++)
		for (beside = -1; beside <= 1; beside++) {
			__u64 v = (1ull << bit) + (__u64)beside;
			struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

			kmes_pack_uint(&p, v);
			assert_reads_back(&p, v, shortest_unsigned(v));
			assert_put(&p, put, kmesp_pack_uint(put, v));
			p = kmes_pack_begin(buf, sizeof(buf));
			kmes_pack_int(&p, (__s64)v);
			assert_reads_back(&p, v, shortest_signed((__s64)v));
			p = kmes_pack_begin(buf, sizeof(buf));
			kmes_pack_int(&p, (__s64)-v);
			assert_reads_back(&p, -v, shortest_signed((__s64)-v));
			assert_put(&p, put, kmesp_pack_int(put, (__s64)-v));
		}
}

TEST(pack_strings_and_containers_are_read_back)
{
	static const __u32 lengths[] = { 0, 31, 32, 255, 256, 65535, 65536 };
	static __u8 large[400000], text[65536];
	struct kmes_pack p;
	struct kmes_mp_token tok;
	const __u8 *pos;
	unsigned int i;

	for (i = 0; i < COUNT(lengths); i++) {
		p = kmes_pack_begin(large, sizeof(large));
		kmes_pack_str(&p, (char *)text, lengths[i]);
		kmes_pack_bin(&p, text, lengths[i]);
		pos = large;
		assert_int_equal(kmes_mp_next(&pos, large + p.len, &tok), 0);
		assert_int_equal(tok.type, KMES_MP_STR);
		assert_int_equal(tok.len, lengths[i]);
		assert_int_equal(kmes_mp_next(&pos, large + p.len, &tok), 0);
		assert_int_equal(tok.type, KMES_MP_BIN);
		assert_int_equal(tok.len, lengths[i]);
		assert_ptr_equal(pos, large + p.len);
	}
	for (i = 15; i <= 65536; i += i == 15 ? 1 : i == 16 ? 65519 : 1) {
		p = kmes_pack_begin(large, sizeof(large));
		kmes_pack_array(&p, i);
		pos = large;
		memset(large + p.len, 0xc0, i);
		assert_int_equal(kmes_mp_next(&pos, large + p.len + i, &tok), 0);
		assert_int_equal(tok.type, KMES_MP_ARRAY);
		assert_int_equal(tok.count, i);
		p = kmes_pack_begin(large, sizeof(large));
		kmes_pack_map(&p, i);
		pos = large;
		assert_int_equal(kmes_mp_next(&pos, large + p.len + 2 * i, &tok), 0);
		assert_int_equal(tok.type, KMES_MP_MAP);
		assert_int_equal(tok.count, i);
	}
	p = kmes_pack_begin(buf, sizeof(buf));
	kmes_pack_array(&p, 3);
	kmes_pack_nil(&p);
	kmes_pack_bool(&p, true);
	kmes_pack_bool(&p, false);
	ASSERT_PACKED(p, "\x93\xc0\xc3\xc2");
}

TEST(pack_never_writes_past_the_end)
{
	__u8 small[4] = { 9, 9, 9, 9 };
	struct kmes_pack p = kmes_pack_begin(small, 3);

	kmes_pack_text(&p, "ab");
	assert_true(kmes_pack_is_whole(&p));
	kmes_pack_nil(&p);
	assert_false(kmes_pack_is_whole(&p));
	kmes_pack_bytes(&p, buf, sizeof(buf));
	kmes_pack_form(&p, 0xcf, 1, 8);
	kmes_pack_bytes(&p, small, 0);
	assert_false(kmes_pack_is_whole(&p));
	assert_memory_equal(small,
			    "\xa2"
			    "ab\x09",
			    4);
}

/* In-place conversion still has unread bytes there. */
TEST(pack_does_not_touch_following_bytes)
{
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));
	unsigned int i;

	memset(buf, 9, sizeof(buf));
	kmes_pack_uint(&p, 1);
	kmes_pack_int(&p, -200);
	kmes_pack_array(&p, 2);
	kmes_pack_bin(&p, "", 0);
	ASSERT_PACKED(p, "\x01\xd1\xff\x38\x92\xc4\x00");
	for (i = p.len; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 9);
}

static void assert_is_one_value(const struct kmes_pack *p)
{
	struct kmes_mp_scratch scratch;

	assert_true(kmes_pack_is_whole(p));
	assert_int_equal(kmes_mp_validate(p->buf, p->len, KMES_MP_DEPTH_MAX, &scratch),
			 0);
}

/* [F4] */
TEST(pack_self_events_nest_by_dotted_path)
{
	static const struct kmes_self_value v = { "N", 1, 2, 3 };
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	kmes_self_applied(&p, "N", 7, 65536);
	ASSERT_PACKED(p, "\x82\xa6"
			 "config\x82\xa4name\xa1N\xa5value\x07\xa6"
			 "buffer\x81\xa8"
			 "capacity\xce\x00\x01\x00\x00");
	p = kmes_pack_begin(buf, sizeof(buf));
	kmes_self_out_of_range(&p, &v, 9);
	ASSERT_PACKED(p, "\x81\xa6"
			 "config\x84\xa4name\xa1N\xa8"
			 "expected\x82\xa3min\x01\xa3max\x02\xa8received\x82\xa4kind\xac"
			 "out-of-range\xa5value\x09\xa5value\x03");
	p = kmes_pack_begin(buf, sizeof(buf));
	kmes_self_wrong_type(&p, &v, "x", 1);
	ASSERT_PACKED(p, "\x81\xa6"
			 "config\x84\xa4name\xa1N\xa8"
			 "expected\x82\xa3min\x01\xa3max\x02\xa8received\x82\xa4kind\xaa"
			 "wrong-type\xa5value\xa1x\xa5value\x03");
	p = kmes_pack_begin(buf, sizeof(buf));
	kmes_self_swap_failed(&p, 2, 1, -12);
	ASSERT_PACKED(p, "\x82\xa6"
			 "buffer\x82\xb2"
			 "capacity-requested\x02\xa8"
			 "capacity\x01\xa7outcome\x81\xa5"
			 "errno\xf4");
}

/* [F4] */
TEST(pack_self_events_fit_with_any_values)
{
	static const struct kmes_self_value v = { KMES_SELF_RATE, UINT64_MAX, UINT64_MAX,
						  UINT64_MAX };
	char text[4096];
	struct kmes_pack p = kmes_pack_begin(buf, sizeof(buf));

	memset(text, 'x', sizeof(text));
	kmes_self_wrong_type(&p, &v, text, sizeof(text));
	assert_is_one_value(&p);
	p = kmes_pack_begin(buf, sizeof(buf));
	kmes_self_out_of_range(&p, &v, UINT64_MAX);
	assert_is_one_value(&p);
}
