// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Checks before an emit: bounds, order, and those of trusted emitters. */
#include <string.h>

#include "kmes_emit.h"
#include "unit.h"

static const struct kmes_emit_limits limits = {
	.max_event_size = 65536,
	.max_nesting_depth = 4,
};

static int lengths(__u64 capacity, __u16 type_len, __u32 payload_len)
{
	return kmes_emit_check_lengths(&limits, capacity, type_len, payload_len);
}

static int content(const char *type, const char *payload, __u32 payload_len)
{
	struct kmes_record r = {
		.type = type,
		.type_len = strlen(type),
		.payload = payload,
		.payload_len = payload_len,
	};
	struct kmes_mp_scratch scratch;

	return kmes_emit_check_content(&limits, &r, &scratch);
}

#define CONTENT(type, literal) content(type, literal, sizeof(literal) - 1)

/* [E2] */
TEST(emit_lengths_accept_up_to_the_limit)
{
	assert_int_equal(lengths(4194304, 1, 1), 0);
	assert_int_equal(lengths(4194304, 1, 0), 0);
	assert_int_equal(lengths(4194304, 10, 65536 - 87), 0);
	assert_int_equal(lengths(4194304, 10, 65536 - 86), -ENOSPC);
	assert_int_equal(lengths(4194304, 65535, 0), -ENOSPC);
}

/* [E12] */
TEST(emit_lengths_accept_exactly_half_the_capacity)
{
	assert_int_equal(lengths(65536, 10, 32768 - 87), 0);
	assert_int_equal(lengths(65536, 10, 32768 - 86), -ENOSPC);
}

/* Each input fails in two ways; the earlier check decides. [E1 E2] */
TEST(emit_lengths_fail_in_order)
{
	assert_int_equal(lengths(65536, 0, 0), -EINVAL);
	assert_int_equal(lengths(65536, 0, 100000), -EINVAL);
	assert_int_equal(lengths(65536, 1, UINT32_MAX), -EINVAL);
	assert_int_equal(lengths(65536, 1, UINT32_MAX - 77), -EINVAL);
	assert_int_equal(lengths(65536, 1, UINT32_MAX - 78), -ENOSPC);
}

/* [E4] */
TEST(emit_content_requires_a_type_in_utf8)
{
	assert_int_equal(CONTENT("app.login", "\x80"), 0);
	assert_int_equal(CONTENT("app.\xc3\xa9t\xc3\xa9", "\x80"), 0);
	assert_int_equal(CONTENT("app.\xff", "\x80"), -EINVAL);
	assert_int_equal(CONTENT("\xed\xa0\x80", "\x80"), -EINVAL);
	assert_int_equal(CONTENT("\xc0\x80", "\x80"), -EINVAL);
	assert_int_equal(CONTENT("cut\xe2\x82", "\x80"), -EINVAL);
}

/* [E3] */
TEST(emit_content_requires_exactly_one_value)
{
	assert_int_equal(CONTENT("t", "\xc0"), 0);
	assert_int_equal(CONTENT("t", "\x81\xa1n\x01"), 0);
	assert_int_equal(CONTENT("t", ""), -EINVAL);
	assert_int_equal(CONTENT("t", "\xc1"), -EINVAL);
	assert_int_equal(CONTENT("t", "\xc0\xc0"), -EINVAL);
	assert_int_equal(CONTENT("t", "\x81\xa1n"), -EINVAL);
	/* strings may contain any bytes */
	assert_int_equal(CONTENT("t", "\xa2\xff\xfe"), 0);
}

/* [E3] */
TEST(emit_content_is_limited_in_depth)
{
	assert_int_equal(CONTENT("t", "\x91\x91\x91\x91\xc0"), 0);
	assert_int_equal(CONTENT("t", "\x91\x91\x91\x90"), 0);
	assert_int_equal(CONTENT("t", "\x91\x91\x91\x91\x90"), -EINVAL);
	assert_int_equal(CONTENT("t", "\x81\x01\x91\x91\x91\x80"), -EINVAL);
}

/* [E10 E12] */
TEST(emit_trusted_is_checked_for_structure_only)
{
	assert_int_equal(kmes_emit_check_trusted(65536, 1, 0), 0);
	assert_int_equal(kmes_emit_check_trusted(65536, 10, 32768 - 87), 0);
	assert_int_equal(kmes_emit_check_trusted(65536, 10, 32768 - 86), -ENOSPC);
	assert_int_equal(kmes_emit_check_trusted(268435456, 65535, 134217728 - 65612), 0);
	assert_int_equal(kmes_emit_check_trusted(65536, 0, 0), -EINVAL);
	assert_int_equal(kmes_emit_check_trusted(65536, 65536, 0), -EINVAL);
	assert_int_equal(kmes_emit_check_trusted(65536, 65537, 0), -EINVAL);
	assert_int_equal(kmes_emit_check_trusted(65536, 1, UINT32_MAX), -EINVAL);
	assert_int_equal(kmes_emit_check_trusted(65536, 1, 1ull << 32), -EINVAL);
}
