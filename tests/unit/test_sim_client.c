// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A client and wrong, late or missing replies. The simulator is a pthread. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "simserver.h"
#include "unit.h"

static bool other_magic(struct server *s, const struct sim_request *request,
			struct sim_reply *reply)
{
	(void)s;
	(void)request;
	reply->hello.magic[7] ^= 1;
	return true;
}

TEST(sim_client_open_of_another_protocol_is_refused)
{
	assert_int_equal(server_start(other_magic), -EPROTO);
	server_stop();
}

static bool full(struct server *s, const struct sim_request *request,
		 struct sim_reply *reply)
{
	const struct sim_reply refusal = { .op = SIM_HELLO, .error = -EMFILE };

	(void)request;
	(void)reply;
	server_reply(s->client, &refusal, NULL);
	return false;
}

TEST(sim_client_open_of_a_full_simulator_says_so)
{
	assert_int_equal(server_start(full), -EMFILE);
	assert_non_null(strstr(err.text, "accepts no more clients"));
	server_stop();
}

static bool hangs_up_later(struct server *s, const struct sim_request *request,
			   struct sim_reply *reply)
{
	(void)s;
	(void)reply;
	return request->op == SIM_HELLO;
}

/* The simulator's exit is reported as such, not as a failed call. */
TEST(sim_client_requests_after_the_end_say_so)
{
	const struct kmes_record r = { "t", "\xc0", 1, 1 };
	struct kmes_counters counters;

	assert_int_equal(server_start(hangs_up_later), 0);
	assert_int_equal(kmes_source_alive(src), 1);
	assert_int_equal(kmes_source_emit(src, -1, &r), -ESHUTDOWN);
	assert_int_equal(kmes_source_alive(src), 0);
	assert_int_equal(kmes_source_emit(src, -1, &r), -ESHUTDOWN);
	assert_int_equal(kmes_source_counters(src, 0, &counters), -ESHUTDOWN);
	assert_int_equal(kmes_source_slots(src, &err), -ESHUTDOWN);
	assert_string_equal(
		err.text, "sim: cannot ask for the slot count: the simulator has ended");
	server_stop();
}

static bool answers_twice_and_hangs_up(struct server *s,
				       const struct sim_request *request,
				       struct sim_reply *reply)
{
	if (request->op == SIM_HELLO)
		return true;
	server_reply(s->client, reply, NULL);
	server_reply(s->client, reply, NULL);
	return false;
}

/* A late reply is discarded, and does not show that the simulator is alive. */
TEST(sim_client_end_is_seen_after_a_late_reply)
{
	struct kmes_counters counters;
	int tries = 1000;

	assert_int_equal(server_start(answers_twice_and_hangs_up), 0);
	assert_int_equal(kmes_source_counters(src, 0, &counters), 0);
	while (kmes_source_alive(src) && --tries)
		usleep(10000);
	assert_int_not_equal(tries, 0);
	server_stop();
}

static bool late_reply_first(struct server *s, const struct sim_request *request,
			     struct sim_reply *reply)
{
	struct sim_reply late = *reply;

	if (request->op == SIM_HELLO)
		return true;
	late.id--;
	late.count = 0;
	late.error = -EAGAIN;
	server_reply(s->client, &late, NULL);
	reply->count = request->count;
	return true;
}

TEST(sim_client_late_reply_is_discarded)
{
	const struct kmes_record r = { "t", "\xc0", 1, 1 };

	assert_int_equal(server_start(late_reply_first), 0);
	assert_int_equal(kmes_source_emit(src, -1, &r), 0);
	server_stop();
}

static bool late_replies_alone(struct server *s, const struct sim_request *request,
			       struct sim_reply *reply)
{
	if (request->op == SIM_HELLO)
		return true;
	reply->id--;
	/* Until the client gives up. */
	while (send(s->client, reply, sizeof(*reply), MSG_NOSIGNAL) > 0)
		;
	return false;
}

/* Also to an emit, which a stop does not interrupt. */
TEST(sim_client_late_replies_alone_do_not_count)
{
	const struct kmes_record r = { "t", "\xc0", 1, 1 };
	struct kmes_counters counters;

	assert_int_equal(server_start(late_replies_alone), 0);
	assert_int_equal(kmes_source_emit(src, -1, &r), -ETIMEDOUT);
	stopped = 1;
	assert_int_equal(kmes_source_counters(src, 0, &counters), -EINTR);
	stopped = 0;
	server_stop();
}

static int32_t error_told;
static uint32_t count_told;

static bool as_told(struct server *s, const struct sim_request *request,
		    struct sim_reply *reply)
{
	(void)s;
	if (request->op == SIM_HELLO)
		return true;
	reply->error = error_told;
	reply->count = count_told;
	return true;
}

/* Trusting them would loop forever or run past the batch. */
TEST(sim_client_impossible_replies_are_refused)
{
	static const struct {
		int32_t error;
		uint32_t count;
	} answers[] = {
		{ 5, 0 }, { INT32_MIN, 0 }, { 0, 0 },	  { 0, 1 },
		{ 0, 3 }, { -EINVAL, 2 },   { -4096, 0 }, { -EAGAIN, UINT32_MAX }
	};
	const struct kmes_record r[2] = { { "t", "\xc0", 1, 1 }, { "t", "\xc0", 1, 1 } };
	uint32_t emitted;
	size_t i;

	assert_int_equal(server_start(as_told), 0);
	for (i = 0; i < COUNT(answers); i++) {
		error_told = answers[i].error;
		count_told = answers[i].count;
		assert_int_equal(kmes_source_emit_batch(src, -1, r, 2, &emitted),
				 -EPROTO);
		assert_int_equal(emitted, 0);
	}
	error_told = -EINVAL;
	count_told = 1;
	assert_int_equal(kmes_source_emit_batch(src, -1, r, 2, &emitted), -EINVAL);
	assert_int_equal(emitted, 1);
	server_stop();
}
