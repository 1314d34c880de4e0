// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The token bucket: burst, refill, reserve and refund, a change of rate, age [E11]. */

#include "kmes_abi.h"
#include "kmes_rate.h"
#include "unit.h"

#define MS 1000000ull
#define START (1000 * MS)

static struct kmes_rate_bucket fresh(__u32 rate)
{
	struct kmes_rate_bucket b;

	kmes_rate_init(&b, rate, START);
	return b;
}

/* The number of single tokens available at one moment. */
static unsigned int drain(struct kmes_rate_bucket *b, __u32 rate, __u64 now_ns)
{
	unsigned int n = 0;

	while (kmes_rate_reserve(b, rate, 1, now_ns))
		n++;
	return n;
}

/* [E11] */
TEST(rate_fresh_bucket_is_full)
{
	struct kmes_rate_bucket b = fresh(100);

	assert_int_equal(drain(&b, 100, START), 100);
	b = fresh(KMES_RATE_MAX);
	assert_int_equal(drain(&b, KMES_RATE_MAX, START), 1000000);
}

/* [E11] */
TEST(rate_refill_follows_the_clock)
{
	struct kmes_rate_bucket b = fresh(1000);

	assert_int_equal(drain(&b, 1000, START), 1000);
	assert_int_equal(drain(&b, 1000, START + MS - 1), 0);
	assert_int_equal(drain(&b, 1000, START + MS), 1);
	assert_int_equal(drain(&b, 1000, START + 251 * MS), 250);
	assert_int_equal(drain(&b, 1000, START + 3251 * MS), 1000);
}

/* Many small steps refill as much as one large one: no rounding loss. [E11] */
TEST(rate_refill_in_small_steps_loses_nothing)
{
	struct kmes_rate_bucket b = fresh(333);
	unsigned int got = 0;
	__u64 t;

	drain(&b, 333, START);
	for (t = 1; t <= 1000003; t++)
		got += kmes_rate_reserve(&b, 333, 1, START + t * 2999);
	/* 1000003 * 2999 ns at 333 per second is 998.67 */
	assert_int_equal(got, 998);
}

/* [E11] */
TEST(rate_reserve_takes_all_or_nothing)
{
	struct kmes_rate_bucket b = fresh(100);

	assert_false(kmes_rate_reserve(&b, 100, 101, START));
	assert_true(kmes_rate_reserve(&b, 100, 60, START));
	assert_false(kmes_rate_reserve(&b, 100, 41, START));
	assert_true(kmes_rate_reserve(&b, 100, 40, START));
	assert_false(kmes_rate_reserve(&b, 100, 1, START));
	assert_true(kmes_rate_reserve(&b, 100, 0, START));
	assert_false(kmes_rate_reserve(&b, 100, UINT32_MAX, START + 3600000 * MS));
}

/* [E11] */
TEST(rate_refund_is_clamped_to_the_burst)
{
	struct kmes_rate_bucket b = fresh(100);

	assert_true(kmes_rate_reserve(&b, 100, 30, START));
	kmes_rate_refund(&b, 100, 20);
	assert_int_equal(drain(&b, 100, START), 90);
	kmes_rate_refund(&b, 100, 256);
	kmes_rate_refund(&b, 100, UINT32_MAX);
	assert_int_equal(drain(&b, 100, START), 100);
}

/* [E11] */
TEST(rate_decrease_clamps_a_live_bucket_at_once)
{
	struct kmes_rate_bucket b = fresh(10000);

	kmes_rate_change(&b, 10000, 100, START);
	assert_int_equal(drain(&b, 100, START), 100);
	assert_int_equal(drain(&b, 100, START + 100 * MS), 10);
	/* also if it was not used before the next increase */
	b = fresh(10000);
	kmes_rate_change(&b, 10000, 100, START);
	kmes_rate_change(&b, 100, 10000, START);
	assert_int_equal(drain(&b, 10000, START), 100);
}

/* Time before an increase counts at the old rate. [E11] */
TEST(rate_increase_is_not_retroactive)
{
	struct kmes_rate_bucket b = fresh(100);

	drain(&b, 100, START);
	kmes_rate_change(&b, 100, 1000000, START + 900 * MS);
	assert_int_equal(drain(&b, 1000000, START + 900 * MS), 90);
	assert_int_equal(drain(&b, 1000000, START + 901 * MS), 1000);
}

/* Another CPU has used a later clock: no time counts twice. [E11] */
TEST(rate_earlier_clock_has_no_effect)
{
	struct kmes_rate_bucket b = fresh(1000);

	drain(&b, 1000, START + 10 * MS);
	assert_int_equal(drain(&b, 1000, START), 0);
	assert_int_equal(drain(&b, 1000, START + 10 * MS), 0);
	assert_int_equal(drain(&b, 1000, START + 11 * MS), 1);
	assert_false(kmes_rate_is_idle(&b, 0));
}

/* [E11] */
TEST(rate_idle_second_equals_a_fresh_bucket)
{
	struct kmes_rate_bucket b = fresh(KMES_RATE_MAX);

	drain(&b, KMES_RATE_MAX, START);
	assert_false(kmes_rate_is_idle(&b, START + 1000 * MS - 1));
	assert_true(kmes_rate_is_idle(&b, START + 1000 * MS));
	kmes_rate_fill(&b, KMES_RATE_MAX, START + 1000 * MS);
	assert_true(b.units == fresh(KMES_RATE_MAX).units);
	/* and a very long one neither wraps nor exceeds the burst */
	kmes_rate_fill(&b, KMES_RATE_MAX, UINT64_MAX);
	assert_true(b.units == 1000000ull * 1000000000ull);
}
