// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * poke.c - --test: triggers rare conditions in a simulator that runs with --testing.
 * ACTION is one of
 *
 *	clock=[-]TIME	    offset of time stamps from now on
 *	stamp=NS	    time stamp of all events, ns since the epoch; 0: off
 *	drop=CPU,N	    N sequences of CPU are used up without an event
 *	swap=SIZE	    the next attach gets a ring that was just replaced
 *	fail-resize=N	    the next resize runs out of memory after N rings
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "options.h"
#include "sim_client.h"

struct poke {
	uint32_t what;
	int cpu;
	uint64_t value;
};

/* The value after `name=`, or NULL. */
static const char *argument(const char *action, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(action, name, len) && action[len] == '=' ? action + len + 1
								 : NULL;
}

static int parse_clock(struct poke *poke, const char *text)
{
	bool back = *text == '-';
	int rc = cli_parse_time(&poke->value, text + back);

	poke->what = SIM_TEST_CLOCK;
	if (back)
		poke->value = -poke->value;
	return rc;
}

static int parse_drop(struct poke *poke, const char *text)
{
	char digits[8] = "";
	size_t len = strcspn(text, ",");
	uint64_t cpu;

	if (!text[len] || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	if (cli_parse_number(&cpu, digits) < 0 || cpu > UINT16_MAX)
		return -EINVAL;
	poke->what = SIM_TEST_DROP;
	poke->cpu = (int)cpu;
	return cli_parse_number(&poke->value, text + len + 1);
}

static int parse(struct poke *poke, const char *action)
{
	const char *text;

	if ((text = argument(action, "clock")))
		return parse_clock(poke, text);
	if ((text = argument(action, "drop")))
		return parse_drop(poke, text);
	if ((text = argument(action, "stamp"))) {
		poke->what = SIM_TEST_STAMP;
		return cli_parse_number(&poke->value, text);
	}
	if ((text = argument(action, "swap"))) {
		poke->what = SIM_TEST_SWAP;
		return cli_parse_size(&poke->value, text);
	}
	if ((text = argument(action, "fail-resize"))) {
		poke->what = SIM_TEST_FAIL_RESIZE;
		return cli_parse_number(&poke->value, text);
	}
	return -EINVAL;
}

int sim_poke(const char *socket, const char *action)
{
	struct poke poke = { 0, 0, 0 };
	struct kmes_sim_client client;
	struct kmes_sim_exchange ex = { .send_fd = -1, .iov_count = 1 };
	struct iovec iov = { &ex.request, sizeof(ex.request) };
	struct kmes_error err;
	int rc;

	if (parse(&poke, action) < 0)
		cli_usage_error("--test: no such action", action);
	if (kmesp_sim_connect(&client, socket, NULL, &err) < 0) {
		cli_error("%s", err.text);
		return CLI_FAILED;
	}
	ex.iov = &iov;
	ex.request = (struct sim_request){
		.op = SIM_TEST,
		.cpu = poke.cpu,
		.count = poke.what,
		.value = poke.value,
	};
	rc = kmesp_sim_exchange(&client, &ex);
	if (rc == 0)
		rc = ex.reply.error;
	kmesp_sim_close_fds(ex.fds);
	kmesp_sim_disconnect(&client);
	if (rc < 0)
		cli_error("--test=%s: %s", action, kmesp_sim_reason(rc));
	return rc < 0 ? CLI_FAILED : CLI_DONE;
}
